"""The strict receiver of OTLP: what is right passes, and each broken message is refused or told."""

import gzip
import http.client
import time

import pytest

from http_peer import answer, cut_request, silence
from otlp_make import CHILD, SPAN, TRACE, Maker, add, profile, traces
from otlp_peer import PROFILES, TRACES, Otlp, cut_body, error, later, partial
from otlp_profile_rules import judge_profiles
from otlp_rules import MAX_BODY, Refused, judge_traces, orphans, unpack

NOW = time.time_ns
HOUR = 3600 * 10**9


def judged(request, **more):
    return judge_traces(request.SerializeToString(), **more)


def test_spans_that_are_right():
    request = traces(3)
    span = spans_of(request)[0]
    span.events.add(name="retry", time_unix_nano=span.start_time_unix_nano)
    span.links.add(trace_id=TRACE, span_id=CHILD, flags=1)
    span.trace_state = "a=1, b@c=2,,d= x"
    spans, faults = judged(request)
    assert faults == [] and len(spans) == 3
    root, child = spans[:2]
    assert (root.trace, root.id, root.parent) == (TRACE.hex(), SPAN.hex(), "")
    assert (child.parent, child.kind, child.scope) == (root.id, 1, "nl6")
    assert root.attributes == {"http.route": "/x", "code": 200}
    assert root.resource == {"service.name": "nl6", "process.pid": 7}
    assert root.events == [(root.start, "retry", {})] and root.links == [(TRACE.hex(), CHILD.hex())]
    assert orphans(spans) == [] and orphans(spans[1:]) == spans[1:]


def spans_of(request):
    return request.resource_spans[0].scope_spans[0].spans


def span_with(i=0, **values):
    """A change of a span."""
    def change(request):
        for name, value in values.items():
            setattr(spans_of(request)[i], name, value)
    return change


def on_span(do):
    return lambda request: do(spans_of(request)[0])


def timed(start=0, end=0):
    def change(request):
        for s in spans_of(request):
            s.start_time_unix_nano += start
            s.end_time_unix_nano += end
    return change


def timed_root(late):
    """The root begins that many ns later, after its child and before both end."""
    def change(request):
        spans_of(request)[0].start_time_unix_nano += late
    return change


def circle(request):
    root, child = spans_of(request)
    root.parent_span_id = child.span_id
    root.start_time_unix_nano = child.start_time_unix_nano


def on_resource(do):
    return lambda request: do((request.resource_spans or request.resource_profiles)[0].resource)


def on_envelope(do):
    return lambda request: do(request.resource_spans[0])


@pytest.mark.parametrize("change, words", [
    (lambda r: r.ClearField("resource_spans"), "an empty request"),
    (on_envelope(lambda e: e.ClearField("scope_spans")), "an empty envelope"),
    (on_envelope(lambda e: e.scope_spans[0].ClearField("spans")), "an empty envelope"),
    (on_envelope(lambda e: e.scope_spans[0].ClearField("scope")), "a scope without a name"),
    (on_resource(lambda r: r.ClearField("attributes")), "service.name None"),
    (on_resource(lambda r: add(r.attributes, service__name="x")), "service.name twice"),
    (on_resource(lambda r: add(r.attributes, **{f"k{i}": i for i in range(23)})), "25 attributes"),
    (span_with(trace_id=b"x" * 15), "trace id"), (span_with(trace_id=bytes(16)), "trace id"),
    (span_with(trace_id=b""), "trace id empty"), (span_with(span_id=bytes(8)), "span id 00"),
    (span_with(span_id=b"x" * 16), "span id"), (span_with(1, parent_span_id=b"x"), "parent id"),
    (span_with(1, parent_span_id=bytes(8)), "parent id"),
    (span_with(parent_span_id=SPAN), "its own parent"), (span_with(name=""), "no name"),
    (span_with(kind=0), "kind 0"), (span_with(kind=6), "kind 6"),
    (span_with(flags=0x100), "not sampled"), (span_with(flags=0x105), "flags 0x105"),
    (span_with(flags=0x401), "flags 0x401"), (span_with(flags=0x301), "a remote parent that"),
    (span_with(1, flags=0x201), "flags 0x201"), (span_with(trace_state="A=b"), "tracestate"),
    (span_with(trace_state="a=b,a=c"), "tracestate"), (span_with(trace_state="a"), "tracestate"),
    (span_with(trace_state=",".join(f"k{i}=v" for i in range(33))), "tracestate"),
    (timed(end=-2 * HOUR), "from"), (timed(start=-2 * HOUR, end=-2 * HOUR), "from"),
    (timed(start=HOUR, end=HOUR), "from"), (span_with(start_time_unix_nano=0), "from 0"),
    (on_span(lambda s: s.attributes.add(key="")), "an empty key"),
    (on_span(lambda s: s.attributes.add(key="k")), "k: no value"),
    (on_span(lambda s: add(s.attributes, http__route="/y")), "http.route twice"),
    (on_span(lambda s: s.attributes.add(key_strindex=1)), "a key by its index"),
    (on_span(lambda s: s.attributes.add(key="k", value={"string_value_strindex": 1})),
     "a string by its index"),
    (on_span(lambda s: s.events.add(name="e")), "not within its span"),
    (on_span(lambda s: s.events.add(time_unix_nano=s.start_time_unix_nano)), "no name"),
    (on_span(lambda s: s.links.add(trace_id=TRACE)), "links[0]: span id"),
    (on_span(lambda s: s.links.add(trace_id=TRACE, span_id=SPAN, flags=0x800)), "flags 0x800"),
    (on_span(lambda s: setattr(s.status, "code", 3)), "status 3"),
    (on_span(lambda s: setattr(s.status, "message", "x")), "status 0 'x'"),
    (span_with(1, span_id=SPAN), "twice"), (circle, "round in a circle"),
    (timed_root(8 * 10**7), "begins before its parent"),
])
def test_spans_that_are_wrong(change, words):
    request = traces()
    change(request)
    faults = judged(request)[1]
    assert any(words in what for what in faults), faults


