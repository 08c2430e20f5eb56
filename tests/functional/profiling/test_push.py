"""The push to Pyroscope: its windows, what is in them, and how they begin and end."""

import concurrent.futures
import os
import re
import signal
import socket
import time

import pytest

from asker import GETBULK, binding, message, pdu
from prometheus_client.parser import text_string_to_metric_families
from program import ROOT, SLOW, run_once, until
from test_gate import GATE, KEYS, pull_only, turn
from test_judges import load

VERSION = (ROOT / "VERSION").read_text().strip()
WINDOW_S, UPLOAD_S, FLUSH_S = 15, 10, 20
LATE_S = 1 if SLOW == 1 else 3 * SLOW  # that a window may end; the next is then as much shorter
RATES = ("-profiling-mutex-fraction", "1", "-profiling-block-rate", "1")
ALWAYS = {"process_cpu", "memory", "goroutines"}
# By name: sampleRate, units, aggregationType, display names by sample type.
JOBS = {
    "process_cpu": ("100", "samples", "sum", {}),
    "goroutines": ("0", "goroutines", "average", {"goroutine": "goroutines"}),
    "memory": ("100", "", "", {}),
    "mutex": ("0", "", "", {"contentions": "mutex_count", "delay": "mutex_duration"}),
    "block": ("0", "", "", {"contentions": "block_count", "delay": "block_duration"}),
}
MEMORY = {f"memory:{t}:space:bytes" for t in ("alloc_objects:count", "alloc_space:bytes",
                                              "inuse_objects:count", "inuse_space:bytes")}
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
GOROUTINES = "goroutines:goroutine:count:goroutine:count"


def push_to(it, url, **more):
    reply = turn(it, enabled=True, server_address=url, **more)
    assert reply.status == 200, reply.text
    assert reply.data["pushing"] is True and reply.data["server_address"] == url
    return reply.data


def off(it, **more):
    reply = turn(it, enabled=False, **more)
    assert reply.status == 200 and reply.data["pushing"] is False
    return reply.data


def status(it):
    return it.request("GET", GATE).data


def metrics(it):
    """Name to value, of the push."""
    families = text_string_to_metric_families(it.get("/metrics").text)
    return {s.name: s.value for f in families for s in f.samples
            if s.name.startswith("nl6_push_")}


def names(uploads):
    return sorted(u.name for u in uploads)


