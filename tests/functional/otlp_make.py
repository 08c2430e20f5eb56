"""Small OTLP messages that are right, for tests that then break them."""

import time

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE, SPAN, CHILD = bytes(range(1, 17)), bytes(range(1, 9)), bytes(range(11, 19))


def add(pairs, **values):
    """Attributes; a "__" of a name stands for a dot."""
    for name, value in values.items():
        pair = pairs.add(key=name.replace("__", "."))
        setattr(pair.value, "int_value" if isinstance(value, int) else "string_value", value)


def traces(count=2, service="nl6", trace=TRACE, span=SPAN, start=None):
    """A request with a root and children of it, ended just now."""
    start = time.time_ns() - 10**9 if start is None else start
    request = ExportTraceServiceRequest()
    envelope = request.resource_spans.add()
    add(envelope.resource.attributes, service__name=service, process__pid=7)
    scope = envelope.scope_spans.add()
    scope.scope.name = "nl6"
    for i in range(count):
        it = scope.spans.add(trace_id=trace, name=f"GET /{i}", kind=1 if i else 2, flags=0x101,
                             start_time_unix_nano=start + i, end_time_unix_nano=start + 10**8)
        it.span_id = bytes([*span[:7], span[7] + i])
        it.parent_span_id = span if i else b""
        add(it.attributes, http__route="/x", code=200)
    return request


class Maker:
    """A request with one CPU profile: change .request or what hangs from it, then .bytes()."""

    def __init__(self, service="nl6", type="samples/count", period_type="cpu/nanoseconds",
                 period=10_000_000, **resource):
        self.request = ExportProfilesServiceRequest()
        self.tables = self.request.dictionary
        self.tables.string_table.append("")
        for name in ("mapping", "location", "function", "attribute", "stack"):
            getattr(self.tables, name + "_table").add()
        self.tables.link_table.add(trace_id=bytes(16), span_id=bytes(8))
        self.envelope = self.request.resource_profiles.add()
        add(self.envelope.resource.attributes, service__name=service, **resource)
        self.scope = self.envelope.scope_profiles.add()
        self.scope.scope.name = "nl6"
        self.profile = self.scope.profiles.add(
            time_unix_nano=time.time_ns() - 15 * 10**9, duration_nano=15 * 10**9, period=period)
        self.value_type(self.profile.sample_type, type)
        self.value_type(self.profile.period_type, period_type)
        self.build = self.attribute("process.executable.build_id.gnu", "abcd")
        self.mapping = self.entry("mapping", memory_start=0x1000, memory_limit=0x100000,
                                  filename_strindex=self.string("/bin/x"),
                                  attribute_indices=[self.build])

    def value_type(self, it, text):
        name, _, unit = text.partition("/")
        it.type_strindex, it.unit_strindex = self.string(name), self.string(unit)

    def string(self, text):
        table = self.tables.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def entry(self, name, **values):
        """The index of an entry with these values, made if there is none."""
        table = getattr(self.tables, name + "_table")
        it = table.add(**values)
        for i, known in enumerate(table[:-1]):
            if known == it:
                del table[-1]
                return i
        return len(table) - 1

    def attribute(self, key, value):
        index = self.entry("attribute", key_strindex=self.string(key))
        it = self.tables.attribute_table[index]
        setattr(it.value, "int_value" if isinstance(value, int) else "string_value", value)
        for i, known in enumerate(self.tables.attribute_table[:index]):
            if known == it:
                del self.tables.attribute_table[index]
                return i
        return index

    def location(self, name):
        function = self.entry("function", name_strindex=self.string(name))
        return self.entry("location", mapping_index=self.mapping,
                          address=0x2000 + 16 * (sum(name.encode()) % 4096),
                          lines=[{"function_index": function, "line": 7}])

    def add(self, stack, value=1, link=None, profile=None, **attributes):
        """A sample by names of functions, leaf first; link: a trace and a span."""
        where = [self.location(name) for name in stack]
        self.last = (profile or self.profile).samples.add(
            stack_index=self.entry("stack", location_indices=where), values=[value],
            link_index=self.entry("link", trace_id=link[0], span_id=link[1]) if link else 0,
            attribute_indices=[self.attribute(k, v) for k, v in attributes.items()])
        return self

    def bytes(self):
        return self.request.SerializeToString()


def profile(link=(TRACE, SPAN), **more):
    """Three samples, of which one belongs to a span."""
    m = Maker(**more).add(["work", "main"], 2, subsystem="snmp").add(["idle", "main"], 1)
    return m.add(["work", "main"], 3, link, subsystem="api")