def test_fields_that_nobody_knows():
    data = traces().SerializeToString() + b"\xd2\x0f\x01x"
    assert judge_traces(data)[1] == ["ExportTraceServiceRequest: no field 250 is known"]
    # The order of a sample's fields before wire 1.10, values 2: they are attributes to a reader.
    m = profile()
    m.last.MergeFromString(b"\x58\x01")
    assert any("samples: no field 11" in f for f in judge_profiles(m.bytes())[1])


# --- profiles -----------------------------------------------------------------------------------

def test_profiles_that_are_right():
    found, faults = judge_profiles(profile(service__version="1").bytes())
    assert faults == []
    p, = found
    assert (p.type, p.period_type, p.period) == ("samples/count", "cpu/nanoseconds", 10_000_000)
    assert p.resource == {"service.name": "nl6", "service.version": "1"}
    assert p.links == {(TRACE.hex(), SPAN.hex())} and p.duration_ns == 15 * 10**9
    assert p.total() == 6 and p.total(trace=TRACE.hex()) == 3 and p.total(span=SPAN.hex()) == 3
    assert p.total(span=CHILD.hex()) == 0 and p.total(frame="work", subsystem="snmp") == 2
    assert p.samples[0].stack == ("work", "main") and p.samples[0].frames[0].line == 7


def heap(**more):
    return Maker(type="inuse_space/bytes", period_type="space/bytes", period=1 << 19,
                 **more).add(["make", "main"], 100)


def test_profiles_of_other_kinds():
    m = heap()
    m.profile.duration_nano = 0
    assert any("inuse_space/bytes by" in f for f in judge_profiles(m.bytes())[1])
    assert judge_profiles(m.bytes(), any_kind=True)[1] == []
    m.tables.mapping_table[m.mapping].ClearField("attribute_indices")
    m.tables.attribute_table.pop()
    m.tables.string_table.remove("process.executable.build_id.gnu")
    assert not any("build id" in f for f in judge_profiles(m.bytes(), any_kind=True)[1])
    m.profile.period = 0
    assert any("no name for" in f for f in judge_profiles(m.bytes(), any_kind=True)[1])


def test_ids_that_are_attributes():
    m = profile().add(["work"], 1, (TRACE, SPAN), span_id=SPAN.hex())
    assert any("make a series" in f for f in judge_profiles(m.bytes())[1])
    assert judge_profiles(m.bytes(), keeps_ids=True)[1] == []


