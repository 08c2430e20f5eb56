"""What a Grafana Pyroscope server does with a profile at its default limits: what it refuses and
with which status, what it silently loses, and by which names one finds the rest.

Refused is raised for the first; the second is a list of reasons, for tests to fail on."""

import json
import re
import time
import zlib
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import pprof_judge
from pprof_judge import PROFILE, Bad, decode

HOUR, TEN_MINUTES = 3600, 600
RATE, BURST = 4 << 20, 2 << 20  # of a tenant: bytes a second, and at once, uncompressed
MAX_PROFILE, MAX_BODY = 4 << 20, 256 << 20
MAX_SAMPLES, MAX_SAMPLE_LABELS, MAX_DEPTH, MAX_SYMBOL = 16000, 100, 1000, 65535
MAX_LABELS, MAX_NAME, MAX_VALUE = 30, 1024, 2048
# Their stacks and names are "mended" by the rules of a language.
SPIES = {"gospy", "pyspy", "rbspy", "scripting", "dotnetspy", "phpspy", "nodespy", "javaspy",
         "pyroscope-rs", "unknown", ""}
PER_SAMPLE = {"span_id", "trace_id", "profile_id"}  # stay labels of samples
CONFIG_KEYS = {"units", "aggregation", "display-name", "sampled", "cumulative"}
QUERY = ["aggregationType", "from", "name", "sampleRate", "spyName", "units", "until"]


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(f"{status} {why}")
        self.status, self.why = status, why


def refuse_unless(true, why, status=422):
    if not true:
        raise Refused(status, why)


# --- the request --------------------------------------------------------------------------------

def parse_name(text, lost):
    """The application and its labels, of app{k=v,...}."""
    app, brace, rest = text.partition("{")
    refuse_unless(re.fullmatch(r"[A-Za-z0-9_.\-/]+", app.strip()), f"name {app!r}", 400)
    labels = {}
    if brace and not rest.rstrip().endswith("}"):
        lost.append("name: not closed, the last label is lost")
        rest = rest.rpartition(",")[0]
    inside, closing, after = rest.partition("}")
    if closing and after.strip():
        lost.append(f"name: {after!r} behind the labels")
    for pair in filter(None, inside.split(",")):
        key, equals, value = pair.partition("=")
        key = key.strip()
        refuse_unless(equals and re.fullmatch(r"[A-Za-z0-9_.]+", key), f"label {pair!r}", 400)
        if key in labels:
            lost.append(f"name: label {key} twice")
        if value != value.strip():
            lost.append(f"name: spaces of {pair!r}")
        labels[key] = value.strip()
    return app.strip(), labels


@dataclass
class Part:
    name: str
    filename: str
    content_type: str
    content: bytes


def parse_multipart(content_type, body):
    """Its parts; those without a filename too, which the server does not see."""
    found = re.fullmatch(r'multipart/form-data; *boundary="?([\x21-\x7e]{1,70}?)"?', content_type)
    refuse_unless(found, f"Content-Type {content_type!r}")
    mark = b"--" + found[1].encode()
    pieces = (b"\r\n" + body).split(b"\r\n" + mark)
    refuse_unless(len(pieces) > 1 and pieces[-1].rstrip() == b"--", "multipart: not closed")
    parts = []
    for piece in pieces[1:-1]:
        head, blank, content = piece.partition(b"\r\n\r\n")
        refuse_unless(blank and head.startswith(b"\r\n"), "multipart: a part without headers")
        headers = {k.strip().lower(): v.strip() for k, _, v in
                   (line.partition(":") for line in head[2:].decode("latin-1").split("\r\n"))}
        fields = dict(re.findall(r'(\w+)="([^"]*)"', headers.get("content-disposition", "")))
        parts.append(Part(fields.get("name", ""), fields.get("filename", ""),
                          headers.get("content-type", ""), content))
    return parts


