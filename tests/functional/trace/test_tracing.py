"""Spans of requests and of the work they start, and profiles whose samples are linked with them:
as a strict receiver of OTLP gets them."""

import concurrent.futures
import contextlib
import re
import signal
import threading
import time

import pytest

from http_peer import silence
from pprof_judge import judge
from program import SLOW, until
from pyroscope_peer import Pyroscope

GATE = "/api/v1/profiling"

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVER, INTERNAL, CLIENT = 2, 1, 3
WINDOW_S = 15


def turn(it, **body):
    reply = it.request("POST", GATE, body)
    assert reply.status == 200, reply.text
    return reply.data


def pull_only(it):
    return turn(it, enabled=True, server_address="")


@pytest.fixture
def receiver(otlp):
    return otlp()


@pytest.fixture
def traced(nl6, receiver):
    return nl6("-otlp-endpoint", receiver.url)


def context(reply):
    """(trace id, span id) that an answer tells."""
    got = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-(0[0-3])", reply.headers["traceresponse"])
    assert got and int(got[3], 16) & 1
    return got[1], got[2]


def span_of(receiver, reply):
    trace, id = context(reply)
    [span] = receiver.wait_spans(trace=trace, id=id)
    return span


def below(receiver, span):
    """Names of the spans below, with how deep each is."""
    names = {}
    for s in receiver.find(trace=span.trace):
        depth, at = 0, s
        while at.parent and at.id != span.id:
            at = next((p for p in receiver.spans if p.id == at.parent), None)
            depth += 1
            if at is None:
                break
        if at is not None and at.id == span.id and depth:
            names[s.name] = depth
    return names


def test_a_request_is_a_span(traced, receiver):
    reply = traced.get("/api/v1/devices?limit=1", headers={"User-Agent": "tester/1"})
    span = span_of(receiver, reply)
    assert (span.name, span.kind, span.parent, span.status) == ("GET /api/v1/devices", SERVER, "", 0)
    assert span.attributes["http.request.method"] == "GET"
    assert span.attributes["http.route"] == "/api/v1/devices"
    assert span.attributes["url.path"] == "/api/v1/devices"
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["user_agent.original"] == "tester/1"
    assert span.attributes["client.address"] and span.attributes["client.port"] > 0
    assert span.resource["service.name"] == "nl6"
    assert "pyroscope.profile.id" not in span.attributes
    assert not any("limit" in str(v) for v in span.attributes.values())


def test_names_are_those_of_routes(traced, receiver):
    for method, path, name in (
            ("GET", "/api/v1/devices/10.9.9.9", "GET /api/v1/devices/{id}"),
            ("HEAD", "/health", "HEAD /health"),
            ("GET", "/no/such/path", "GET"), ("PUT", "/api/v1/devices", "PUT"),
            ("OPTIONS", "/api/v1/devices", "OPTIONS"),
            ("GET", "/api/v1/devices?nonsense=1", "GET /api/v1/devices")):
        span = span_of(receiver, traced.request(method, path))
        assert span.name == name
        assert span.status == 0  # what the client got wrong is no error of the server's span


def test_a_parent_elsewhere_is_kept(traced, receiver):
    reply = traced.get("/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-01",
                                           "tracestate": "a=1,b=2"})
    span = span_of(receiver, reply)
    assert (span.trace, span.parent, span.is_remote, span.state) == (TRACE, PARENT, True, "a=1,b=2")
    assert reply.headers["traceresponse"].endswith("-01")


def test_what_is_not_sampled_leaves_no_trace(traced, receiver):
    reply = traced.get("/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert "traceresponse" not in reply.headers
    traced.create(3)
    span_of(receiver, traced.get("/health"))
    assert receiver.find(trace=TRACE) == []


@pytest.mark.parametrize("header", [
    "", "00", f"00-{TRACE}-{PARENT}", f"ff-{TRACE}-{PARENT}-01", f"00-{TRACE.upper()}-{PARENT}-01",
    f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-{PARENT}-01-x",
    f"00-{TRACE}-{PARENT}-1", "x" * 4000])
def test_a_bad_parent_is_as_none(traced, receiver, header):
    reply = traced.get("/health", headers={"traceparent": header, "tracestate": "a=1"})
    span = span_of(receiver, reply)
    assert span.trace != TRACE and span.parent == "" and span.state == ""


def test_a_bad_state_is_dropped_alone(traced, receiver):
    reply = traced.get("/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-01",
                                           "tracestate": "A=1"})
    span = span_of(receiver, reply)
    assert span.trace == TRACE and span.state == ""