def test_tables_of_somebody_else():
    m = profile()
    m.string("nobody")
    m.tables.attribute_table[0].value.SetInParent()
    m.tables.link_table[0].Clear()
    assert len(judge_profiles(m.bytes())[1]) == 3
    assert judge_profiles(m.bytes(), passed_on=True)[1] == []
    m.tables.link_table[0].trace_id = TRACE
    m.tables.attribute_table[0].value.int_value = 1
    assert len(judge_profiles(m.bytes(), passed_on=True)[1]) == 2


def tables(name, do):
    return lambda m: do(getattr(m.tables, name + "_table"))


def head(**values):
    def change(m):
        for name, value in values.items():
            setattr(m.profile, name, value)
    return change


def first(what, **values):
    """Changes the first real entry of a table."""
    def change(m):
        for name, value in values.items():
            setattr(getattr(m.tables, what + "_table")[1], name, value)
    return change


def last(**values):
    def change(m):
        for name, value in values.items():
            if isinstance(value, list):
                m.last.ClearField(name)
                getattr(m.last, name).extend(value)
            else:
                setattr(m.last, name, value)
    return change


def typed(text, period="cpu/nanoseconds"):
    def change(m):
        m.value_type(m.profile.sample_type, text)
        m.value_type(m.profile.period_type, period)
    return change


def same_as_before(m):
    m.profile.samples.add().CopyFrom(m.last)


def many(m):
    for i in range(16000):
        m.profile.samples.add(stack_index=1, values=[1], attribute_indices=[m.build], link_index=0)


def big(m):
    for i in range(1200):
        m.add([f"{i}" + "x" * 4000], 1)


def deep(m):
    m.tables.stack_table[1].location_indices.extend([1] * 1000)


def unused(m):
    m.string("nobody")
    m.entry("stack", location_indices=[1])
    m.attribute("nobody's", "x")


def attributes_many(m):
    m.add(["work"], 1, **{f"k{i}": i for i in range(25)})


def lines(m):
    m.tables.location_table[1].ClearField("lines")


def key_twice(m):
    m.add(["work"], 1)
    m.last.attribute_indices.extend([m.attribute("k", "1"), m.attribute("k", "2")])


def valued(value):
    def change(m):
        m.add(["work"], 1, k="v")
        m.tables.attribute_table[m.last.attribute_indices[0]].value.CopyFrom(
            type(m.tables.attribute_table[0].value)(**value))
    return change


def frame_type(m):
    m.tables.location_table[1].attribute_indices.append(m.attribute("profile.frame.type", "c"))