def seen_parts(parts, lost):
    """Name to part, of those the server reads."""
    seen = {}
    for part in parts:
        if not part.filename:
            lost.append(f"part {part.name} has no filename, so it is not seen")
            continue
        refuse_unless(part.name != "prev_profile", "prev_profile is not supported")
        if part.name not in ("profile", "sample_type_config"):
            lost.append(f"part {part.name} is nothing the server knows")
        if part.name in seen:
            lost.append(f"part {part.name} twice")
        seen[part.name] = part
    return seen


def parse_config(part, lost):
    if not part:
        return {}
    try:
        config = json.loads(part.content)
        wrong = [k for v in config.values() for k in v if k not in CONFIG_KEYS]
    except (ValueError, AttributeError) as e:
        raise Refused(422, f"sample_type_config: {e}") from None
    lost += [f"sample_type_config: {k} means nothing" for k in wrong]
    return config


def metric_name(types, config):
    """__name__ of an ingested profile, by its sample types."""
    names = [t.partition("/")[0] for t in types]
    if "wall" in names:
        return "wall"
    for name in names:
        name = config.get(name, {}).get("display-name", name)
        if "cpu" in name:
            return "process_cpu"
        if "alloc_" in name or "inuse_" in name or name in ("space", "objects"):
            return "memory"
        for word, metric in (("mutex_", "mutex"), ("block_", "block"),
                             ("goroutines", "goroutines")):
            if word in name:
                return metric
    return names[-1]


# --- the profile --------------------------------------------------------------------------------

class Bucket:
    """What a tenant may send."""

    def __init__(self, clock=time.monotonic):
        self.clock, self.at, self.there = clock, clock(), BURST

    def take(self, n):
        now = self.clock()
        self.there = min(BURST, self.there + (now - self.at) * RATE)
        self.at = now
        refuse_unless(n <= self.there, f"rate limit of {RATE} bytes/s, burst {BURST}: {n}", 429)
        self.there -= n


def decompress(data):
    if data[:2] != b"\x1f\x8b":
        return data
    inflater = zlib.decompressobj(31)
    try:
        raw = inflater.decompress(data, MAX_PROFILE + 1)
    except zlib.error as e:
        raise Refused(422, f"gzip: {e}") from None
    refuse_unless(len(raw) <= MAX_PROFILE, f"over {MAX_PROFILE} bytes uncompressed")
    refuse_unless(inflater.eof, "gzip: the stream is cut")
    return raw


def check_series(labels):
    refuse_unless(len(labels) <= MAX_LABELS, f"{len(labels)} labels in a series")
    for name, value in labels.items():
        refuse_unless(name and len(name.encode()) <= MAX_NAME, f"label name {name[:50]!r}")
        refuse_unless(len(value.encode()) <= MAX_VALUE, f"label {name}: long value")
        refuse_unless("\ufffd" not in name + value, f"label {name}: not UTF-8")


def check_strings(raw):
    refuse_unless(raw.string_table and raw.string_table[0] == b"", "string_table[0]")
    out = []
    for s in raw.string_table:
        try:
            out.append(s.decode("utf-8"))
        except UnicodeDecodeError:
            raise Refused(422, f"not UTF-8: {s[:50]!r}") from None
    return out


def check_indexes(raw, strings):
    used = [(x.key, x.str, x.num_unit) for s in raw.sample for x in s.label]
    used += [(m.filename, m.build_id) for m in raw.mapping]
    used += [(f.name, f.system_name, f.filename) for f in raw.function]
    used += [(t.type, t.unit) for t in raw.sample_type + [raw.period_type] if t]
    for index in (i for indexes in used for i in indexes):
        refuse_unless(0 <= index < len(strings), f"no string {index}")


