"""A judge of profiles: decodes profile.proto strictly and holds it against every rule that google's
pprof, Grafana Pyroscope and Alloy have for it, and against what a profile of nl6 promises.

judge(bytes) returns a Profile or raises Bad, which names the rule. As a program: pprof_judge.py
FILE..., or pprof_judge.py -make PROGRAM, which is run with a folder to write profiles into."""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field

MAX_BYTES = 2 << 20  # Pyroscope's burst
MAX_SAMPLES = 16000
MAX_DEPTH = 1000
MAX_SYMBOL = 65535
MAX_LABELS, MAX_LABEL_NAME, MAX_LABEL_VALUE = 30, 1024, 2048
OLDEST_S, NEWEST_S = 3600, 600  # of time_nanos, before and after now
# Suffixes that compilers add to clones: in system_name only.
CLONE = re.compile(r".\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)*$")

HEAP = ("alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes")
WAITS = ("contentions/count", "delay/nanoseconds")
# By kind: sample types, period type, default sample type; and whether a duration is a must.
KINDS = {
    "cpu": (("samples/count", "cpu/nanoseconds"), "cpu/nanoseconds", "", True),
    "heap": (HEAP, "space/bytes", "", False),
    "allocs": (HEAP, "space/bytes", "alloc_space", False),
    "goroutine": (("goroutine/count",), "goroutine/count", "", False),
    "threadcreate": (("threadcreate/count",), "threadcreate/count", "", False),
    "mutex": (WAITS, "contentions/count", "", False),
    "block": (WAITS, "contentions/count", "", False),
    "offcpu": (WAITS, "contentions/count", "", True),
}


class Bad(AssertionError):
    pass


def must(true, why, *what):
    if not true:
        raise Bad(why.format(*what) if what else why)


# --- the container ------------------------------------------------------------------------------

def gunzip(data):
    """The content of exactly one gzip member with nothing after it (RFC 1952)."""
    must(len(data) >= 18 and data[:3] == b"\x1f\x8b\x08", "not gzip: {!r}", data[:20])
    must(data[3] == 0, "gzip: flags {:#x}", data[3])
    inflater = zlib.decompressobj(-15)
    try:
        raw = inflater.decompress(data[10:], 1 << 28)
    except zlib.error as e:
        raise Bad(f"gzip: {e}") from None
    must(inflater.eof, "gzip: the stream is cut")
    must(len(inflater.unused_data) == 8, "gzip: {} bytes after the stream, 8 are its trailer",
         len(inflater.unused_data))
    crc, size = struct.unpack("<II", inflater.unused_data)
    must(crc == zlib.crc32(raw), "gzip: wrong CRC")
    must(size == len(raw) & 0xffffffff, "gzip: ISIZE {} of {} bytes", size, len(raw))
    return raw


# --- protobuf -----------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        must(at < len(data), "a varint is cut")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            break
        must(shift < 70, "a varint of more than 10 bytes")
    must(value < 1 << 64, "a varint of more than 64 bits")
    must(byte or shift == 7, "a varint with needless bytes")
    return value, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


# Fields: number to (name, type); types: u, i, bool, str (bytes), or a message; * repeated.
VALUE_TYPE = {1: ("type", "i"), 2: ("unit", "i")}
LABEL = {1: ("key", "i"), 2: ("str", "i"), 3: ("num", "i"), 4: ("num_unit", "i")}
SAMPLE = {1: ("location_id", "u*"), 2: ("value", "i*"), 3: ("label", LABEL, "*")}
MAPPING = {1: ("id", "u"), 2: ("memory_start", "u"), 3: ("memory_limit", "u"),
           4: ("file_offset", "u"), 5: ("filename", "i"), 6: ("build_id", "i"),
           7: ("has_functions", "bool"), 8: ("has_filenames", "bool"),
           9: ("has_line_numbers", "bool"), 10: ("has_inline_frames", "bool")}
