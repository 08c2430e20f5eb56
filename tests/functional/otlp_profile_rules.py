"""What a request with OTLP profiles has to be: the tables of the protocol's wire 1.10 and later,
and what Pyroscope loses, refuses or does not look at. judge_profiles() lists what is wrong.

A profile of nl6's own is of CPU time; what the bridge passes on may be of any kind (any_kind)."""

import time
from dataclasses import dataclass, field

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest)

from otlp_rules import HOUR, foreign, parse, plain, scopes

TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")
CPU = ("samples/count", "cpu/nanoseconds")
BUILD_IDS = {f"process.executable.build_id.{k}" for k in ("gnu", "go", "htlhash")}
FRAME_TYPES = {"native", "kernel", "go", "rust", "jvm", "cpython", "php", "ruby", "perl", "v8js",
               "dotnet", "beam", "luajit"}
ID_LABELS = {"span_id", "trace_id", "profile_id", "otel.profile.span_id", "otel.profile.trace_id"}
TEN_MINUTES = 600 * 10**9
# Pyroscope's limits of one profile, after it was converted.
MAX_PROFILE, MAX_SAMPLES, MAX_DEPTH, MAX_SYMBOL = 4 << 20, 16000, 1000, 65535
MAX_LABELS, MAX_NAME, MAX_VALUE = 30, 1024, 2048
OWN_LABELS = 5  # of a series: __name__, __delta__, __otel__, service_name and one to spare


@dataclass(frozen=True)
class Frame:
    name: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Sample:
    frames: tuple  # leaf first, inlined ones innermost first
    attributes: dict
    link: tuple  # (trace, span) in hex, or None
    value: int

    @property
    def stack(self):
        return tuple(f.name for f in self.frames)


@dataclass
class Profile:
    type: str  # samples/count
    period_type: str  # cpu/nanoseconds
    period: int
    time_ns: int
    duration_ns: int
    attributes: dict
    resource: dict = field(repr=False)
    samples: list = field(repr=False)
    scope: str = ""

    @property
    def links(self):
        return {s.link for s in self.samples if s.link}

    def find(self, trace=None, span=None, frame=None, **attributes):
        """Samples of a trace, of a span, with a function's name in the stack, with attributes."""
        return [s for s in self.samples
                if (trace is None or s.link and s.link[0] == trace)
                and (span is None or s.link and s.link[1] == span)
                and (frame is None or frame in s.stack)
                and all(s.attributes.get(k) == v for k, v in attributes.items())]

    def total(self, **which):
        return sum(s.value for s in self.find(**which))


class Tables:
    """The dictionary of a request; at() looks an entry up and notes that it was used."""

    def __init__(self, raw, passed_on, faults):
        self.passed_on = passed_on
        self.tables = {name: list(getattr(raw, name + "_table")) for name in TABLES}
        self.used = {name: {0} for name in TABLES}
        self.faults = faults
        for name, table in self.tables.items():
            self.check_zero(name, table)
            self.check_twice(name, table)

    def check_zero(self, name, table):
        if not table:
            self.faults.append(f"{name}_table has no entry")
        elif name == "link":
            ids = table[0].trace_id, table[0].span_id
            if ids != (bytes(16), bytes(8)) and not (self.passed_on and ids == (b"", b"")):
                self.faults.append("link_table[0] is not 16 and 8 zero bytes")
        elif name == "attribute" and self.passed_on:
            if table[0].key_strindex or table[0].unit_strindex or table[0].value.ByteSize():
                self.faults.append("attribute_table[0] is not empty")
        elif table[0] if name == "string" else table[0].ByteSize():
            self.faults.append(f"{name}_table[0] is not empty")

    def check_twice(self, name, table):
        seen = {}
        for i, entry in enumerate(table):
            key = entry if name == "string" else entry.SerializeToString(deterministic=True)
            if key in seen:
                self.faults.append(f"{name}_table[{i}] is [{seen[key]}] again")
            seen.setdefault(key, i)

    def at(self, name, index, where, zero=True):
        """The entry, None for 0 or for an index out of range. zero: may it be "not set"?"""
        if not 0 <= index < max(len(self.tables[name]), 1):
            self.faults.append(f"{where}: no {name}_table[{index}]")
            return None
        self.used[name].add(index)
        if index == 0 and not zero:
            self.faults.append(f"{where}: no {name}")
        return self.tables[name][index] if index else None

    def string(self, index, where, zero=True):
        return self.at("string", index, where, zero) or ""

    def check_unused(self):
        for name, table in self.tables.items():
            unused = set(range(len(table))) - self.used[name]
            if unused and not self.passed_on:
                self.faults.append(f"{name}_table: {sorted(unused)[:5]} used by nothing, "
                                   f"{len(unused)} of {len(table)}")