def validate(raw, now):
    """What rejects a profile as a whole; its strings."""
    strings = check_strings(raw)
    refuse_unless(raw.sample_type, "no sample types")
    check_indexes(raw, strings)
    for t in raw.sample_type:
        refuse_unless("-" not in strings[t.type], f"sample type {strings[t.type]}")
    refuse_unless(raw.time_nanos == 0 or
                  now - HOUR < raw.time_nanos / 1e9 < now + TEN_MINUTES,
                  f"time {raw.time_nanos} is not in the ingestion window")
    refuse_unless(len(raw.sample) <= MAX_SAMPLES, f"{len(raw.sample)} samples")
    for s in raw.sample:
        refuse_unless(len(s.label) <= MAX_SAMPLE_LABELS, f"{len(s.label)} labels of a sample")
        refuse_unless(len(s.value) == len(raw.sample_type), f"{len(s.value)} values")
    for what in ("location", "function"):
        for m in getattr(raw, what):
            refuse_unless(m.id, f"{what} id 0")
    refuse_unless(raw.period_type, "nil dereference: no period type")
    return strings


@dataclass
class Sample:
    stack: tuple  # names, leaf first
    labels: dict
    values: tuple


def normalise(raw, strings, lost):
    """The samples that are kept, and why others are not."""
    functions = {f.id: strings[f.name] for f in raw.function}
    mappings = {m.id for m in raw.mapping}
    if len(max(strings, key=len).encode()) > MAX_SYMBOL:
        lost.append("a symbol is cut")
    names = {}
    for loc in raw.location:
        if loc.mapping_id and loc.mapping_id not in mappings:
            lost.append(f"location {loc.id}: unknown mapping {loc.mapping_id}")
        elif any(x.function_id not in functions for x in loc.line):
            lost.append(f"location {loc.id}: unknown function")
        elif not loc.line:
            lost.append(f"location {loc.id}: no line, so no frame")
        else:
            names[loc.id] = tuple(functions[x.function_id] for x in loc.line)
    out = {}
    for s in raw.sample:
        labels = {strings[x.key]: strings[x.str] for x in s.label if x.str}
        if min(s.value) < 0 or not any(s.value):
            lost.append(f"a sample of {s.value}")
        elif not s.location_id or any(i not in names for i in s.location_id):
            lost.append("a sample whose locations are not all there")
        elif len(s.location_id) > MAX_DEPTH:
            lost.append(f"a stack of {len(s.location_id)} is cut")
        else:
            key = (tuple(s.location_id), *sorted(labels.items()))
            stack = tuple(n for i in s.location_id for n in names[i])
            before = out[key].values if key in out else [0] * len(s.value)
            out[key] = Sample(stack, labels, tuple(map(sum, zip(before, s.value))))
    return list(out.values())


@dataclass
class Stored:
    """A profile as one can query it."""
    name: str
    types: tuple
    period_type: str
    series: dict
    samples: list = field(repr=False)
    time_ns: int = 0
    duration_ns: int = 0
    session: str = ""

    @property
    def type_ids(self):
        period = self.period_type.replace("/", ":")
        return [f"{self.name}:{t.replace('/', ':')}:{period}" for t in self.types]

    def total(self, type_id, labels):
        """Sum over the samples that a selector finds; None: none does."""
        if type_id not in self.type_ids:
            return None
        at = self.type_ids.index(type_id)
        found = [s.values[at] for s in self.samples
                 if all((s.labels | self.series).get(k) == v for k, v in labels.items())]
        return sum(found) if found else None


class Store:
    def __init__(self):
        self.profiles = []

    def query(self, type_id, labels=None, **more):
        """Totals of the profiles that have samples of this type and these labels, in order."""
        totals = [p.total(type_id, (labels or {}) | more) for p in list(self.profiles)]
        return [t for t in totals if t is not None]

    def type_ids(self, **labels):
        return {t for p in list(self.profiles) for t in p.type_ids
                if p.total(t, labels) is not None}