@pytest.mark.parametrize("change, words", [
    (lambda m: m.request.ClearField("resource_profiles"), "an empty request"),
    (lambda m: m.envelope.ClearField("scope_profiles"), "an empty envelope"),
    (lambda m: m.scope.ClearField("profiles"), "an empty envelope"),
    (lambda m: m.profile.ClearField("samples"), "no samples"),
    (lambda m: m.request.ClearField("dictionary"), "no dictionary"),
    (lambda m: m.scope.ClearField("scope"), "a scope without a name"),
    (lambda m: m.envelope.ClearField("resource"), "service.name None"),
    (lambda m: add(m.envelope.resource.attributes, **{f"k{i}": i for i in range(24)}),
     "25 attributes"),
    *[(lambda m, n=n: m.tables.ClearField(n + "_table"), f"{n}_table has no entry")
      for n in ("mapping", "location", "function", "link", "string", "attribute", "stack")],
    (tables("string", lambda t: t.__setitem__(0, "x")), "string_table[0] is not"),
    (tables("mapping", lambda t: setattr(t[0], "memory_start", 1)), "mapping_table[0] is not"),
    (tables("attribute", lambda t: setattr(t[0], "unit_strindex", 1)), "attribute_table[0] is not"),
    (tables("link", lambda t: t[0].ClearField("trace_id")), "link_table[0] is not"),
    (tables("string", lambda t: t.append(t[1])), "again"),
    (tables("stack", lambda t: t.add().CopyFrom(t[1])), "again"),
    (unused, "string_table:"), (unused, "stack_table:"), (unused, "attribute_table:"),
    (last(stack_index=99), "no stack_table[99]"), (last(stack_index=-1), "no stack_table[-1]"),
    (last(stack_index=0), "no stack"), (last(link_index=7), "no link_table[7]"),
    (last(attribute_indices=[50]), "no attribute_table[50]"),
    (last(attribute_indices=[0]), "no attribute"),
    (last(values=[]), "0 values"), (last(values=[1, 2]), "2 values"),
    (last(timestamps_unix_nano=[1]), "1 timestamps"), (last(values=[0]), "value 0"),
    (last(values=[-4]), "value -4"), (same_as_before, "of one before"), (key_twice, "k twice"),
    (first("location", mapping_index=9), "no mapping_table[9]"),
    (first("location", address=0x100000), "not in its mapping"), (lines, "no line"),
    (lambda m: setattr(m.tables.location_table[1].lines[0], "function_index", 0), "no function"),
    (lambda m: setattr(m.tables.location_table[1].lines[0], "line", -1), "line -1"),
    (frame_type, "profile.frame.type 'c'"), (first("function", name_strindex=0), "no string"),
    (first("function", filename_strindex=999), "no string_table[999]"),
    (first("function", start_line=-1), "start line -1"),
    (lambda m: m.add(["x" * 65536]), "a name of 65536"),
    (lambda m: m.tables.mapping_table[1].ClearField("attribute_indices"), "build id {}"),
    (first("mapping", memory_limit=0), "from 0x1000 to 0x0"),
    (first("mapping", filename_strindex=0), "no string"),
    (tables("stack", lambda t: t[1].ClearField("location_indices")), "empty"), (deep, "1002 deep"),
    (first("link", span_id=bytes(8)), "link_table[1]"),
    (first("link", trace_id=b"x"), "link_table[1]"),
    (valued({"string_value_strindex": 1}), "a string by its index"), (valued({}), "no value"),
    (valued({"double_value": 1.0}), "skips k 1.0"),
    (valued({"string_value": "x" * 2049}), "too long"),
    (lambda m: m.scope.scope.attributes.add(key_strindex=1), "a key by its index"),
    (typed("cpu/nanoseconds"), "cpu/nanoseconds by"), (typed("samples/count", "/"), "by "),
    (typed("in-use/bytes"), "refuses a type named in-use"), (head(period=0), "period 0"),
    (head(time_unix_nano=0), "time 0"), (head(time_unix_nano=NOW() + HOUR), "time"),
    (head(time_unix_nano=NOW() - 2 * HOUR), "time"), (head(duration_nano=0), "no duration"),
    (head(profile_id=bytes(16)), "profile id"), (head(profile_id=b"x"), "profile id"),
    (head(original_payload=b"x"), "original payload"), (many, "16003 samples"),
    (attributes_many, "are too many"), (big, "bytes at Pyroscope"),
])
def test_profiles_that_are_wrong(change, words):
    m = profile()
    change(m)
    faults = judge_profiles(m.bytes())[1]
    assert any(words in what for what in faults), faults[:20]


@pytest.mark.parametrize("judge, data", [
    (judge_traces, b"text"), (judge_profiles, b"text"), (judge_profiles, b"\x12\x03\x2a\x01\xff"),
    (judge_traces, traces().SerializeToString()[:-1]), (judge_profiles, profile().bytes()[:-1])])
def test_what_is_no_message_is_refused(judge, data):
    with pytest.raises(Refused, match="^400 malformed"):
        judge(data)


def test_bodies():
    packed = gzip.compress(b"x")
    assert unpack(b"x", None) == unpack(packed, "gzip") == b"x"
    for body, encoding, status in (
            (b"x", "deflate", 415), (b"x", "identity", 415), (b"x", "gzip", 400),
            (packed[:-3], "gzip", 400), (packed + b"x", "gzip", 400), (packed * 2, "gzip", 400),
            (bytes(MAX_BODY + 1), None, 413), (gzip.compress(bytes(MAX_BODY + 1), 1), "gzip", 413)):
        with pytest.raises(Refused, match=f"^{status} "):
            unpack(body, encoding)


# --- over HTTP ----------------------------------------------------------------------------------

@pytest.fixture
def peer(request):
    it = Otlp(**getattr(request, "param", {}))
    it.expect_faults = True
    yield it
    it.close()


def post(peer, path=TRACES, body=None, headers=None, timeout=20):
    """One request on a connection of its own: status, body, headers."""
    if body is None:
        body = (traces() if path.endswith(TRACES) else profile().request).SerializeToString()
    c = http.client.HTTPConnection(peer.host, peer.port, timeout=timeout)
    try:
        c.request("POST", path, body, {"Content-Type": "application/x-protobuf"} | (headers or {}))
        got = c.getresponse()
        return got.status, got.read(), got.headers
    finally:
        c.close()