def test_a_create_tells_of_its_phases(traced, net, receiver):
    reply = traced.create(5, resource_file="asr9k.json")
    assert reply.status == 201, reply.text
    span = span_of(receiver, reply)
    want = {"compile type": 1, "create batch": 1, "prepare network": 2, "add devices": 2}
    until(30, lambda: below(receiver, span) == want, f"{want}, not {below(receiver, span)}")
    [batch] = receiver.find(name="create batch")
    assert batch.attributes["nl6.batch.devices"] == 5
    assert span.start <= batch.start and batch.end <= span.end
    reply = traced.delete("/api/v1/devices")
    span = span_of(receiver, reply)
    until(30, lambda: below(receiver, span) == {"delete all devices": 1}, "the delete")


def test_work_that_goes_on_after_the_answer_has_a_span_of_its_own(traced, net, receiver):
    body = {"start_ip": net.address(), "device_count": 5, "snmp_port": traced.snmp_port}
    reply = traced.post("/api/v1/devices", body, headers={"Prefer": "respond-async"})
    assert reply.status == 202
    span = span_of(receiver, reply)
    [batch] = receiver.wait_spans(name="create batch")
    assert batch.parent == span.id and not batch.is_remote


def test_a_failed_create_is_an_error_of_its_batch(traced, net, receiver):
    body = {"start_ip": net.address(), "device_count": 400000, "netmask": "8",
            "snmp_port": traced.snmp_port}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        doing = pool.submit(traced.post, "/api/v1/devices", body)
        until(20, lambda: traced.get("/api/v1/status").data["create_batch_in_progress"] or
              doing.done(), "the batch")
        traced.delete("/api/v1/devices")
        if doing.result().status == 201:
            pytest.fail("the batch was quicker than the delete")
    [batch] = receiver.wait_spans(name="create batch")
    assert batch.status == 2 and "deleted before the end" in batch.message


def test_a_capture_is_below_its_request(traced, receiver):
    pull_only(traced)
    span = span_of(receiver, traced.get("/debug/pprof/heap"))
    until(30, lambda: below(receiver, span) == {"capture profile": 1}, "the capture")


def test_boot_is_a_trace(fleet, receiver):
    fleet(7, "-otlp-endpoint", receiver.url)
    [boot] = receiver.wait_spans(name="boot")
    until(30, lambda: {"create batch", "add devices"} <= set(below(receiver, boot)), "its phases")