class Reader:
    """Reads the profiles of a request, each entry of its tables once."""

    def __init__(self, raw, any_kind, passed_on, faults):
        self.tables, self.faults = Tables(raw, passed_on, faults), faults
        self.any_kind = any_kind
        self.read = {}

    def once(self, name, index, where, read, zero=True):
        entry = self.tables.at(name, index, where, zero)
        if entry is None:
            return None
        if (name, index) not in self.read:
            self.read[name, index] = read(entry, f"{name}_table[{index}]")
        return self.read[name, index]

    def value_type(self, raw, where):
        name = self.tables.string(raw.type_strindex, where)
        unit = self.tables.string(raw.unit_strindex, where)
        if "-" in name:
            self.faults.append(f"{where}: Pyroscope refuses a type named {name}")
        return f"{name}/{unit}" if name or unit else ""

    def attribute(self, raw, where):
        key = self.tables.string(raw.key_strindex, where, zero=False)
        self.tables.string(raw.unit_strindex, where)
        return key, plain(raw.value, f"{where} {key}", self.faults)

    def attributes(self, indices, where):
        found = {}
        for index in indices:
            pair = self.once("attribute", index, where, self.attribute, zero=False)
            if pair is None:
                continue
            if pair[0] in found:
                self.faults.append(f"{where}: {pair[0]} twice")
            found[pair[0]] = pair[1]
        return found

    def mapping(self, raw, where):
        self.tables.string(raw.filename_strindex, where, zero=self.any_kind)
        ids = {k: v for k, v in self.attributes(raw.attribute_indices, where).items()
               if k in BUILD_IDS}
        # What the bridge is given may have none, and be of no file.
        if not ids and not self.any_kind or \
                not all(isinstance(v, str) and v for v in ids.values()):
            self.faults.append(f"{where}: build id {ids}")
        if raw.memory_limit <= raw.memory_start and not self.any_kind:
            self.faults.append(f"{where}: from {raw.memory_start:#x} to {raw.memory_limit:#x}")
        return raw.memory_start, raw.memory_limit

    def function(self, raw, where):
        self.tables.string(raw.system_name_strindex, where)
        if raw.start_line < 0:
            self.faults.append(f"{where}: start line {raw.start_line}")
        name = self.tables.string(raw.name_strindex, where, zero=False)
        if len(name.encode()) > MAX_SYMBOL:
            self.faults.append(f"{where}: a name of {len(name)}, which Pyroscope cuts")
        return name, self.tables.string(raw.filename_strindex, where)

    def location(self, raw, where):
        """Its mapping's index and its frames, innermost first."""
        span = self.once("mapping", raw.mapping_index, where, self.mapping)
        if span and span[1] and raw.address and not span[0] <= raw.address < span[1]:
            self.faults.append(f"{where}: address {raw.address:#x} is not in its mapping")
        kind = self.attributes(raw.attribute_indices, where).get("profile.frame.type")
        if kind is not None and kind not in FRAME_TYPES:
            self.faults.append(f"{where}: profile.frame.type {kind!r}")
        frames = []
        for line in raw.lines:
            function = self.once("function", line.function_index, where, self.function, zero=False)
            if line.line < 0 or line.column < 0:
                self.faults.append(f"{where}: line {line.line}, column {line.column}")
            frames.append(Frame(*(function or ("", "")), line.line))
        if not frames:
            self.faults.append(f"{where}: no line, so Pyroscope has no frame")
        return raw.mapping_index, tuple(frames)

    def stack(self, raw, where):
        """The mappings of a stack and its frames."""
        places = [self.once("location", i, where, self.location, zero=False)
                  for i in raw.location_indices]
        places = [p for p in places if p]
        if not places:
            self.faults.append(f"{where}: empty")
        if len(raw.location_indices) > MAX_DEPTH:
            self.faults.append(f"{where}: {len(raw.location_indices)} deep, which Pyroscope cuts")
        return {m for m, _ in places if m}, tuple(f for _, frames in places for f in frames)

    def link(self, raw, where):
        if len(raw.trace_id) != 16 or len(raw.span_id) != 8 or not any(raw.trace_id) \
                or not any(raw.span_id):
            self.faults.append(f"{where}: {raw.trace_id.hex()} {raw.span_id.hex()}")
        return raw.trace_id.hex(), raw.span_id.hex()

    def sample(self, raw, where):
        if len(raw.values) != 1 or raw.timestamps_unix_nano:
            self.faults.append(f"{where}: {len(raw.values)} values, "
                               f"{len(raw.timestamps_unix_nano)} timestamps")
        value = sum(raw.values)
        if value <= 0:
            self.faults.append(f"{where}: value {value}, which Pyroscope drops")
        mappings, frames = self.once("stack", raw.stack_index, where, self.stack, zero=False) \
            or (set(), ())
        found = self.attributes(raw.attribute_indices, where)
        for key, of in found.items():
            if not isinstance(of, (str, int)) or isinstance(of, bool):
                self.faults.append(f"{where}: Pyroscope skips {key} {of!r}")
            if len(key.encode()) > MAX_NAME or len(str(of).encode()) > MAX_VALUE:
                self.faults.append(f"{where}: {key[:50]} is too long")
        link = self.once("link", raw.link_index, where, self.link)
        return Sample(frames, found, link, value), len(mappings)


