"""The push to a server that refuses, is slow, is rude, or is not there."""

import concurrent.futures
import signal
import socket
import time

import pytest

from http_peer import answer, cut_answer, cut_request, drip, endless, junk, redirect, silence
from program import SLOW, until
from test_gate import GATE, pull_only, turn
from test_push import ALWAYS, FLUSH_S, RATES, UPLOAD_S, metrics, names, off, push_to, status


@pytest.fixture
def rude(pyroscope):
    """A server whose connections and requests may go wrong."""
    def start(behave=None, **more):
        peer = pyroscope(**more)
        peer.behave, peer.expect_faults = behave, True
        return peer
    return start


def failing(it, peer, n=1):
    """Waits for n errors of a push, and what the status says."""
    def ask():
        data = status(it)
        return data.get("sdk_errors", 0) >= n and data
    data = until(60, ask, f"{n} errors")
    assert data["pushing"] is True and data["enabled"] is True
    assert 0 < len(data["last_error"].encode()) < 320 and data["last_error"].isprintable()
    logged = [x for x in it.stderr.splitlines()
              if f"[profiling] push to {peer.url} failing: " in x]
    assert len(logged) == 1
    return data


@pytest.mark.parametrize("status_code, body, words", [
    (401, "no org id", ["401", "no org id"]), (413, "", ["413"]), (404, "page", ["404", "page"]),
    (422, '{"code":"invalid","message":"not in window"}', ["422", "not in window"]),
    (500, "oops", ["500", "oops"]), (503, "", ["503"]), (204, "", ["204"]), (201, "", ["201"]),
    (500, b"\xff\x00\x1b[31m" + b"A" * 100000, ["500"]), (304, "", ["304"]),
], ids=["401", "413", "404", "422", "500", "503", "204", "201", "hostile", "304"])
def test_answers_that_are_failures(nl6, rude, status_code, body, words):
    """Each upload of the last window fails; the next push starts anew."""
    peer = rude(answer(status_code, None, body if status_code not in (204, 304) else ""))
    it = nl6()
    push_to(it, peer.url)
    pull_only(it)
    counted = metrics(it)
    assert counted["nl6_push_errors_total"] == 3 and counted["nl6_push_uploads_total"] == 0
    assert len(peer.requests) == 3, "tried again"
    lines = [x for x in it.stderr.splitlines() if f"push to {peer.url} failing: " in x]
    assert len(lines) == 1 and all(w in lines[0] for w in words) and len(lines[0]) < 800
    assert lines[0].isprintable()
    peer.behave = None
    push_to(it, peer.url)
    off(it)
    assert names(peer.uploads) == sorted(ALWAYS)
    assert it.stderr.count(f"push to {peer.url} failing: ") == 1