@pytest.mark.parametrize("peer", [{"host": "127.9.8.7"}], indirect=True)
def test_it_takes_and_answers(peer):
    assert "//127.9.8.7:" in peer.url
    for path in (TRACES, PROFILES):
        status, body, headers = post(peer, path)
        assert (status, body, headers["Content-Type"]) == (200, b"", "application/x-protobuf")
    packed = gzip.compress(traces(span=CHILD).SerializeToString())
    assert post(peer, body=packed, headers={"Content-Encoding": "gzip"})[0] == 200
    assert peer.faults() == [] and peer.orphans() == []
    assert len(peer.find(name="GET /1")) == 2 and len(peer.wait_spans(2, parent="")) == 2
    assert peer.wait_link(span=SPAN.hex(), frame="work") is peer.wait_profiles()[0]
    assert post(peer)[0] == 200
    assert any("twice" in f for f in peer.faults()), "the same spans again"
    peer.expect_faults = False
    with pytest.raises(AssertionError):
        peer.close()
    peer.expect_faults = True


def test_what_is_wrong_is_taken_and_told(peer):
    assert post(peer, body=b"")[0] == 200
    assert peer.faults() == ["request 0: an empty request"]


@pytest.mark.parametrize("headers, status", [
    ({"Content-Type": "application/x-protobuf; charset=utf-8"}, 415),
    ({"Content-Type": "application/protobuf"}, 415), ({"Content-Type": "application/json"}, 415),
    ({"Content-Encoding": "zstd"}, 415), ({"Content-Encoding": "gzip"}, 400)])
def test_requests_that_are_refused(peer, headers, status):
    got, body, answered = post(peer, headers=headers)
    assert got == status and answered["Content-Type"] == "application/x-protobuf"
    assert peer.requests[0].why.encode() in body and len(peer.faults()) == 1


def test_routes(peer):
    assert post(peer, "/v1/metrics", b"")[0] == 404
    assert post(peer, "/v1/traces?x=y")[0] == 404
    for version, status in (("1", 200), ("2", 400), ("", 400), ("1, 1", 400)):
        assert post(peer, PROFILES, headers={"OTLP-Profiles-Development-Version": version})[0] \
            == status
    c = http.client.HTTPConnection(peer.host, peer.port, timeout=20)
    c.request("GET", TRACES)
    assert c.getresponse().status == 405
    c.close()


@pytest.mark.parametrize("peer", [{"base": "/p", "basic": "u:p", "wants": {"X-Scope-OrgID": "t"}}],
                         indirect=True)
def test_what_it_asks_for(peer):
    right = {"Authorization": "Basic dTpw", "X-Scope-OrgID": "t"}
    assert post(peer, "/p" + TRACES, headers=right)[0] == 200
    assert post(peer, TRACES, headers=right)[0] == 404
    for name in right:
        less = {k: v for k, v in right.items() if k != name}
        assert post(peer, "/p" + TRACES, headers=less)[0] == 401


def test_what_it_can_be_told_to_do(peer):
    peer.rules = [error(429, "slow down", 7), error(400), answer(503), partial(1, "one was odd")]
    status, body, headers = post(peer)
    assert (status, headers["Retry-After"]) == (429, "7") and body == b"\x08\x0e\x12\x09slow down"
    assert post(peer)[0] == 400 and post(peer)[0] == 503 and peer.spans == []
    assert post(peer, body=traces(1).SerializeToString())[1] == \
        b"\x0a\x0f\x08\x01\x12\x0bone was odd"
    assert len(peer.spans) == 1
    peer.rules = [partial(0, "x")]
    assert post(peer, PROFILES)[1] == b"\x0a\x03\x12\x01x" and len(peer.profiles) == 1
    start = time.monotonic()
    peer.rules = [later(1), later(0, error(503))]
    assert post(peer, PROFILES)[0] == 200 and time.monotonic() - start >= 1
    assert post(peer, PROFILES)[0] == 503
    for rule, what in ((silence, TimeoutError), (cut_request, ConnectionError),
                       (cut_body(5), http.client.IncompleteRead)):
        peer.rules = [rule]
        with pytest.raises(what):
            post(peer, timeout=1)