def check_head(profile, raw, any_kind, now, at, faults):
    if any_kind:
        named = profile.period_type.partition("/")[0] and profile.period
        if not named and profile.type != "off_cpu/nanoseconds":
            faults.append(f"{at}: no period, so Pyroscope has no name for {profile.type}")
    elif (profile.type, profile.period_type) != CPU:
        faults.append(f"{at}: {profile.type} by {profile.period_type}")
    if not profile.type or profile.period < 0 or not any_kind and not profile.period:
        faults.append(f"{at}: type {profile.type!r}, period {profile.period}")
    if not now - HOUR < profile.time_ns < now + TEN_MINUTES:
        faults.append(f"{at}: time {profile.time_ns} at {now}")
    if profile.duration_ns == 0 and not any_kind:
        faults.append(f"{at}: no duration, so Pyroscope takes 10 s")
    if raw.profile_id and (len(raw.profile_id) != 16 or not any(raw.profile_id)):
        faults.append(f"{at}: profile id {raw.profile_id.hex()}")
    if raw.original_payload or raw.original_payload_format:
        faults.append(f"{at}: an original payload")


def check_size(profile, raw, rows, at, faults):
    """Pyroscope's limits, of the profile that it makes of this one: a row of a mapping for each
    sample that has it, and all strings of the frames and attributes."""
    frames = {f for s in profile.samples for f in s.frames}
    size = sum(len(f.name) + len(f.file) + 30 for f in frames) + rows * 40
    size += sum(20 + 4 * len(s.frames) + 8 * len(s.attributes) for s in profile.samples)
    if size > MAX_PROFILE:
        faults.append(f"{at}: about {size} bytes at Pyroscope")
    if len(raw.samples) > MAX_SAMPLES:
        faults.append(f"{at}: {len(raw.samples)} samples")


def check_samples(profile, raw, keeps_ids, at, faults):
    if not raw.samples:
        faults.append(f"{at}: no samples")
    seen = set()
    for i, s in enumerate(raw.samples):
        key = s.stack_index, frozenset(s.attribute_indices), s.link_index
        if key in seen:
            faults.append(f"{at}.samples[{i}]: stack, attributes and link of one before")
        seen.add(key)
    for i, s in enumerate(profile.samples):
        if not keeps_ids and ID_LABELS & s.attributes.keys():
            faults.append(f"{at}.samples[{i}]: ids as attributes make a series each")
        if len(s.attributes) + len(profile.resource) + OWN_LABELS > MAX_LABELS:
            faults.append(f"{at}.samples[{i}]: {len(s.attributes)} attributes are too many")


def read_profile(reader, raw, resource, scope, any_kind, keeps_ids, now, at):
    faults = reader.faults
    profile = Profile(reader.value_type(raw.sample_type, at),
                      reader.value_type(raw.period_type, at), raw.period,
                      raw.time_unix_nano, raw.duration_nano,
                      reader.attributes(raw.attribute_indices, at), resource, [], scope)
    check_head(profile, raw, any_kind, now, at, faults)
    read = [reader.sample(s, f"{at}.samples[{i}]") for i, s in enumerate(raw.samples)]
    profile.samples = [s for s, _ in read]
    check_samples(profile, raw, keeps_ids, at, faults)
    check_size(profile, raw, sum(rows for _, rows in read), at, faults)
    return profile


def judge_profiles(raw, any_kind=False, keeps_ids=False, passed_on=False, now=None):
    """The profiles of an encoded request, and what is wrong with it; Refused if it is none.
    keeps_ids: may trace and span ids be attributes as well? passed_on: are its tables somebody
    else's, who leaves entries that nothing uses, and ids of no bytes in that of no link?"""
    faults, found = [], []
    now = time.time_ns() if now is None else now
    request = parse(raw, ExportProfilesServiceRequest)
    foreign(request, faults)
    if not request.HasField("dictionary"):
        faults.append("no dictionary")
    reader = Reader(request.dictionary, any_kind, passed_on, faults)
    for inner, resource, at in scopes(request.resource_profiles, "scope_profiles",
                                      "resource_profiles", faults):
        if not inner.profiles:
            faults.append(f"{at}: an empty envelope")
        found += [read_profile(reader, p, resource, inner.scope.name, any_kind, keeps_ids, now,
                               f"{at}.profiles[{i}]") for i, p in enumerate(inner.profiles)]
    reader.tables.check_unused()
    return found, faults