@pytest.mark.parametrize("status_code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(nl6, rude, pyroscope, status_code):
    other = pyroscope()
    peer = rude(redirect(other.url + "/ingest", status_code))
    it = nl6()
    push_to(it, peer.url)
    off(it)
    assert other.requests == [] and other.all_connections == 0
    assert metrics(it)["nl6_push_errors_total"] == 3
    assert str(status_code) in next(x for x in it.stderr.splitlines() if " failing: " in x)


def test_the_status_of_a_failing_push(nl6, rude):
    """Of the current push alone: a new one begins without errors."""
    peer = rude(answer(500, None, "first"))
    it = nl6("-profiling-pyroscope", peer.url)
    peer.wait_requests(3, 40)
    data = failing(it, peer, 3)
    assert data["sdk_errors"] == 3 and "500" in data["last_error"]
    assert "first" in data["last_error"]
    assert data["push"]["uploads"] == 0 and "last_upload_at" not in data["push"]
    off(it)
    assert "sdk_errors" not in status(it) and "last_error" not in status(it)
    assert "sdk_errors" not in push_to(it, peer.url)
    peer.behave = None
    off(it)


@pytest.mark.parametrize("rule", [silence, drip])
def test_an_upload_has_ten_seconds_in_all(nl6, rude, rule):
    peer = rude(rule)
    it = nl6()
    push_to(it, peer.url)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        closing = pool.submit(off, it)
        peer.wait_requests(1)
        while not closing.done():  # nobody else waits for it
            asked = time.monotonic()
            assert status(it)["enabled"] in (True, False)
            assert it.get("/api/v1/status").status == 200
            assert time.monotonic() - asked < 2 * SLOW
            time.sleep(0.1)
        closing.result()
    took = time.monotonic() - begun
    assert 0.9 * UPLOAD_S < took < FLUSH_S + 3 * SLOW
    counted = metrics(it)
    assert counted["nl6_push_errors_total"] == 3 and counted["nl6_push_uploads_total"] == 0
    until(5, lambda: not peer.connections, "end of the connections")
    # It is over: a new push works.
    peer.behave = None
    push_to(it, peer.url)
    off(it)
    assert names(peer.uploads) == sorted(ALWAYS)


@pytest.mark.parametrize("rule", [cut_answer, cut_request])
def test_a_connection_that_ends_too_soon(nl6, rude, rule):
    peer = rude(rule)
    it = nl6()
    push_to(it, peer.url)
    off(it)
    assert metrics(it)["nl6_push_errors_total"] == 3
    peer.behave = None
    push_to(it, peer.url)
    off(it)
    assert names(peer.uploads) == sorted(ALWAYS)


def test_answers_that_are_no_http(nl6, rude):
    for rule in junk, endless(500):
        peer = rude(rule)
        it = nl6()
        push_to(it, peer.url)
        off(it)
        assert metrics(it)["nl6_push_errors_total"] == 3
        lines = [x for x in it.stderr.splitlines() if " failing: " in x]
        assert len(lines) == 1 and len(lines[0]) < 800


def test_retry_after_holds_what_waits(nl6, rude):
    peer = rude()
    peer.rules = [answer(429, {"Retry-After": "3"}, "slow down")]
    it = nl6(*RATES)
    push_to(it, peer.url)
    off(it)
    at = [r.at for r in peer.requests]
    assert len(at) == 5 and len(peer.uploads) == 4
    first = peer.requests[0]
    assert first.status == 429
    late = [r for r in peer.requests if r.at - first.at > 2.9]
    assert late, "nothing was held"
    assert "slow down" in it.stderr and metrics(it)["nl6_push_errors_total"] == 1


@pytest.mark.parametrize("value", ["junk", "-1", "0", "99999999999999999999",
                                   "Wed, 21 Oct 2015 07:28:00 GMT", ""])
def test_a_retry_after_that_is_none(nl6, rude, value):
    """Whatever it says, the closing is bounded; most of it is passed over."""
    peer = rude()
    peer.rules = [answer(429, {"Retry-After": value}, "slow down")]
    it = nl6()
    push_to(it, peer.url)
    begun = time.monotonic()
    off(it)
    assert time.monotonic() - begun < FLUSH_S + 3 * SLOW
    counted = metrics(it)
    assert counted["nl6_push_errors_total"] + counted["nl6_push_uploads_total"] == 3
    if value in ("junk", "-1", "0", ""):
        assert len(peer.uploads) == 2


def test_what_is_held_at_the_end_is_dropped_and_counted(nl6, rude):
    peer = rude(answer(429, {"Retry-After": "60"}, "slow down"))
    it = nl6()
    push_to(it, peer.url)
    begun = time.monotonic()
    off(it)
    assert time.monotonic() - begun < FLUSH_S + 3 * SLOW
    counted = metrics(it)
    assert counted["nl6_push_errors_total"] == 3
    assert counted["nl6_push_dropped_total"] + len(peer.requests) == 3
    assert len(peer.requests) < 3, "nothing was held"
    peer.behave = None
    push_to(it, peer.url)  # a new push holds nothing
    off(it)
    assert len(peer.uploads) == 3


def test_a_server_killed_and_started_again(nl6, rude):
    peer = rude()
    it = nl6("-profiling-pyroscope", peer.url)
    peer.wait_uploads(3, seconds=40)
    peer.kill()
    data = failing(it, peer, 3)
    assert data["push"]["uploads"] == 3
    peer.start()
    peer.wait_uploads(6, seconds=40)
    data = until(20, lambda: (lambda d: d["push"]["uploads"] == 6 and d)(status(it)), "uploads")
    assert data["sdk_errors"] == 3
    off(it)
    assert len(peer.uploads) == 9
    assert it.stderr.count(f"push to {peer.url} failing: ") == 1


def test_the_end_of_the_program_is_bounded(nl6, rude):
    peer = rude(silence)
    it = nl6("-profiling-pyroscope", peer.url)
    begun = time.monotonic()
    it.signal(signal.SIGTERM)
    assert it.wait(FLUSH_S + 10) == 0
    assert 0.9 * UPLOAD_S < time.monotonic() - begun < FLUSH_S + 3 * SLOW
    assert len(peer.requests) == 3 and "[shutdown]" in it.stderr


def test_turns_that_wait_are_not_carried_out_at_the_end(nl6, rude):
    """Each would flush a push of its own, for 20 s: the end waits for the one under way."""
    peer = rude(silence)
    it = nl6("-profiling-pyroscope", peer.url)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i in range(8):
            pool.submit(turn, it, enabled=True, server_address=f"{peer.url}/{i}")
        peer.wait_requests(3)  # the flush of the first
        begun = time.monotonic()
        it.signal(signal.SIGTERM)
        it.wait(60 * SLOW)
    assert time.monotonic() - begun <= 1.5 * FLUSH_S * SLOW


def test_a_second_signal_does_not_wait(nl6, rude):
    peer = rude(silence)
    it = nl6("-profiling-pyroscope", peer.url)
    it.signal(signal.SIGTERM)
    peer.wait_requests(3)
    begun = time.monotonic()
    until(UPLOAD_S - 2, lambda: it.signal(signal.SIGTERM) or it.process.poll() is not None,
          "the end")
    it.wait(1)
    assert time.monotonic() - begun < 0.5 * UPLOAD_S


def test_two_signals_at_once_are_one(nl6, pyroscope):
    """As timeout(1) sends them: to its child, and then to its group."""
    peer = pyroscope()
    it = nl6("-profiling-pyroscope", peer.url)
    it.signal(signal.SIGTERM)
    it.signal(signal.SIGINT)  # not merged with the first, as a second SIGTERM may be
    assert it.wait(FLUSH_S) == 0
    assert "second signal" not in it.stderr and names(peer.uploads) == sorted(ALWAYS)


def test_turns_of_those_who_left_are_passed_over(nl6, rude, pyroscope):
    """Where another comes after them: it need not wait for a flush of each."""
    peer, other = rude(silence), pyroscope()
    it = nl6("-profiling-pyroscope", peer.url)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(turn, it, enabled=True, server_address=f"{peer.url}/first")
        peer.wait_requests(3)
        for i in range(5):
            with pytest.raises(OSError):
                it.request("POST", GATE, {"enabled": True, "server_address": f"{peer.url}/{i}"},
                           timeout=0.3 / SLOW)
        begun = time.monotonic()
        turn(it, enabled=True, server_address=other.url)
        assert time.monotonic() - begun < 3.5 * UPLOAD_S  # not for seven flushes
        assert first.result().status == 200
    assert not any(f"/{i}/" in r.path for r in peer.requests for i in range(5))


def test_turns_wait_for_the_end_of_a_push_one_after_the_other(nl6, rude, pyroscope):
    """The one that comes while the last push still sends: after it, and none is lost."""
    peer, other = rude(silence), pyroscope()
    it = nl6()
    push_to(it, peer.url)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        closing = pool.submit(off, it)
        peer.wait_requests(1)
        opening = pool.submit(turn, it, enabled=True, server_address=other.url)
        assert it.get("/debug/pprof/heap").status in (200, 503)
        assert other.requests == []
        closing.result()
        assert opening.result().status == 200
    assert status(it)["server_address"] == other.url
    off(it)
    assert names(other.uploads) == sorted(ALWAYS)


def test_a_large_fleet_of_stacks_stays_within_the_limits(fleet, pyroscope):
    """The receiver would refuse 2 MiB at once: what has most samples, all kinds together."""
    peer = pyroscope()
    it = fleet(200, *RATES, "-profiling-heap-rate", "1", "-profiling-cpu-rate", "1000",
               "-profiling-pyroscope", peer.url)
    for _ in range(30):
        assert it.get("/api/v1/devices?limit=100").status == 200
        it.snmp("snmpbulkwalk", "-Cr50", "-On", "1.3.6.1.2.1.2")
    peer.wait_uploads(5, seconds=40)
    off(it)
    assert names(peer.uploads) == sorted([*ALWAYS, "mutex", "block"] * 2)
    assert metrics(it)["nl6_push_errors_total"] == 0


def test_a_revert_is_pending_until_it_is_done(nl6, rude):
    """While the push that it ends sends its rest: the state is still the old one, and so says the
    status."""
    peer = rude(silence)
    it = nl6()
    push_to(it, peer.url, duration="200ms")
    peer.wait_requests(1)
    data = status(it)
    assert data["pushing"] is True and data["revert_pending"] is True
    assert data["revert_to"] is False and "[auto-revert" not in it.stderr
    data = until(FLUSH_S + 10, lambda: (lambda d: not d["revert_pending"] and d)(status(it)), "end")
    assert data["enabled"] is False
    until(20, lambda: it.stderr.count("[auto-revert after 200ms]") == 1, "line of the log")


def test_a_resolver_that_hangs(nl6, tmp_path):
    """Neither an upload nor the end waits for it longer than for a server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.53.53.53", 53))
        (tmp_path / "resolv").write_text(
            "nameserver 127.53.53.53\noptions timeout:30 attempts:5\n")
        (tmp_path / "nsswitch").write_text("hosts: files dns\n")
        it = nl6("-profiling-pyroscope", "http://pyroscope.example:4040", prefix=(
            "unshare", "-m", "sh", "-c",
            f"mount --bind {tmp_path}/resolv /etc/resolv.conf && "
            f"mount --bind {tmp_path}/nsswitch /etc/nsswitch.conf && exec \"$@\"", "sh"))
        begun = time.monotonic()
        pull_only(it)
        assert 0.9 * UPLOAD_S < time.monotonic() - begun < FLUSH_S + 3 * SLOW
        assert silent.recv(512), "it was not asked"
        assert metrics(it)["nl6_push_errors_total"] == 3
        assert turn(it, enabled=True).status == 200
        it.signal(signal.SIGTERM)
        assert it.wait(FLUSH_S + 10) == 0
        assert time.monotonic() - begun < 2 * FLUSH_S + 6 * SLOW