def check_job(u):
    """The request of one profile, by its kind."""
    rate, units, aggregation, display = JOBS[u.name]
    assert u.app == "nl6" and u.query["spyName"] == "nl6"
    assert u.query["sampleRate"] == rate
    assert (u.query["units"], u.query["aggregationType"]) == (units, aggregation)
    assert {k: v["display-name"] for k, v in u.config.items() if "display-name" in v} == display
    files = {p.name: p.filename for p in u.parts}
    assert files.pop("profile") == "profile.pprof"
    assert files in ({}, {"sample_type_config": "sample_type_config.json"})
    assert bool(files) == (u.name != "process_cpu")
    if u.name == "memory":
        assert set(u.config) == {"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
    assert re.fullmatch(r"[0-9a-f]{16}", u.stored.session)
    assert set(u.labels) == {"__session_id__", "version", "hostname"}
    assert u.labels["version"].removeprefix("v").startswith(VERSION.split("+")[0])
    assert u.labels["hostname"]


def test_windows(fleet, pyroscope):
    """Two whole ones or more and what was left, from the start of the program on, under load."""
    peer = pyroscope()
    it = fleet(20, "-profiling-pyroscope", peer.url)
    data = status(it)
    assert data["enabled"] and data["pushing"] and data["server_address"] == peer.url
    assert data["sampler"]["opened_by"] == "flag"
    with load(it):
        peer.wait_uploads(2, "process_cpu", 60)
        peer.wait_uploads(2, "memory", 60)
        make_busy(it, 0.1)  # something to be left
    off(it)
    n = len(peer.named("process_cpu"))
    assert n >= 3 and names(peer.uploads) == sorted([*ALWAYS] * n)
    for u in peer.uploads:
        check_job(u)
        assert u.stored.time_ns <= int(u.query["until"]) + 10**9
    assert len({u.stored.session for u in peer.uploads}) == 1
    assert peer.store.type_ids(service_name="nl6") == MEMORY | {
        CPU, SAMPLES, GOROUTINES}
    for name in ALWAYS:
        spans = sorted(u.span for u in peer.named(name))
        for from_s, until_s in spans[:-1]:
            assert WINDOW_S - LATE_S < until_s - from_s < WINDOW_S + LATE_S
        assert all(abs(b[0] - a[1]) < 0.001 for a, b in zip(spans, spans[1:]))  # no gap
        assert spans[-1][1] - spans[-1][0] < WINDOW_S + LATE_S
    for kind in CPU, GOROUTINES:
        assert len(peer.query(kind, subsystem="snmp", service_name="nl6")) >= 2
        assert peer.query(kind, subsystem="bogus") == []
    assert peer.query("memory:alloc_space:bytes:space:bytes", subsystem="api")
    for u in peer.named("process_cpu")[:2]:
        assert WINDOW_S - LATE_S < u.profile.duration_ns / 1e9 < WINDOW_S + LATE_S


def test_rates_add_mutex_and_block(nl6, pyroscope):
    peer = pyroscope()
    it = nl6(*RATES)
    push_to(it, peer.url)
    for _ in range(20):
        it.get("/api/v1/status")
    off(it)
    assert names(peer.uploads) == sorted([*ALWAYS, "mutex", "block"])
    for u in peer.uploads:
        check_job(u)
    assert peer.query("block:contentions:count:contentions:count")
    assert {t for u in peer.uploads for t in u.stored.type_ids} >= {
        f"{name}:{t}:contentions:count" for name in ("mutex", "block")
        for t in ("contentions:count", "delay:nanoseconds")}


def used(it):
    """Seconds of the CPU that the program has used."""
    fields = open(f"/proc/{it.process.pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def make_busy(it, seconds):
    """GETBULKs as fast as they can be sent, until they have taken that much CPU; how much."""
    ask = message(pdu(GETBULK, [binding("1.3.6.1.2.1.2.2")], b=50))
    begun, end = used(it), time.monotonic() + 60 * SLOW
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((it.net.address(), it.snmp_port))
        while used(it) - begun < seconds:
            assert time.monotonic() < end
            for _ in range(50):
                s.send(ask)
    return used(it) - begun


def test_off_sends_what_is_left_and_answers_then(fleet, pyroscope):
    peer = pyroscope()
    it = fleet(5)
    push_to(it, peer.url)
    make_busy(it, 0.5)
    off(it)
    done = time.monotonic()
    assert names(peer.uploads) == sorted(ALWAYS)
    assert max(r.at for r in peer.requests) < done
    for name in ALWAYS:
        from_s, until_s = peer.named(name)[0].span
        assert 0.2 < until_s - from_s < 60 * SLOW
    assert peer.query(CPU, subsystem="snmp")[0] > 0
    time.sleep(1)
    assert len(peer.requests) == 3, "something came after it was off"


def test_the_cpu_in_a_window_is_what_the_process_used(fleet, pyroscope):
    peer = pyroscope()
    it = fleet(1, "-profiling-cpu-rate", "250")
    push_to(it, peer.url)
    took = make_busy(it, 2)
    off(it)
    assert peer.named("process_cpu")[0].query["sampleRate"] == "250"
    sampled = sum(peer.query(CPU, subsystem="snmp")) / 1e9
    if SLOW == 1:  # a sanitizer's own threads are not sampled
        assert 0.85 < sampled / took < 1.15, (sampled, took)


def test_what_the_status_tells(nl6, pyroscope):
    peer = pyroscope()
    it = nl6()
    assert "push" not in status(it)
    assert set(metrics(it).values()) == {0}
    data = push_to(it, peer.url)
    assert list(data)[-1] == "push" and "sdk_errors" not in data and "last_error" not in data
    assert [k for k in data if k in KEYS] == [k for k in KEYS if k in data]
    assert data["push"]["uploads"] == 0 and "last_upload_at" not in data["push"]
    before = time.time()
    peer.wait_uploads(3, seconds=40)
    data = until(20, lambda: (lambda d: d["push"]["uploads"] == 3 and d)(status(it)), "uploads")
    sent = sum(len(r.body) for r in peer.requests)
    assert 0 < data["push"]["bytes"] <= sent
    at = data["push"]["last_upload_at"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", at)
    counted = metrics(it)
    assert counted["nl6_push_uploads_total"] == 3
    assert counted["nl6_push_bytes_total"] == data["push"]["bytes"]
    assert before - 1 < counted["nl6_push_last_upload_timestamp_seconds"] < time.time() + 1
    assert counted["nl6_push_errors_total"] == counted["nl6_push_dropped_total"] == 0
    off(it)
    assert "push" not in status(it) and metrics(it)["nl6_push_uploads_total"] == 6


def test_a_push_has_its_own_session_and_counts(nl6, pyroscope):
    peer = pyroscope()
    its = nl6(), nl6()
    for it in its:
        for _ in range(2):
            assert push_to(it, peer.url)["push"]["uploads"] == 0
            off(it)
    sessions = [u.stored.session for u in peer.uploads]
    assert len(sessions) == 12 and len(set(sessions)) == 4
    assert metrics(its[0])["nl6_push_uploads_total"] == 6


def threads(it):
    return {open(f"/proc/{it.process.pid}/task/{t}/comm").read().strip()
            for t in os.listdir(f"/proc/{it.process.pid}/task")}


def connections(it):
    """Established TCP connections of the program to elsewhere than its own port."""
    out = set()
    for line in open(f"/proc/{it.process.pid}/net/tcp").readlines()[1:]:
        f = line.split()
        out.add((int(f[1].rpartition(":")[2], 16), int(f[2].rpartition(":")[2], 16), f[3]))
    return out


def test_nothing_of_it_exists_before_or_after(nl6, pyroscope):
    peer = pyroscope()
    it = nl6()
    pull_only(it)
    assert "profiling-push" not in threads(it)
    push_to(it, peer.url)
    until(20, lambda: "profiling-push" in threads(it), "thread of the uploads")
    pull_only(it)
    assert "profiling-push" not in threads(it)
    assert names(peer.uploads) == sorted(ALWAYS)
    assert [c for c in connections(it) if c[1] == peer.port and c[2] == "01"] == []


def test_a_scrape_of_cpu_is_refused_while_it_pushes(nl6, pyroscope):
    peer = pyroscope()
    it = nl6()
    push_to(it, peer.url)
    reply = it.get("/debug/pprof/profile?seconds=1")
    assert reply.status == 500
    assert reply.text == "Could not enable CPU profiling: cpu profiling already in use\n"
    for path in ("heap", "goroutine", "delta_heap", "heap?seconds=1"):
        assert it.get("/debug/pprof/" + path).status == 200
    pull_only(it)
    assert it.get("/debug/pprof/profile?seconds=1").status == 200
    assert "process_cpu" in names(peer.uploads) and "sdk_errors" not in status(it)


def test_shared_both_have_the_cpu(fleet, pyroscope):
    peer = pyroscope()
    it = fleet(5, "-profiling-share-cpu")
    pull_only(it)
    with load(it), concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(it.get, "/debug/pprof/profile?seconds=3")
        until(20, lambda: status(it)["sampler"]["sampling"], "sampling")
        push_to(it, peer.url)
        assert first.result().status == 200
        assert it.get("/debug/pprof/profile?seconds=2").status == 200
    assert "sdk_errors" not in status(it)
    off(it)
    assert peer.query(CPU, subsystem="snmp")


def test_a_window_that_finds_a_scrape_has_no_cpu_and_the_next_has(fleet, pyroscope):
    peer = pyroscope()
    it = fleet(1)
    pull_only(it)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        scrape = pool.submit(it.get, "/debug/pprof/profile?seconds=3")
        until(20, lambda: status(it)["sampler"]["sampling"], "sampling")
        data = push_to(it, peer.url)
        assert data["sdk_errors"] == 1
        assert "cpu profiling already in use" in data["last_error"]
        assert scrape.result().status == 200, "the scrape is not disturbed"
    peer.wait_uploads(2, seconds=40)
    until(20, lambda: it.get("/debug/pprof/profile?seconds=1").status == 500, "CPU of the push")
    time.sleep(1)
    data = status(it)
    assert data["sdk_errors"] == 1 and data["push"]["uploads"] >= 2
    off(it)
    assert names(peer.uploads) == sorted(["process_cpu", "memory", "goroutines"] +
                                         ["memory", "goroutines"])
    assert peer.named("process_cpu")[0].profile.duration_ns < 0.9 * WINDOW_S * 1e9
    assert it.stderr.count(f"[profiling] push to {peer.url} failing: ") == 1


def test_another_address_ends_the_old_push_first(nl6, pyroscope):
    one, two = pyroscope(), pyroscope()
    it = nl6()
    push_to(it, one.url)
    push_to(it, two.url)
    assert names(one.uploads) == sorted(ALWAYS), "not sent before the answer"
    assert two.requests == []
    off(it)
    assert len(one.uploads) == 3 and names(two.uploads) == sorted(ALWAYS)
    for name in ALWAYS:
        assert one.named(name)[0].span[1] <= two.named(name)[0].span[0] + 0.001
    log = it.stderr
    assert f"[profiling] on, pushing to {one.url} (was off)" in log
    assert f"[profiling] on, pushing to {two.url} (was on, pushing to {one.url}" in log


@pytest.mark.parametrize("spelling", ["{0}", "{0}/", "HTTP://127.0.0.1:{1}", None])
def test_the_same_address_does_nothing(nl6, pyroscope, spelling):
    peer = pyroscope()
    it = nl6()
    opened = push_to(it, peer.url)
    more = {"server_address": spelling.format(peer.url, peer.port)} if spelling else {}
    reply = turn(it, enabled=True, **more)
    assert reply.status == 200 and reply.data["pushing"] is True
    assert reply.data["sampler"]["opened_at"] == opened["sampler"]["opened_at"]
    assert reply.data["server_address"] == peer.url
    assert peer.requests == [] and "(unchanged)" in it.stderr
    off(it)
    assert len({u.stored.session for u in peer.uploads}) == 1 and len(peer.uploads) == 3


def test_a_path_of_the_address_is_kept(nl6, pyroscope):
    peer = pyroscope(base="/a/b")
    it = nl6()
    push_to(it, peer.url + "/")
    off(it)
    assert [r.path for r in peer.requests] == ["/a/b/ingest"] * 3


def test_a_timed_push_ends_by_itself_and_sends_its_rest(nl6, pyroscope):
    peer = pyroscope()
    it = nl6()
    data = push_to(it, peer.url, duration="300ms")
    assert data["revert_pending"] is True and data["revert_to"] is False
    until(20, lambda: not status(it)["enabled"], "revert")
    peer.wait_uploads(3)
    assert names(peer.uploads) == sorted(ALWAYS)
    # The other way: off for a while, and the push comes back to its address.
    push_to(it, peer.url)
    data = off(it, duration="200ms")
    assert data["revert_to"] is True and data["revert_to_address"] == peer.url
    until(20, lambda: status(it)["pushing"], "revert")
    off(it)
    assert len({u.stored.session for u in peer.uploads}) == 3


def test_the_end_of_the_program_sends_what_is_left(nl6, pyroscope):
    peer = pyroscope()
    it = nl6("-profiling-pyroscope", peer.url)
    it.signal(signal.SIGTERM)
    assert it.wait(FLUSH_S + 10) == 0
    assert names(peer.uploads) == sorted(ALWAYS)
    assert f"[profiling] off (was on, pushing to {peer.url}" in it.stderr
    assert "[shutdown]" in it.stderr


def test_a_server_that_is_down_does_not_stop_the_start(nl6, pyroscope):
    peer = pyroscope()
    peer.kill()
    it = nl6("-profiling-pyroscope", peer.url)
    assert status(it)["pushing"] is True
    assert off(it)["enabled"] is False
    assert metrics(it)["nl6_push_errors_total"] == 3


def test_force_gc_is_taken_and_has_no_effect(nl6):
    for value in ("true", "false"):
        it = nl6("-profiling-force-gc=" + value)
        warned = [x for x in it.stderr.splitlines() if "profiling-force-gc" in x]
        assert len(warned) == 1 and "garbage collector" in warned[0]


@pytest.mark.parametrize("tags, words", [
    (["a"], "not a label"), (["=b"], "not a label"), (["__a=b"], "not a label"),
    (["a b=c"], "not a label"), (["a-b=c"], "not a label"), (["a{=c"], "not a label"),
    (["a=b}"], ""), (["a={b"], ""), (["a="], "empty"), (["a=b\n"], ""), (["a=\x01"], ""),
    (["subsystem=x"], "subsystem"), (["a=b", "a=c"], "twice"),
    ([f"k{i}=v" for i in range(17)], "16"), (["a=" + "v" * 3000], ""),
])
def test_tags_that_are_refused(tags, words):
    done = run_once(*(x for t in tags for x in ("-profiling-tag", t)))
    assert done.returncode == 2 and "-profiling-tag" in done.stderr and words in done.stderr


def test_tags(nl6, pyroscope):
    peer = pyroscope()
    more = {f"k{i}.x_": f"v {i}" for i in range(13)}
    given = {"service_name": "lab-2", "version": "mine", "hostname": "h-1"} | more
    it = nl6(*(x for k, v in given.items() for x in ("-profiling-tag", f"{k}={v}")))
    push_to(it, peer.url)
    off(it)
    assert len(peer.uploads) == 3
    for u in peer.uploads:
        assert {k: v for k, v in u.labels.items() if k != "__session_id__"} == given
    assert peer.query(GOROUTINES, {"service_name": "lab-2", "k7.x_": "v 7"})
    assert peer.query(GOROUTINES, service_name="nl6") == []