LINE = {1: ("function_id", "u"), 2: ("line", "i"), 3: ("column", "i")}
LOCATION = {1: ("id", "u"), 2: ("mapping_id", "u"), 3: ("address", "u"), 4: ("line", LINE, "*"),
            5: ("is_folded", "bool")}
FUNCTION = {1: ("id", "u"), 2: ("name", "i"), 3: ("system_name", "i"), 4: ("filename", "i"),
            5: ("start_line", "i")}
PROFILE = {1: ("sample_type", VALUE_TYPE, "*"), 2: ("sample", SAMPLE, "*"),
           3: ("mapping", MAPPING, "*"), 4: ("location", LOCATION, "*"),
           5: ("function", FUNCTION, "*"), 6: ("string_table", "str*"), 7: ("drop_frames", "i"),
           8: ("keep_frames", "i"), 9: ("time_nanos", "i"), 10: ("duration_nanos", "i"),
           11: ("period_type", VALUE_TYPE, ""), 12: ("period", "i"), 13: ("comment", "i*"),
           14: ("default_sample_type", "i"), 15: ("doc_url", "i")}


class Message:
    def __init__(self, fields):
        for name, kind, *more in fields.values():
            many = more == ["*"] or (isinstance(kind, str) and kind.endswith("*"))
            setattr(self, name, [] if many else None if isinstance(kind, dict) else 0)


def scalar(kind, value):
    if kind == "bool":
        must(value <= 1, "a bool of {}", value)
        return bool(value)
    return value if kind == "u" else signed(value)


def decode(data, fields):
    out, seen, at = Message(fields), set(), 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        must(number in fields, "unknown field {}", number)
        name, kind, *more = fields[number]
        many = more == ["*"] or (isinstance(kind, str) and kind.endswith("*"))
        must(many or number not in seen, "{} comes twice", name)
        seen.add(number)
        if wire == 0:
            value, at = varint(data, at)
            must(isinstance(kind, str) and not kind.startswith("str"), "{} is no varint", name)
            value = scalar(kind.rstrip("*"), value)
            getattr(out, name).append(value) if many else setattr(out, name, value)
            continue
        must(wire == 2, "{}: wire type {}", name, wire)
        size, at = varint(data, at)
        must(at + size <= len(data), "{}: {} bytes, {} are left", name, size, len(data) - at)
        part, at = data[at:at + size], at + size
        if isinstance(kind, dict):
            value = decode(part, kind)
            getattr(out, name).append(value) if many else setattr(out, name, value)
        elif kind == "str*":
            getattr(out, name).append(part)
        else:
            must(many, "{} is packed but not repeated", name)
            must(size, "{}: packed, and empty", name)
            inner = 0
            while inner < size:
                value, inner = varint(part, inner)
                getattr(out, name).append(scalar(kind.rstrip("*"), value))
    return out


# --- what readers get ---------------------------------------------------------------------------

@dataclass(frozen=True)
class Frame:
    name: str
    file: str
    line: int
    system_name: str
    address: int
    inlined: bool


@dataclass(frozen=True)
class Sample:
    frames: tuple  # of Frame, leaf first, inlined ones included
    labels: dict   # strings
    numbers: dict
    values: tuple

    @property
    def stack(self):
        """Names of functions, leaf first."""
        return tuple(f.name for f in self.frames)

    @property
    def is_said(self):
        """Stands for no stack: "[folded: ...]" and the like."""
        return len(self.frames) == 1 and self.frames[0].name.startswith("[")


