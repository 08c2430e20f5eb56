"""Writes profile.proto: what pprof_judge decodes, back into bytes; and small profiles that are
right, for tests that then break them."""

import gzip
import time

from pprof_judge import (FUNCTION, KINDS, LABEL, LINE, LOCATION, MAPPING, PROFILE, SAMPLE,
                         VALUE_TYPE, Message)


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7f
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def field(number, value, kind):
    """One field; numbers as varints, the rest by length."""
    if isinstance(kind, dict):
        value = encode(value, kind)
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(int(value))


def encode(message, fields=PROFILE):
    """Absent are zeros and empty lists; repeated numbers are packed."""
    out = b""
    for number, (name, kind, *more) in fields.items():
        value = getattr(message, name)
        if isinstance(value, list):
            if kind in ("u*", "i*"):
                if value:
                    out += field(number, b"".join(map(varint, value)), "packed")
            else:
                out += b"".join(field(number, v, kind) for v in value)
        elif value:
            out += field(number, value, kind)
    return out


def make(fields, **values):
    out = Message(fields)
    for name, value in values.items():
        assert hasattr(out, name), name
        setattr(out, name, value)
    return out


class Maker:
    """A profile of a kind, as Messages: change .raw, then take .bytes()."""

    def __init__(self, kind="cpu", time_ns=None, duration_ns=15 * 10**9):
        types, period_type, default, lasts = KINDS[kind]
        self.raw = make(PROFILE, string_table=[b""], period=10_000_000 if kind == "cpu" else 1)
        self.raw.sample_type = [self.value_type(t) for t in types]
        self.raw.period_type = self.value_type(period_type)
        self.raw.default_sample_type = self.string(default)
        self.raw.time_nanos = time.time_ns() if time_ns is None else time_ns
        self.raw.duration_nanos = duration_ns if lasts else 0
        self.raw.mapping = [make(MAPPING, id=1, memory_start=0x1000, memory_limit=0x100000,
                                 filename=self.string("/bin/x"), build_id=self.string("abcd"),
                                 has_functions=True)]

    def string(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        if text not in self.raw.string_table:
            self.raw.string_table.append(text)
        return self.raw.string_table.index(text)

    def value_type(self, text):
        name, _, unit = text.partition("/")
        return make(VALUE_TYPE, type=self.string(name), unit=self.string(unit))

    def location(self, name, address):
        for loc in self.raw.location:
            if loc.address == address:
                return loc.id
        n = len(self.raw.location) + 1
        index = self.string(name)
        self.raw.function.append(make(FUNCTION, id=n, name=index, system_name=index))
        self.raw.location.append(make(LOCATION, id=n, mapping_id=1, address=address,
                                      line=[make(LINE, function_id=n)]))
        return n

    def add(self, stack, values, **labels):
        """A sample by names of functions, leaf first; an address stands for each name."""
        where = [self.location(name, 0x2000 + 16 * (sum(name.encode()) % 4096)) for name in stack]
        self.raw.sample.append(make(
            SAMPLE, location_id=where, value=list(values),
            label=[make(LABEL, key=self.string(k), str=self.string(v))
                   for k, v in labels.items()]))
        return self

    def bytes(self):
        return gzip.compress(encode(self.raw), 1, mtime=0)


def cpu(samples=5, **more):
    m = Maker("cpu", **more)
    return m.add(["work", "main"], [samples, samples * 10_000_000], subsystem="snmp")


def heap(alloc=(3, 300), use=(2, 200), **more):
    return Maker("heap", **more).add(["make", "main"], [*alloc, *use], subsystem="main")


def goroutine(**more):
    return Maker("goroutine", **more).add(["wait", "main"], [1], subsystem="main")


def waits(kind="mutex", values=(2, 5000), **more):
    return Maker(kind, **more).add(["lock", "main"], values, subsystem="main")
