"""Exports of traces to receivers that refuse, are slow, are rude, or are not there: nobody waits for
them, all is counted, and what they may not get again is not sent again."""

import email.utils
import gzip
import re
import signal
import time

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

import otlp_grpc_peer as wire
from http_peer import (Authority, answer, cut_request, drip, endless, junk, redirect,
                       silence)
from otlp_grpc_peer import GrpcOtlp
from otlp_peer import TRACES, cut_body, error, later, partial
from program import SLOW, until

SECRET, TENANT = "hun:ter2-geheim", "tenant-geheim"
# The end of the program goes on sending for as long as this.
FLUSH_S = 3


@pytest.fixture
def rude(otlp):
    """A receiver whose connections and requests may go wrong."""
    def start(behave=None, **more):
        peer = otlp(**more)
        peer.behave, peer.expect_faults = behave, True
        return peer
    return start


@pytest.fixture
def grpc_peer():
    running = []

    def start(**more):
        running.append(GrpcOtlp(**more))
        return running[-1]

    yield start
    for it in running:
        it.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


def traced(nl6, peer, *flags, **more):
    return nl6("-otlp-endpoint", peer.url, *flags, **more)


def over_grpc(nl6, peer, *flags, **more):
    return traced(nl6, peer, "-otlp-protocol", "grpc", *flags, **more)


def span(it):
    """Makes one, the trace id of which it returns."""
    begun = time.monotonic()
    reply = it.get("/api/v1/version")
    assert reply.status == 200 and time.monotonic() - begun < 2 * SLOW, "somebody waits"
    return reply.headers["traceresponse"].split("-")[1]


def counted(it):
    """Counters of the traces' export, by name."""
    families = text_string_to_metric_families(it.get("/metrics").text)
    return {s.name.removeprefix("nl6_otlp_").removesuffix("_total"): s.value
            for f in families for s in f.samples
            if s.name.startswith("nl6_otlp_") and s.labels.get("name") == "traces"}


def wait_count(it, seconds=30, **least):
    """The counters once each is at least so high."""
    def ask():
        now = counted(it)
        return all(now[k] >= v for k, v in least.items()) and now
    return until(seconds, ask, f"{least}")


def told(it):
    return [x for x in it.stderr.splitlines() if "[otlp]" in x]


def has_span(peer, trace, seconds=30):
    until(seconds, lambda: any(s.trace == trace for s in peer.spans), f"span of {trace}")


@pytest.mark.parametrize("status, body, words", [
    (400, "bad span", ["400", "bad span"]), (401, "who?", ["401", "who?"]), (413, "", ["413"]),
    (404, "page", ["404"]), (500, "oops", ["500", "oops"]), (501, "", ["501"]),
    (400, b"\xff\x00\x1b[31m" + b"A" * 100000, ["400"]),
], ids=["400", "401", "413", "404", "500", "501", "hostile"])
def test_what_is_refused_is_not_sent_again(nl6, rude, status, body, words):
    peer = rude(answer(status, None, body))
    it = traced(nl6, peer)
    span(it)
    now = wait_count(it, failed=1)
    assert now["retried"] == 0 and now["accepted"] == 0 and now["failed_items"] >= 1
    lines = told(it)
    assert len(lines) == 1 and f"export of traces to {peer.url}{TRACES} failing: " in lines[0]
    assert all(w in lines[0] for w in words) and len(lines[0]) < 600 and lines[0].isprintable()
    requests = len(peer.requests)
    peer.behave = None
    has_span(peer, span(it))
    assert requests < len(peer.requests)
    until(10, lambda: "works again" in it.stderr, "recovery")
    assert len(told(it)) == 2 and counted(it)["retried"] == 0


def test_a_status_in_protobuf_is_told(nl6, rude):
    peer = rude(error(400, "no such attribute"))
    it = traced(nl6, peer)
    span(it)
    wait_count(it, failed=1)
    assert "HTTP status 400: no such attribute" in told(it)[0]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_receiver_is_asked_again(nl6, rude, status):
    peer = rude()
    peer.rules = [error(status), error(status)]
    it = traced(nl6, peer)
    trace = span(it)
    has_span(peer, trace)
    first, second, third = peer.requests[:3]
    assert first.body == second.body == third.body
    assert 0.4 < second.at - first.at < 1.5 * SLOW + 0.5
    assert 0.9 < third.at - second.at < 2.5 * SLOW + 0.5
    now = wait_count(it, accepted=1)
    assert now["retried"] == 2 and now["failed"] == 0 and now["dropped"] == 0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_obeyed(nl6, rude, form):
    peer = rude()
    value = 4 if form == "seconds" else email.utils.formatdate(time.time() + 12, usegmt=True)
    peer.rules = [error(503, retry_after=value)]
    it = traced(nl6, peer)
    trace = span(it)
    peer.wait_requests(1)
    until_date = time.time()
    has_span(peer, trace, 40)
    first, second = peer.requests[:2]
    assert second.at - first.at > (3.9 if form == "seconds" else 5)
    assert form == "seconds" or until_date < time.time()
    assert wait_count(it, accepted=1)["retried"] == 1


