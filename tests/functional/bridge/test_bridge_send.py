"""The bridge between peers: profiles pulled from servers that misbehave, sent to receivers that do."""

import gzip
import re
import signal
import time

import pytest

from bridge import FIXTURES, run, start, stop, sums, written
from http_peer import Handler, Peer, answer, cut_answer, redirect, silence
from otlp_peer import cut_body, error, later, partial
from pprof_make import cpu
from program import until

GO = (FIXTURES / "go-cpu.pb.gz").read_bytes()


class Source(Handler):
    def receive(self):
        peer = self.peer
        if peer.wants and {k: self.headers[k] for k in peer.wants} != peer.wants:
            self.reply(401, b"not you")
        elif peer.basic and self.noted.authorization != peer.basic:
            self.reply(401, b"not you")
        else:
            self.reply(200, peer.profile(), {"Content-Type": "application/octet-stream"})


class Pprof(Peer):
    """Serves profiles; profile() makes one."""

    handler = Source

    def __init__(self, profile=lambda: cpu().bytes(), wants=None, **more):
        self.profile, self.wants = profile, wants or {}
        super().__init__(**more)


@pytest.fixture
def source():
    running = []

    def make(**more):
        running.append(Pprof(**more))
        return running[-1]
    yield make
    for it in running:
        it.close()


def url(peer, path="/debug/pprof/profile?seconds=1"):
    return f"{peer.url}{path}"


def test_once_from_peer_to_peer(source, otlp):
    there, sink = source(profile=lambda: cpu(7).bytes()), otlp(any_kind=True)
    done = run("-url", url(there), "-send", sink.url, "-service-name", "s")
    assert done.returncode == 0, done.log
    assert sums(sink.profiles) == {"samples/count": 7, "cpu/nanoseconds": 70_000_000}
    (asked,) = there.requests
    assert (asked.method, asked.path, asked.query) == ("GET", "/debug/pprof/profile", "seconds=1")


def test_credentials_of_both_sides_come_from_files(source, otlp, tmp_path):
    for name, value in (("auth", "me:se:cret"), ("token", "t0ken"), ("tenant", "team")):
        (tmp_path / name).write_text(value + "\n")
    there = source(basic="me:se:cret", wants={"X-Scope-OrgID": "team", "X-More": "1"})
    sink = otlp(any_kind=True, wants={"Authorization": "Bearer t0ken", "X-Scope-OrgID": "team"})
    flags = ["-url", url(there), "-send", sink.url]
    pull = ["-pull-basic-auth-file", tmp_path / "auth", "-pull-tenant-file", tmp_path / "tenant",
            "-pull-header", "X-More: 1"]
    send = ["-send-token-file", tmp_path / "token", "-send-tenant-file", tmp_path / "tenant"]
    assert run(*flags, *pull, *send).returncode == 0
    sink.expect_faults = True
    assert run(*flags, *pull).returncode == 1
    assert "se:cret" not in run(*flags, *pull).log


def test_certificates_of_both_sides(source, otlp, tmp_path):
    from http_peer import Authority
    ca = Authority(tmp_path / "ca")
    there = source(tls=ca.server("there", clients=ca))
    sink = otlp(any_kind=True, tls=ca.server("sink", clients=ca))
    cert, key = ca.issue("client")
    flags = ["-url", url(there), "-send", sink.url]
    both = [x for side in ("pull", "send") for x in (
        f"-{side}-ca", ca.certificate, f"-{side}-cert", cert, f"-{side}-key", key)]
    done = run(*flags, *both)
    assert done.returncode == 0, done.log
    assert sums(sink.profiles)["samples/count"] == 5


def test_errors_of_the_source_are_retried_and_never_parsed(source, otlp):
    there, sink = source(), otlp(any_kind=True)
    there.rules += [answer(503, {}, GO), answer(500, {}, GO)]
    done = run("-url", url(there), "-send", sink.url)
    assert done.returncode == 0 and len(there.requests) == 3, done.log
    assert sums(sink.profiles)["samples/count"] == 5
    assert re.search(r"answered 503.*trying again", done.log)


def test_an_interval_survives_any_bad_pull(source, otlp):
    there, sink = source(), otlp(any_kind=True)
    there.rules += [answer(500, {}, GO), answer(200, {}, b"garbage"), redirect("http://127.0.0.1:1/"),
                    cut_answer, answer(200, {}, GO[:-20]), answer(200, {}, gzip.compress(bytes(1 << 20))),
                    answer(200, {}, b"heap profile: 1: 2"), answer(204), answer(200)]
    process = start("-url", url(there), "-interval", "100ms", "-send", sink.url,
                    "-max-size", 500_000)
    sink.wait_profiles(4)
    status, log = stop(process)
    assert status == 0
    assert "legacy" in log and "answered 500" in log and "more than the allowed size" in log
    assert re.search(r"bad [5-9]", log)
    assert all(set(sums([p])) <= {"samples/count", "cpu/nanoseconds"} for p in sink.profiles)


def test_the_log_of_a_dead_source_is_bounded(otlp):
    sink = otlp(any_kind=True)
    process = start("-url", "http://127.0.0.1:9/", "-interval", "5ms", "-send", sink.url)
    time.sleep(3)
    status, log = stop(process)
    assert status == 0 and len(log.splitlines()) <= 20, log


def test_a_receiver_that_misbehaves(source, otlp):
    there, sink = source(), otlp(any_kind=True)
    sink.rules += [error(503, retry_after=1), cut_body(3), error(429, retry_after=1)]
    done = run("-url", url(there), "-send", sink.url)
    assert done.returncode == 0 and len(sink.requests) == 4, done.log
    for rule in (error(400), error(413), partial(2, "too old")):
        sink.rules.append(rule)
        done = run("-url", url(there), "-send", sink.url)
        assert done.returncode == 1 and "did not take all" in done.log, done.log


def test_signals_end_it_cleanly(source, otlp):
    there, sink = source(), otlp(any_kind=True)
    there.behave = silence
    for flags in (["-interval", "1s"], []):
        process = start("-url", url(there), "-send", sink.url, *flags)
        until(10, lambda: there.requests, "a pull")
        there.requests.clear()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.communicate(timeout=20)
        assert process.returncode == (0 if flags else 1) and time.monotonic() - began < 8
    there.behave, sink.behave = None, later(60)
    process = start("-url", url(there), "-send", sink.url)
    until(10, lambda: sink.requests, "a request")
    began = time.monotonic()
    assert stop(process)[0] == 1 and time.monotonic() - began < 8