def test_a_part_of_the_traces(nl6, receiver):
    it = nl6("-otlp-endpoint", receiver.url, "-otlp-trace-ratio", "0.25")
    sampled = sum("traceresponse" in it.get("/health").headers for _ in range(200))
    assert 20 <= sampled <= 85  # six standard deviations
    none = nl6("-otlp-endpoint", receiver.url, "-otlp-trace-ratio", "0")
    assert not any("traceresponse" in none.get("/health").headers for _ in range(20))
    reply = none.get("/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert span_of(receiver, reply).trace == TRACE


def test_without_the_flag_there_is_nothing(nl6, receiver):
    it = nl6(env={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_TRACES_EXPORTER": "otlp"})
    reply = it.get("/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert "traceresponse" not in reply.headers
    assert "otlp" not in it.get("/api/v1/status").data
    assert not any((t / "comm").read_text().startswith("trace") for t in it.tasks())
    it.stop()
    assert receiver.requests == []


def test_what_is_left_goes_out_at_the_end(traced, receiver):
    reply = traced.get("/health")
    traced.stop()
    trace, id = context(reply)
    assert receiver.find(trace=trace, id=id)


def test_the_status_counts(traced, receiver):
    for _ in range(10):
        traced.get("/health")
    receiver.wait_spans(10, name="GET /health")
    until(10, lambda: traced.get("/api/v1/status").data["otlp"]["traces"]["accepted"] >= 10,
          "the count")
    def all_there():
        """Also while some wait: each span is somewhere, and this request's own is under way."""
        st = traced.get("/api/v1/status").data["otlp"]["traces"]
        return st["queued"] and st["spans"] == st["accepted"] + st["queued"] + st["spans_live"]

    until(10, all_there, "the sum of the spans")
    st = traced.get("/api/v1/status").data["otlp"]
    assert set(st) == {"traces"}
    assert st["traces"]["url"] == receiver.url + "/v1/traces"
    assert st["traces"]["failed"] == st["traces"]["dropped"] == st["traces"]["spans_dropped"] == 0
    assert not st["traces"]["failing"] and "last_error" not in st["traces"]
    text = traced.get("/metrics").text
    assert re.search(r'^nl6_otlp_accepted_items_total\{name="traces"\} \d+$', text, re.M)
    assert re.search(r"^nl6_tracer_spans_total \d+$", text, re.M)


# --- linked profiles ----------------------------------------------------------------------------

def busy_request(it):
    """A request that uses the CPU for a while: a search that matches nothing. Its answer."""
    until_s = time.monotonic() + 60 * SLOW
    while time.monotonic() < until_s:
        begun = time.monotonic()
        reply = it.get("/api/v1/devices?q=nothing-has-this-name", timeout=120)
        if time.monotonic() - begun >= 0.05:
            return reply
    pytest.fail("no request took long enough")


@pytest.fixture
def profiled(fleet, receiver):
    return fleet(60000, "-otlp-endpoint", receiver.url, "-otlp-profiles", receiver.url)


def open_gate(it):
    assert turn(it, enabled=True)["otlp"]["active"] is True


def close_gate(it):
    """The last window goes out then, however short."""
    turn(it, enabled=False)


def profile_id(span):
    return span.attributes.get("pyroscope.profile.id")


def test_samples_lead_from_a_slow_span_to_its_functions(profiled, receiver):
    open_gate(profiled)
    reply = busy_request(profiled)
    trace, id = context(reply)
    close_gate(profiled)
    profile = receiver.wait_link(trace=trace, span=id)
    [span] = receiver.wait_spans(trace=trace, id=id)
    assert profile_id(span) == id
    found = profile.find(trace=trace, span=id)
    assert {s.attributes["subsystem"] for s in found} == {"api"}
    assert any("devices_list.c" in f.file for s in found for f in s.frames), found[0].stack
    assert profile.type == "samples/count" and profile.period_type == "cpu/nanoseconds"
    assert profile.resource == span.resource
    # Every link is a span that was told of, and every span with a profile's id has samples.
    profiled.stop()
    linked = {link for p in receiver.profiles for link in p.links}
    assert linked <= {(s.trace, s.id) for s in receiver.spans}
    assert {s.id for s in receiver.spans if profile_id(s)} == {id for _, id in linked}


def test_work_in_other_threads_is_the_requests(profiled, receiver):
    open_gate(profiled)
    body = {"start_ip": "127.220.0.1", "device_count": 500000, "resource_file": "asr9k.json",
            "snmp_port": profiled.snmp_port}
    reply = profiled.post("/api/v1/devices", body, timeout=120)
    assert reply.status == 201
    trace, id = context(reply)
    close_gate(profiled)
    profile = receiver.wait_link(trace=trace, span=id, frame="fleet_add_slice")
    assert profile.find(trace=trace, span=id, frame="batch_job_run")
    # Samples of children are the local root's.
    assert {s.link[1] for s in profile.find(trace=trace)} == {id}


def test_pulled_profiles_have_the_ids_as_labels(profiled, receiver):
    pull_only(profiled)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pulling = pool.submit(profiled.get, "/debug/pprof/profile?seconds=4", timeout=60)
        until(10, lambda: profiled.request("GET", GATE).data["sampler"]["sampling"], "the capture")
        trace, id = context(busy_request(profiled))
        pulled = pulling.result()
    assert pulled.status == 200, pulled.text
    profile = judge(pulled.body)
    ids = {(s.labels.get("trace_id"), s.labels.get("span_id"), s.labels.get("span_name"))
           for s in profile.samples}
    assert (trace, id, "GET /api/v1/devices") in ids


def test_a_scrape_is_refused_while_windows_go_out(profiled):
    open_gate(profiled)
    assert profiled.get("/debug/pprof/profile?seconds=1").status == 500
    assert profiled.request("GET", GATE).data["otlp"]["active"] is True
    pull_only(profiled)
    assert profiled.request("GET", GATE).data["otlp"]["active"] is False
    assert profiled.get("/debug/pprof/profile?seconds=1").status == 200


def test_short_spans_are_kept_unlinked(fleet, receiver):
    it = fleet(60000, "-otlp-endpoint", receiver.url, "-otlp-profiles", receiver.url,
               "-otlp-link-min-duration", "1h")
    open_gate(it)
    trace, id = context(busy_request(it))
    assert it.request("GET", GATE).data["sampler"]["unlinked"] == 0  # told when a window ends
    close_gate(it)
    [span] = receiver.wait_spans(trace=trace, id=id)
    assert profile_id(span) is None
    receiver.wait_profiles(1)
    assert not any(p.links for p in receiver.profiles)
    assert sum(p.total(subsystem="api") for p in receiver.profiles) > 0


def test_no_link_at_a_ratio_of_none(fleet, receiver):
    it = fleet(60000, "-otlp-endpoint", receiver.url, "-otlp-profiles", receiver.url,
               "-otlp-link-ratio", "0")
    open_gate(it)
    trace, id = context(busy_request(it))
    close_gate(it)
    [span] = receiver.wait_spans(trace=trace, id=id)
    assert profile_id(span) is None
    receiver.wait_profiles(1)
    assert not any(p.links for p in receiver.profiles)


def test_profiles_alone_have_no_links(nl6, receiver):
    it = nl6("-otlp-profiles", receiver.url)
    assert "traceresponse" not in it.get("/health").headers
    assert receiver.requests == []  # the gate is closed
    open_gate(it)
    for _ in range(300):
        it.get("/metrics")
    close_gate(it)
    receiver.wait_profiles(1)
    assert not any(p.links for p in receiver.profiles)
    data = it.request("GET", GATE).data["otlp"]
    assert data["windows"] == 1 and data["url"] == receiver.url + "/v1development/profiles"
    assert data["active"] is False


def test_totals_are_those_of_the_cpu(profiled, receiver):
    open_gate(profiled)
    for _ in range(5):
        busy_request(profiled)
    close_gate(profiled)
    used = until(30, lambda: profiled.request("GET", GATE).data["otlp"]["accepted"] >= 1 and
                 profiled.request("GET", GATE).data["otlp"], "the windows")
    total = sum(p.total() for p in receiver.profiles)
    assert total == used["samples"]
    assert sum(s.value for p in receiver.profiles for s in p.samples if s.link) == \
        used["linked_samples"]


@contextlib.contextmanager
def some_load(it):
    """Enough for samples in every window."""
    over = threading.Event()

    def ask():
        while not over.wait(0.02):
            it.get("/metrics")
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()


def test_a_second_signal_does_not_wait(nl6, otlp):
    stuck = otlp()
    stuck.behave = silence
    it = nl6("-otlp-endpoint", stuck.url)
    it.get("/health")
    it.signal(signal.SIGTERM)
    begun = time.monotonic()
    it.wait(20 * SLOW)
    assert time.monotonic() - begun < 12 * SLOW


def test_an_upload_is_a_trace(nl6, receiver):
    with contextlib.closing(Pyroscope()) as pyroscope:
        it = nl6("-otlp-endpoint", receiver.url)
        turn(it, enabled=True, server_address=pyroscope.url)
        turn(it, enabled=False)  # the last window goes out
        [span, *_] = receiver.wait_spans(name="push profile")
        assert (span.kind, span.parent, span.status) == (CLIENT, "", 0)
        assert span.attributes["http.response.status_code"] == 200
        sent = [r.headers["traceparent"] for r in pyroscope.requests]
        assert f"00-{span.trace}-{span.id}-03" in sent
        turn(it, enabled=True, server_address="http://127.0.0.1:1")
        turn(it, enabled=False)
        until(30, lambda: any(s.status == 2 and "do http request" in s.message
                              for s in receiver.find(name="push profile")), "the failed upload")