@dataclass
class Profile:
    types: tuple  # "cpu/nanoseconds"
    period_type: str
    period: int
    default_type: str
    time_ns: int
    duration_ns: int
    comments: list
    samples: list
    mappings: list = field(repr=False)
    raw: bytes = field(repr=False)

    @property
    def kind(self):
        for kind, known in KINDS.items():
            if known[:3] == (self.types, self.period_type, self.default_type):
                return kind
        return None

    def column(self, type):
        names = [t.partition("/")[0] for t in self.types]
        must(type in names, "no sample type {} in {}", type, names)
        return names.index(type)

    def total(self, type=None, **labels):
        """Sum of the values of a type (the last one) over samples with these labels."""
        column = self.column(type) if type else -1
        return sum(s.values[column] for s in self.samples
                   if all(s.labels.get(k) == v for k, v in labels.items()))

    def by_label(self, key="subsystem", type=None):
        """Sums by the value of a label; None: samples without it."""
        column, out = self.column(type) if type else -1, {}
        for s in self.samples:
            out[s.labels.get(key)] = out.get(s.labels.get(key), 0) + s.values[column]
        return out

    def with_frame(self, name):
        return [s for s in self.samples if name in s.stack]

    def truncated(self):
        """Sums of the first type by the reason why a stack does not reach its thread's entry."""
        out = {}
        for s in self.samples:
            found = re.fullmatch(r"\[truncated: (.*)\]", s.stack[-1])
            if found:
                out[found[1]] = out.get(found[1], 0) + s.values[0]
        return out


# --- the rules ----------------------------------------------------------------------------------

class Strings:
    def __init__(self, table):
        must(table, "no string table")
        must(table[0] == b"", "string_table[0] is {!r}", table[0])
        must(len(set(table)) == len(table), "the string table has a string twice")
        self.table = []
        for s in table:
            try:
                self.table.append(s.decode("utf-8"))
            except UnicodeDecodeError:
                raise Bad(f"not UTF-8: {s!r}") from None
            must(len(s) <= MAX_SYMBOL, "a string of {} bytes", len(s))
            # What makes Pyroscope take a profile for Go's, and mend its stacks.
            must(not re.search(rb"^\.go|\.go$|^/usr/local/go/|/usr/local/go/$", s),
                 "taken for Go: {!r}", s)

    def at(self, index, what, empty=False):
        must(0 <= index < len(self.table), "{}: no string {}", what, index)
        must(index or empty, "{} is empty", what)
        return self.table[index]


def by_id(messages, what):
    out = {}
    for m in messages:
        must(m.id, "{} id 0", what)
        must(m.id not in out, "two {}s have id {}", what, m.id)
        out[m.id] = m
    return out


def value_type(strings, vt, what):
    must(vt, "no {}", what)
    text = strings.at(vt.type, what) + "/" + strings.at(vt.unit, what + " unit")
    must("-" not in text, "'-' in {}", text)
    return text


def check_functions(strings, functions):
    for f in functions.values():
        name = strings.at(f.name, "function name")
        system_name = strings.at(f.system_name, "system name of " + name)
        strings.at(f.filename, "file of " + name, empty=True)
        must(f.start_line >= 0, "{}: starts at line {}", name, f.start_line)
        must(not CLONE.search(name), "{}: a clone's suffix in the name", name)
        if CLONE.search(system_name):
            must(system_name.startswith(name), "{} of {}", name, system_name)


def check_mappings(strings, mappings):
    last = None
    for m in sorted(mappings.values(), key=lambda m: m.memory_start):
        name = strings.at(m.filename, "file of mapping")
        must(m.memory_start < m.memory_limit, "{}: {:#x} to {:#x}", name, m.memory_start,
             m.memory_limit)
        must(last is None or last.memory_limit <= m.memory_start, "{} overlaps another", name)
        must(not name.endswith(" (deleted)"), "{}", name)
        build_id = strings.at(m.build_id, "build id", empty=True)
        must(re.fullmatch(r"([0-9a-f]{2}){0,20}", build_id), "{}: build id {}", name, build_id)
        must(build_id or name[0] != "/", "{}: no build id", name)
        last = m


