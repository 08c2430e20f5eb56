"""What threads wait for, told by a running nl6: mutex, block, offcpu, and the dump of threads."""

import concurrent.futures
import os
import re

from pprof_judge import PROFILE, decode, judge
from program import until
from test_gate import pull_only, turn
from test_pull import pprof
from test_truth import Load, names, tasks

SECONDS = 2


def off_cpu(it):
    profile = judge(pprof(it, f"offcpu?seconds={SECONDS}").body, "offcpu")
    took = profile.duration_ns
    assert SECONDS * 10**9 <= took < 2 * SECONDS * 10**9
    return profile, took


def test_idle_workers_wait_all_the_time(fleet):
    """Their waits began before the capture and go on after it."""
    it = fleet(10)
    pull_only(it)
    profile, took = off_cpu(it)
    workers = sum(1 for t in tasks(it) if (name := comm(it, t)) and name.startswith("snmp-"))
    waited = profile.total("delay", subsystem="snmp")
    assert 0.9 * workers * took < waited <= workers * took
    assert profile.total("contentions", subsystem="snmp") == workers
    assert all(s.labels.get("subsystem") for s in profile.samples)
    assert not any("gate_run" in names(s) for s in profile.samples)
    # Readers name a profile by its first mapping: the program, though each leaf is in libc.
    raw = decode(profile.raw, PROFILE)
    assert os.path.basename(raw.string_table[raw.mapping[0].filename]) == b"nl6"


def comm(it, task):
    try:
        with open(f"/proc/{it.process.pid}/task/{task}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def test_busy_workers_wait_less_and_more_often(fleet):
    it = fleet(10)
    pull_only(it)
    workers = sum(1 for t in tasks(it) if comm(it, t).startswith("snmp-"))
    with Load(it):
        profile, took = off_cpu(it)
    snmp = [s for s in profile.samples if s.labels.get("subsystem") == "snmp"]
    assert profile.total("contentions", subsystem="snmp") > 10 * workers
    assert profile.total("delay", subsystem="snmp") <= workers * took
    assert any("wait_epoll" in names(s) and "worker_run" in names(s) for s in snmp)
    # Nothing of a capture stays in the next.
    assert off_cpu(it)[0].total("contentions", subsystem="snmp") <= 3 * workers


def test_one_capture_of_waits_at_a_time(fleet):
    it = fleet(10)
    pull_only(it)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(pprof, it, "offcpu?seconds=2")
        until(20, lambda: it.get("/api/v1/profiling").data["sampler"]["captures"], "capture")
        assert pprof(it, "offcpu?seconds=1").status == 500
        judge(asked.result().body, "offcpu")


def test_waits_add_up_until_the_gate_closes(fleet):
    it = fleet(10, "-profiling-mutex-fraction", "1", "-profiling-block-rate", "1")
    for _ in range(2):
        pull_only(it)
        assert judge(pprof(it, "block").body, "block").total("contentions") < 20
        before = 0
        for i in range(3):
            for k in range(20):
                it.get("/api/v1/devices")
            assert it.create(1, first=100).status == 201
            assert it.request("DELETE", "/api/v1/devices/" + it.net.address(100)).status == 200
            now = until(30, lambda: more(it, before), "waits")
            assert now > before
            before = now
        assert turn(it, enabled=False).status == 200


def more(it, than):
    count = judge(pprof(it, "block").body, "block").total("contentions")
    return count if count > than else 0


def test_a_dump_tells_what_each_thread_waits_in(fleet):
    it = fleet(10)
    pull_only(it)

    def waiting():
        text = pprof(it, "goroutine?debug=2").text
        blocks = dict(re.findall(r"^goroutine (\d+) (\[.*?)\n\n", text, re.M | re.S))
        assert {int(t) for t in blocks} == tasks(it)
        snmp = [b for b in blocks.values() if "\n# thread: snmp-" in b]
        queue = [b for b in blocks.values() if b.startswith("[queue wait")]
        if not (snmp and queue and all(b.startswith("[epoll_wait") for b in snmp)):
            return None
        return snmp, queue

    snmp, queue = until(20, waiting, "waiting threads")
    assert len(snmp) == os.cpu_count()
    for b in snmp:
        assert '\n# labels: {"subsystem":"snmp"}\n' in b
        assert re.search(r"\nworker_run\(\.\.\.\)\n\t\S+:\d+ \+0x[0-9a-f]+\n", b)
        assert re.search(r"\ncreated by \w+\n\t\S+:\d+ \+0x[0-9a-f]+$", b)
    assert all("\nqueue_take(...)\n" in b for b in queue)