@pytest.mark.parametrize("value", ["soon", "-1", "0", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_is_none(nl6, rude, value):
    peer = rude()
    peer.rules = [answer(503, {"Retry-After": value})]
    it = traced(nl6, peer)
    has_span(peer, span(it))
    first, second = peer.requests[:2]
    assert 0.4 < second.at - first.at < 2 * SLOW + 0.5


def test_a_partial_success_is_not_sent_again(nl6, rude):
    peer = rude(partial(1, "too old"))
    it = traced(nl6, peer)
    span(it)
    now = wait_count(it, warnings=1)
    assert now["rejected_items"] == now["warnings"] and now["retried"] == 0
    assert now["accepted"] == now["requests"] and now["failed"] == 0
    assert "accepted, but (1 times): 1 rejected: too old" in told(it)[0]
    for _ in range(20):
        span(it)
        time.sleep(0.1)
    wait_count(it, warnings=2)
    assert len(told(it)) == 1, "said again within a minute"


def test_a_warning_is_told(nl6, rude):
    peer = rude(partial(0, "schema is old"))
    it = traced(nl6, peer)
    has_span(peer, span(it))
    now = wait_count(it, warnings=1)
    assert now["rejected_items"] == 0 and "warning: schema is old" in told(it)[0]


@pytest.mark.parametrize("rule", [cut_body(5), cut_request], ids=["answer", "request"])
def test_a_connection_that_is_cut_is_tried_again(nl6, rude, rule):
    peer = rude()
    peer.rules = [rule, rule]
    it = traced(nl6, peer)
    has_span(peer, span(it))
    now = wait_count(it, accepted=1)
    assert now["failed"] == 0 and now["retried"] + now["accepted"] == now["requests"]


def test_answers_that_are_no_http(nl6, rude):
    peer = rude()
    peer.rules = [junk]
    it = traced(nl6, peer)
    has_span(peer, span(it))
    peer.rules = [endless(200)]
    span(it)
    now = wait_count(it, failed=1)
    assert now["failed"] == 1 and now["retried"] == 1
    assert any("over 4194304 bytes" in x for x in told(it)) or len(told(it)) == 2


@pytest.mark.parametrize("rule", [silence, drip], ids=["silent", "a byte a second"])
def test_a_slow_receiver_holds_nobody(nl6, rude, rule):
    peer = rude()
    peer.rules = [rule]
    it = traced(nl6, peer, "-otlp-timeout", "1500ms")
    trace = span(it)
    peer.wait_requests(1)
    for _ in range(10):
        span(it)
    has_span(peer, trace)
    first, second = peer.requests[:2]
    assert 1.9 < second.at - first.at < 4 * SLOW
    assert wait_count(it, accepted=1)["failed"] == 0


def test_a_late_answer_is_one(nl6, rude):
    peer = rude(later(1))
    it = traced(nl6, peer)
    has_span(peer, span(it))
    assert wait_count(it, accepted=1)["requests"] == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_no_credential_leaves(nl6, rude, otlp, status):
    other = otlp()
    peer = rude(redirect(other.url + TRACES, status))
    it = traced(nl6, peer, "-otlp-basic-auth", "alice:" + SECRET, "-otlp-tenant", TENANT)
    span(it)
    now = wait_count(it, failed=1)
    assert now["retried"] == 0 and other.requests == [] and other.all_connections == 0
    assert f"HTTP status {status}" in told(it)[0]


def test_credentials_come_to_the_receiver_and_nowhere_else(nl6, rude):
    """By flags, and by the environment where a flag leaves them open."""
    peer = rude(basic="alice:" + SECRET)
    it = traced(nl6, peer, "-otlp-basic-auth", "alice:" + SECRET, "-otlp-header", "X-Key: key-geheim",
                "-otlp-tenant", TENANT,
                env={"OTEL_EXPORTER_OTLP_HEADERS": "x-more=more%20geheim,x-key=other",
                     "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
                     "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"})
    has_span(peer, span(it))
    request = peer.requests[0]
    assert request.headers["X-Key"] == "key-geheim" and request.tenant == TENANT
    assert request.headers["x-more"] == "more geheim"
    assert request.headers.get_all("x-key") == ["key-geheim"]
    assert re.fullmatch(r"OTel-OTLP-Exporter-c/v\d\S*", request.headers["User-Agent"])
    assert request.headers["Content-Encoding"] == "gzip" and gzip.decompress(request.body)
    for name in "cmdline", "environ":
        content = open(f"/proc/{it.process.pid}/{name}", "rb").read()
        assert b"geheim" not in content, name
    everything = it.stderr + it.get("/metrics").text + it.get("/api/v1/status").text
    assert "geheim" not in everything and "ter2" not in everything


def test_environment_alone_turns_nothing_on(nl6, otlp):
    peer = otlp()
    it = nl6(env={"OTEL_EXPORTER_OTLP_ENDPOINT": peer.url, "OTEL_TRACES_EXPORTER": "otlp",
                  "OTEL_EXPORTER_OTLP_HEADERS": "nonsense", "OTEL_EXPORTER_OTLP_TIMEOUT": "x",
                  "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})
    assert "traceresponse" not in it.get("/api/v1/version").headers
    time.sleep(1.5)
    assert peer.all_connections == 0


def test_the_environment_completes(nl6, otlp):
    peer = otlp()
    it = traced(nl6, peer, env={"OTEL_EXPORTER_OTLP_COMPRESSION": "none",
                                "OTEL_SERVICE_NAME": "lab 2",
                                "OTEL_RESOURCE_ATTRIBUTES": "team=a%2Cb,service.name=other"})
    has_span(peer, span(it))
    assert peer.requests[0].headers["Content-Encoding"] is None
    resource = peer.spans[0].resource
    assert resource["service.name"] == "lab 2" and resource["team"] == "a,b"
    assert resource["telemetry.sdk.name"] == "nl6" and resource["process.pid"] == it.process.pid
    assert len(resource) < 25


def test_a_connection_is_kept(nl6, otlp):
    peer = otlp()
    it = traced(nl6, peer)
    for _ in range(3):
        has_span(peer, span(it))
    assert peer.all_connections == 1 and len(peer.requests) >= 3


def test_a_receiver_killed_and_started_again(nl6, rude):
    peer = rude()
    it = traced(nl6, peer)
    has_span(peer, span(it))
    peer.kill()
    traces = [span(it) for _ in range(5)]
    until(20, lambda: "failing" in it.stderr, "failure")
    peer.start()
    for trace in traces:
        has_span(peer, trace, 60)
    until(10, lambda: "works again" in it.stderr, "recovery")
    now = counted(it)
    assert now["failed"] == now["dropped"] == 0 and now["retried"] >= 1
    assert len(told(it)) == 2


def test_a_receiver_that_is_away_costs_no_memory(nl6, rude):
    """What waits is bounded: the newest beyond is dropped and counted."""
    peer = rude()
    peer.kill()
    # A sanitizer keeps what was freed for a while.
    it = traced(nl6, peer, env={"ASAN_OPTIONS": "quarantine_size_mb=1"})

    def resident():
        status = open(f"/proc/{it.process.pid}/status").read()
        return int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1])

    def load(n):
        for _ in range(n):
            span(it)

    load(300)
    before = resident()
    load(2000)
    assert resident() - before < 12 << 10
    assert len(told(it)) == 1
    begun = time.monotonic()
    it.signal(signal.SIGTERM)
    assert it.wait(60) == 0
    assert time.monotonic() - begun < (FLUSH_S + 5) * SLOW


def test_the_end_sends_what_waits(nl6, otlp):
    peer = otlp()
    it = traced(nl6, peer)
    trace = span(it)
    it.signal(signal.SIGTERM)
    assert it.wait(30) == 0
    assert any(s.trace == trace for s in peer.spans)


@pytest.mark.parametrize("rule", [silence, error(503), error(429, retry_after=600)],
                         ids=["silent", "503", "held"])
def test_the_end_is_bounded(nl6, rude, rule):
    peer = rude(rule)
    it = traced(nl6, peer)
    span(it)
    peer.wait_requests(1)
    span(it)
    begun = time.monotonic()
    it.signal(signal.SIGTERM)
    assert it.wait(60) == 0
    assert time.monotonic() - begun < (FLUSH_S + 4) * SLOW


# --- TLS ----------------------------------------------------------------------------------------

def test_certificates_are_looked_at(nl6, rude, authority, tmp_path):
    foreign = Authority(tmp_path / "foreign", "foreign")
    for context, flags, word in (
            (authority.server(), (), "certificate"),
            (foreign.server(), ("-otlp-ca", authority.certificate), "certificate"),
            (authority.server("named", san="DNS:elsewhere"), ("-otlp-ca", authority.certificate),
             "127.0.0.1")):
        peer = rude(tls=context)
        it = traced(nl6, peer, *flags)
        span(it)
        until(20, lambda: told(it), "failure")
        assert word in told(it)[0] and peer.requests == []


def test_both_sides_show_certificates(nl6, rude, authority):
    cert, key = authority.issue("client")
    peer = rude(tls=authority.server("mutual", clients=authority))
    it = traced(nl6, peer, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": str(authority.certificate),
                                "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(cert),
                                "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(key)})
    has_span(peer, span(it))
    assert counted(it)["failed"] == 0


# --- gRPC ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_grpc(nl6, grpc_peer, compression):
    peer = grpc_peer()
    it = over_grpc(nl6, peer, "-otlp-header", "X-Key: k7", "-otlp-compression", compression)
    for _ in range(3):
        has_span(peer, span(it))
    now = wait_count(it, accepted=3)
    assert now["retried"] == now["failed"] == now["warnings"] == 0 and told(it) == []
    assert peer.calls[0].metadata["x-key"] == "k7"


def test_grpc_over_tls(nl6, grpc_peer, authority):
    cert, key = authority.issue("grpc")
    client = authority.issue("grpc-client")
    peer = grpc_peer(tls=(key.read_bytes(), cert.read_bytes()),
                     clients=authority.certificate.read_bytes())
    it = over_grpc(nl6, peer, "-otlp-ca", authority.certificate, "-otlp-cert", client[0],
                   "-otlp-key", client[1])
    for _ in range(3):
        has_span(peer, span(it))
    assert counted(it)["retried"] == 0


@pytest.mark.parametrize("code", ["CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE",
                                  "UNAVAILABLE", "DATA_LOSS"])
def test_grpc_codes_that_let_try_again(nl6, grpc_peer, code):
    peer = grpc_peer()
    peer.rules = [wire.fail(grpc.StatusCode[code])]
    it = over_grpc(nl6, peer)
    has_span(peer, span(it))
    now = wait_count(it, accepted=1)
    assert now["retried"] == 1 and now["failed"] == 0
    assert peer.calls[0].raw == peer.calls[1].raw
    assert f"{code}: no" in told(it)[0]


@pytest.mark.parametrize("code", [
    "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "ALREADY_EXISTS",
    "FAILED_PRECONDITION", "UNIMPLEMENTED", "INTERNAL", "UNKNOWN", "RESOURCE_EXHAUSTED"])
def test_grpc_codes_that_do_not(nl6, grpc_peer, code):
    peer = grpc_peer()
    peer.rules = [wire.fail(grpc.StatusCode[code], "why? ä")]
    it = over_grpc(nl6, peer)
    span(it)
    now = wait_count(it, failed=1)
    assert now["retried"] == 0 and f"{code}: why? " in told(it)[0]
    assert told(it)[0].isprintable()
    has_span(peer, span(it))


def test_grpc_that_is_exhausted_and_says_when(nl6, grpc_peer):
    peer = grpc_peer()
    code = grpc.StatusCode.RESOURCE_EXHAUSTED
    peer.rules = [wire.fail(code, "later", wire.retry_info(8, 3, 500_000_000))]
    it = over_grpc(nl6, peer)
    has_span(peer, span(it))
    assert peer.calls[1].at - peer.calls[0].at > 3.4
    now = wait_count(it, accepted=1)
    assert now["retried"] == 1 and now["failed"] == 0


def test_grpc_partial_success(nl6, grpc_peer):
    peer = grpc_peer()
    peer.rules = [wire.partial(1, "too old")]
    it = over_grpc(nl6, peer)
    span(it)
    now = wait_count(it, warnings=1)
    assert now["rejected_items"] == 1 and now["retried"] == 0
    assert "1 rejected: too old" in told(it)[0]


def test_grpc_that_is_late(nl6, grpc_peer):
    peer = grpc_peer()
    peer.rules = [wire.late(30)]
    it = over_grpc(nl6, peer, "-otlp-timeout", "1s")
    has_span(peer, span(it))
    assert wait_count(it, accepted=1)["failed"] == 0


def test_grpc_killed_and_started_again(nl6, grpc_peer):
    peer = grpc_peer()
    it = over_grpc(nl6, peer)
    has_span(peer, span(it))
    peer.kill()
    trace = span(it)
    until(20, lambda: "failing" in it.stderr, "failure")
    peer.start()
    has_span(peer, trace, 60)
    assert counted(it)["failed"] == 0


def test_grpc_asked_of_a_server_of_http(nl6, rude):
    """It does not answer in HTTP/2: that is a failure, not an acceptance."""
    peer = rude()
    it = over_grpc(nl6, peer)
    span(it)
    until(20, lambda: told(it), "failure")
    assert counted(it)["accepted"] == 0


def test_http_asked_of_a_server_of_grpc(nl6, grpc_peer):
    peer = grpc_peer()
    it = traced(nl6, peer)
    span(it)
    until(20, lambda: told(it), "failure")
    assert counted(it)["accepted"] == 0 and peer.calls == []