def check_locations(strings, locations, mappings, functions):
    addresses = set()
    for loc in locations.values():
        must(loc.mapping_id in mappings, "location {}: no mapping {}", loc.id, loc.mapping_id)
        m = mappings[loc.mapping_id]
        must(m.memory_start <= loc.address < m.memory_limit, "location {}: {:#x} is not in {}",
             loc.id, loc.address, strings.table[m.filename])
        must(loc.address not in addresses, "two locations at {:#x}", loc.address)
        addresses.add(loc.address)
        must(loc.line, "location {:#x} has no line", loc.address)
        must(not loc.is_folded, "location {:#x} is_folded", loc.address)
        for line in loc.line:
            must(line.function_id in functions, "location {:#x}: no function {}", loc.address,
                 line.function_id)
            must(line.line >= 0 and line.column == 0, "location {:#x}: line {}:{}", loc.address,
                 line.line, line.column)


def check_flags(strings, locations, mappings, functions):
    """What a mapping says of its locations is true of all of them."""
    for m in mappings.values():
        name = strings.table[m.filename]
        lines = [x for loc in locations.values() if loc.mapping_id == m.id for x in loc.line]
        must(m.has_functions, "{}: readers would look for names again", name)
        must(not m.has_filenames or all(functions[x.function_id].filename for x in lines),
             "{}: has_filenames, and not all have", name)
        must(not m.has_line_numbers or all(x.line for x in lines),
             "{}: has_line_numbers, and not all have", name)


def check_used(raw, locations, mappings, functions):
    used = {i for s in raw.sample for i in s.location_id}
    must(used == set(locations), "locations that no sample uses: {}", set(locations) - used)
    used = {x.function_id for loc in locations.values() for x in loc.line}
    must(used == set(functions), "functions that no line uses: {}", set(functions) - used)
    used = {loc.mapping_id for loc in locations.values()}
    must(used == set(mappings), "mappings without a location: {}", set(mappings) - used)


def read_labels(strings, labels):
    texts, numbers = {}, {}
    must(len(labels) <= MAX_LABELS, "{} labels", len(labels))
    for label in labels:
        key = strings.at(label.key, "label key")
        must(len(key.encode()) <= MAX_LABEL_NAME, "label {}", key)
        must(key not in texts and key not in numbers, "label {} twice", key)
        strings.at(label.num_unit, "unit of label " + key, empty=True)
        if label.str:
            must(not label.num and not label.num_unit, "label {} is text and number", key)
            texts[key] = strings.at(label.str, "label " + key)
            must(len(texts[key].encode()) <= MAX_LABEL_VALUE, "label {} is long", key)
        else:
            must(label.num, "label {} has no value", key)
            numbers[key] = label.num
    for key, digits in (("trace_id", 32), ("span_id", 16)):
        must(key not in texts or re.fullmatch(f"[0-9a-f]{{{digits}}}", texts[key]),
             "{} {}", key, texts.get(key))
    return texts, numbers


def read_frames(strings, sample, locations, functions):
    frames = []
    for i in sample.location_id:
        must(i in locations, "a sample's location {}", i)
        loc = locations[i]
        for n, line in enumerate(loc.line):
            f = functions[line.function_id]
            frames.append(Frame(strings.table[f.name], strings.table[f.filename], line.line,
                                strings.table[f.system_name], loc.address,
                                n < len(loc.line) - 1))
    return tuple(frames)


def read_samples(strings, raw, locations, functions):
    must(len(raw.sample) <= MAX_SAMPLES, "{} samples", len(raw.sample))
    seen, out = set(), []
    for s in raw.sample:
        must(len(s.value) == len(raw.sample_type), "{} values of {} types", len(s.value),
             len(raw.sample_type))
        must(min(s.value) >= 0, "a negative value: {}", s.value)
        must(any(s.value), "a sample of nothing")
        must(s.location_id, "a sample without a frame")
        must(len(s.location_id) <= MAX_DEPTH, "a stack of {}", len(s.location_id))
        texts, numbers = read_labels(strings, s.label)
        key = (tuple(s.location_id), *sorted(texts.items()), *sorted(numbers.items()))
        must(key not in seen, "two equal samples")
        seen.add(key)
        frames = read_frames(strings, s, locations, functions)
        marks = [f.name for f in frames if f.name.startswith("[truncated: ")]
        must(marks in ([], [frames[-1].name]), "{} is not the outermost frame", marks)
        out.append(Sample(frames, texts, numbers, tuple(s.value)))
    return out