def store_profile(data, name, series, now, lost, bucket=None):
    """Takes a profile in by all rules; name: __name__, or a function of its sample types.
    Returns what is stored, None if nothing is."""
    packed = decompress(data)
    check_series(series)
    if bucket:
        bucket.take(len(packed) + sum(len(k) + len(v) for k, v in series.items()))
    try:
        raw = decode(packed, PROFILE)
    except Bad as e:
        raise Refused(422, f"malformed: {e}") from None
    strings = validate(raw, now)
    types = tuple(f"{strings[t.type]}/{strings[t.unit]}" for t in raw.sample_type)
    name = name if isinstance(name, str) else name(types)
    series = series | {"__name__": name}
    samples = normalise(raw, strings, lost)
    for s in samples:
        promoted = {k: v for k, v in s.labels.items() if k not in PER_SAMPLE}
        check_series(series | promoted)
        lost += [f"label {k} of a sample yields to the series'" for k in promoted if k in series]
    if any(re.search(r"^\.go|\.go$|^/usr/local/go/|/usr/local/go/$", s) for s in strings):
        lost.append("taken for Go's, stacks are mended")
    session = series.pop("__session_id__", "")
    period = f"{strings[raw.period_type.type]}/{strings[raw.period_type.unit]}"
    return Stored(name, types, period, series, samples, raw.time_nanos, raw.duration_nanos,
                  session)


# --- /ingest ------------------------------------------------------------------------------------

@dataclass
class Upload:
    """An accepted request. lost: by the server, silently; faults: against what nl6 promises."""
    query: dict
    app: str
    labels: dict
    parts: list
    config: dict
    data: bytes
    stored: Stored
    profile: pprof_judge.Profile
    lost: list
    faults: list

    @property
    def name(self):
        return self.stored.name

    @property
    def span(self):
        """From and until, in seconds."""
        return int(self.query["from"]) / 1e9, int(self.query["until"]) / 1e9


def check_query(pairs, now, faults):
    """What the server ignores and a client should get right all the same."""
    query = dict(pairs)
    if [k for k, _ in pairs] != QUERY:
        faults.append(f"query: {[k for k, _ in pairs]}")
    span = [query.get(k, "") for k in ("from", "until")]
    if not all(re.fullmatch(r"\d{19}", s) for s in span):
        faults.append(f"query: from and until of {span}")
    elif not int(span[0]) < int(span[1]):
        faults.append(f"query: from {span[0]} is not before until {span[1]}")
    elif not now - HOUR < int(span[1]) / 1e9 < now + 60:
        faults.append(f"query: until {span[1]} at {now}")


def ingest(query_text, content_type, body, bucket=None, now=None, judged=True):
    """An Upload, or Refused. judged: by pprof_judge as well, which takes its time."""
    now, lost, faults = time.time() if now is None else now, [], []
    refuse_unless(len(body) <= MAX_BODY, "too large", 413)
    pairs = parse_qsl(query_text, keep_blank_values=True, errors="replace")
    query = dict(pairs)
    refuse_unless(query.get("name"), "no name", 400)
    refuse_unless("format" not in query, "only multipart is judged here", 400)
    app, labels = parse_name(query["name"], lost)
    check_query(pairs, now, faults)
    spy = query.get("spyName", "")
    if spy in SPIES:
        lost.append(f"spyName {spy!r} is mended by the rules of a language")
    parts = parse_multipart(content_type, body)
    seen = seen_parts(parts, lost)
    faults += [f"part {p.name} is {p.content_type!r}" for p in parts
               if p.content_type != "application/octet-stream"]
    config = parse_config(seen.get("sample_type_config"), lost)
    data = seen["profile"].content if "profile" in seen else b""
    if not data:
        lost.append("no profile, answered 200 and nothing stored")
        return Upload(query, app, labels, parts, config, data, None, None, lost, faults)
    dropped = [k for k in labels if k.startswith("__") and k != "__session_id__"]
    lost += [f"label {k} is dropped" for k in dropped]
    lost += [f"label {k} overwrites build ids" for k in labels if k in
             ("service_git_ref", "service_repository", "service_root_path")]
    series = {"service_name": app, "__name__": "", "__delta__": "false", "pyroscope_spy": spy}
    series |= {k: v for k, v in labels.items() if k not in dropped}
    stored = store_profile(data, lambda types: metric_name(types, config), series, now, lost,
                           bucket)
    profile = None
    try:
        if judged:
            profile = pprof_judge.judge(data, "block" if stored.name == "block" else None, now)
    except Bad as e:
        faults.append(f"judge: {e}")
    return Upload(query, app, labels, parts, config, data, stored, profile, lost, faults)