def check_head(p, raw, now):
    must(not (raw.drop_frames or raw.keep_frames or raw.doc_url), "drop_frames and the like")
    must(p.period > 0, "period {}", p.period)
    must(now - OLDEST_S < p.time_ns / 1e9 < now + NEWEST_S, "time {} at {}", p.time_ns / 1e9, now)
    must(p.duration_ns >= 0, "duration {}", p.duration_ns)
    names = [t.partition("/")[0] for t in p.types]
    must(not p.default_type or p.default_type in names, "default type {}", p.default_type)


def check_kind(p, kind):
    must(kind in KINDS, "kind {}?", kind)
    got = (p.types, p.period_type, p.default_type)
    must(got == KINDS[kind][:3], "{}: {}", kind, got)
    must(not KINDS[kind][3] or p.duration_ns > 0, "{}: no duration", kind)
    for s in p.samples:
        if kind == "cpu":
            must(s.values[1] == s.values[0] * p.period, "{} x {}", s.values, p.period)
        if kind in ("heap", "allocs"):
            for objects, space in (s.values[:2], s.values[2:]):
                must(objects == 0 or space >= objects, "{} bytes in {} objects", space, objects)


def judge(data, kind=None, now=None):
    """Holds a gzipped profile against all rules; kind ("cpu", "heap", ...) adds those of its kind,
    which is found by the sample types unless given."""
    raw_bytes = gunzip(data)
    must(len(raw_bytes) < MAX_BYTES, "{} bytes", len(raw_bytes))
    raw = decode(raw_bytes, PROFILE)
    strings = Strings(raw.string_table)
    must(raw.sample_type, "no sample type")
    types = tuple(value_type(strings, t, "sample type") for t in raw.sample_type)
    must(len(set(types)) == len(types), "sample types {}", types)
    functions = by_id(raw.function, "function")
    mappings = by_id(raw.mapping, "mapping")
    locations = by_id(raw.location, "location")
    check_functions(strings, functions)
    check_mappings(strings, mappings)
    check_locations(strings, locations, mappings, functions)
    check_flags(strings, locations, mappings, functions)
    samples = read_samples(strings, raw, locations, functions)
    check_used(raw, locations, mappings, functions)
    p = Profile(types, value_type(strings, raw.period_type, "period type"), raw.period,
                strings.at(raw.default_sample_type, "default type", empty=True), raw.time_nanos,
                raw.duration_nanos, [strings.at(c, "comment") for c in raw.comment], samples,
                [(m.memory_start, m.memory_limit, m.file_offset, strings.table[m.filename],
                  strings.table[m.build_id]) for m in mappings.values()], raw_bytes)
    check_head(p, raw, time.time() if now is None else now)
    kind = kind or p.kind
    if kind:
        check_kind(p, kind)
    return p


# --- as a program -------------------------------------------------------------------------------

def judge_file(path):
    """By the name of the file, KIND or KIND-WHAT."""
    kind = path.name.partition("-")[0].partition(".")[0]
    p = judge(path.read_bytes(), kind if kind in KINDS else None)
    print(f"{path.name}: {len(p.samples)} samples, {len(p.raw)} bytes, "
          f"{dict(zip(p.types, map(sum, zip(*(s.values for s in p.samples)))))}")


def main(arguments):
    if arguments[:1] == ["-make"]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*arguments[1:], folder], check=True)
            made = sorted(pathlib.Path(folder).iterdir())
            must(made, "nothing was made")
            for path in made:
                judge_file(path)
        return
    for path in arguments:
        judge_file(pathlib.Path(path))


if __name__ == "__main__":
    main(sys.argv[1:])
