"""The gate: GET and POST /api/v1/profiling, word for word where the contract pins words."""

import concurrent.futures
import json
import os
import re
import signal
import threading

import pytest

from program import FULL, SLOW, has_a_watcher, run_once, until

GATE = "/api/v1/profiling"
CLOSED = ('{"success":true,"message":"Success","data":{"enabled":false,"startup_flag":"",'
          '"server_address":"","pushing":false,"pprof_path":"/debug/pprof/",'
          '"revert_pending":false}}\n')
KEYS = ["enabled", "startup_flag", "server_address", "pushing", "sdk_errors", "last_error",
        "pprof_path", "revert_pending", "revert_at", "revert_to", "revert_to_address", "sampler"]


def turn(it, **body):
    return it.request("POST", GATE, body)


def pull_only(it, **more):
    reply = turn(it, enabled=True, server_address="", **more)
    assert reply.status == 200, reply.text
    return reply.data


def keys_are_in_order(data):
    assert list(data) == [k for k in KEYS if k in data]


def test_closed_at_start(nl6):
    it = nl6()
    reply = it.request("GET", GATE)
    assert reply.status == 200 and reply.text == CLOSED
    assert it.request("DELETE", GATE).status == 405


def test_open_and_close(nl6):
    it = nl6()
    data = pull_only(it)
    keys_are_in_order(data)
    assert data["enabled"] is True and data["pushing"] is False
    assert data["sampler"]["opened_by"] == "rest"
    assert re.fullmatch(r"127\.0\.0\.1:\d+", data["sampler"]["opened_from"])
    assert data["sampler"]["threads_unarmed"] == 0
    assert it.request("GET", GATE).data["enabled"] is True
    assert turn(it, enabled=False).text == CLOSED
    assert it.request("GET", GATE).text == CLOSED
    log = it.stderr
    assert "[profiling] on (pull-only: " in log and "(was off)" in log
    assert "[profiling] off (was on (pull-only" in log


@pytest.mark.parametrize("body, words", [
    ("{}", '\\"enabled\\" is required'),
    ('{"enabled":null}', '\\"enabled\\" is required'),
    ('{"enabled":1}', "enabled: is not true or false"),
    ('{"enabled":false,"server_address":""}', "only meaningful with enabled:true"),
    ('{"enabled":false,"server_address":"http://x"}', "only meaningful with enabled:true"),
    ('{"enabled":true,"more":1}', "more"),
    ('{"enabled":true} {}', "unexpected content"),
    ('{"enabled":true}x', "unexpected content"),
    ('{"enabled":true,"enabled":false}', "enabled"),
    ('[]', "object"),
    ('', "body"),
    ('{"enabled":true,"duration":"soon"}', "invalid duration"),
    ('{"enabled":true,"duration":""}', "invalid duration"),
    ('{"enabled":true,"duration":"30"}', "invalid duration"),
    ('{"enabled":true,"duration":"0s"}', "must be positive"),
    ('{"enabled":true,"duration":"-5m"}', "must be positive"),
    ('{"enabled":true,"duration":"24h1s"}', "exceeds maximum"),
    ('{"enabled":true,"duration":"9999999h"}', "exceeds maximum"),
    ('{"enabled":true,"server_address":"pyroscope:4040"}', "must use http:// or https://"),
    ('{"enabled":true,"server_address":"ftp://x"}', "must use http:// or https://"),
    ('{"enabled":true,"server_address":"unix:///x"}', "must use http:// or https://"),
    ('{"enabled":true,"server_address":"://x"}', "not a URL"),
    ('{"enabled":true,"server_address":"http://a b"}', "not a URL"),
    ('{"enabled":true,"server_address":"http://h:99999"}', "not a URL"),
    ('{"enabled":true,"server_address":"http://"}', "no host"),
    ('{"enabled":true,"server_address":"http://:80"}', "no host"),
    ('{"enabled":true,"server_address":"http://u:geheim@h"}',
     "must not embed credentials; use -profiling-pyroscope-basic-auth"),
    ('{"enabled":true,"server_address":"http://h/?a=b"}', "query or fragment"),
    ('{"enabled":true,"server_address":"http://h/#f"}', "query or fragment"),
])
def test_what_makes_no_sense_is_refused(nl6, body, words):
    it = nl6()
    reply = it.request("POST", GATE, body)
    assert reply.status == 400 and words in reply.text
    assert reply.json["success"] is False and "geheim" not in reply.text + it.stderr
    assert it.request("GET", GATE).text == CLOSED


def test_a_body_over_4_kib_is_refused(nl6):
    it = nl6()
    reply = it.request("POST", GATE, '{"enabled":true}' + " " * 4096)
    assert reply.status == 413
    assert it.request("GET", GATE).text == CLOSED


def test_a_push_that_cannot_start_leaves_the_gate_open(nl6):
    it = nl6(env={"PYROSCOPE_ADHOC_SERVER_ADDRESS": "http://127.0.0.1:2"})
    reply = turn(it, enabled=True, server_address="http://127.0.0.1:1")
    assert reply.status == 500
    body = reply.json
    assert body["success"] is False
    assert body["message"].startswith(
        "profiling enabled but the push to http://127.0.0.1:1 could not start: ")
    data = body["data"]
    keys_are_in_order(data)
    assert data["enabled"] is True and data["pushing"] is False and data["last_error"]
    assert it.request("GET", "/debug/pprof/goroutine").status == 200
    # Absent: nothing is pushing and there is no flag, so pull-only; the error is over.
    assert "last_error" not in turn(it, enabled=True).data
    assert "; push NOT started: " in it.stderr


def test_the_flag_opens_it(nl6):
    it = nl6("-profiling-pyroscope", "http://127.0.0.1:1")
    data = it.request("GET", GATE).data
    assert data["enabled"] is True and data["startup_flag"] == "http://127.0.0.1:1"
    assert data["server_address"] == "http://127.0.0.1:1" and data["pushing"] is True
    assert data["sampler"]["opened_by"] == "flag" and "opened_from" not in data["sampler"]
    assert it.request("GET", "/debug/pprof/heap").status == 200
    # Pull-only is asked for by name; without an address the flag's is taken again.
    data = pull_only(it)
    assert data["server_address"] == "" and data["pushing"] is False
    data = turn(it, enabled=True).data
    assert data["server_address"] == "http://127.0.0.1:1" and data["pushing"] is True


@pytest.mark.parametrize("address, words", [
    ("pyroscope:4040", "must use http:// or https://"), ("http://", "no host"),
    ("http://u:geheim@h", "must not embed credentials"), ("http://h/?a=b", "query or fragment"),
])
def test_the_flag_is_judged_alike(nl6, address, words):
    done = run_once("-profiling-pyroscope", address)
    assert done.returncode == 2
    assert words in done.stderr and "geheim" not in done.stderr


def test_the_foreign_variable(nl6):
    foreign = {"PYROSCOPE_ADHOC_SERVER_ADDRESS": ""}
    it = nl6(env=foreign)
    assert pull_only(it)["enabled"] is True
    reply = turn(it, enabled=True, server_address="http://127.0.0.1:1")
    assert reply.status == 500
    assert "PYROSCOPE_ADHOC_SERVER_ADDRESS" in reply.json["data"]["last_error"]
    done = run_once("-profiling-pyroscope", "http://127.0.0.1:1", env=foreign)
    assert done.returncode == 2 and "PYROSCOPE_ADHOC_SERVER_ADDRESS" in done.stderr


def test_it_reverts_once(nl6):
    it = nl6()
    data = pull_only(it, duration="300ms")
    assert data["revert_pending"] is True and data["revert_to"] is False
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", data["revert_at"])
    until(20, lambda: it.request("GET", GATE).text == CLOSED, "revert")
    until(20, lambda: "[auto-revert after 300ms]" in it.stderr, "line of the log")
    assert it.stderr.count("[auto-revert after 300ms]") == 1
    assert ", auto-reverting in 300ms" in it.stderr


def test_a_chain_of_timed_turns_keeps_the_first_target(nl6):
    it = nl6()
    pull_only(it, duration="1h")
    data = pull_only(it, duration="2h")
    assert data["revert_to"] is False
    # The other way is a chain of its own, which goes back to what was then.
    data = turn(it, enabled=False, duration="200ms").data
    assert data["enabled"] is False and data["revert_to"] is True
    got = until(20, lambda: (lambda d: d["enabled"] and d)(it.request("GET", GATE).data), "revert")
    assert got["sampler"]["opened_by"] == "revert" and got["revert_pending"] is False
    # Without a time it is for good.
    assert pull_only(it, duration="1h")["revert_pending"] is True
    assert pull_only(it)["revert_pending"] is False


def test_the_target_of_a_revert_has_its_address(nl6):
    it = nl6("-profiling-pyroscope", "http://127.0.0.1:1")
    data = turn(it, enabled=False, duration="1h").data
    assert data["revert_to"] is True and data["revert_to_address"] == "http://127.0.0.1:1"
    keys_are_in_order(data)


def test_an_end_while_open_is_an_orderly_one(nl6):
    it = nl6()
    pull_only(it)
    it.signal(signal.SIGTERM)
    assert it.wait() == 0
    assert "[profiling] off (was on (pull-only" in it.stderr and "[shutdown]" in it.stderr


def traces(pid):
    """What a closed gate must leave no trace in: threads, descriptors, timers, mappings."""
    at = f"/proc/{pid}"
    maps = [line.split() for line in open(f"{at}/maps")]
    return {
        "threads": len(os.listdir(f"{at}/task")),
        "descriptors": len(os.listdir(f"{at}/fd")),
        "timers": open(f"{at}/timers").read(),
        "files": sorted({m[5] for m in maps if len(m) > 5}),
        "mappings": len(maps),
    }


def anonymous_kb(it):
    text = open(f"/proc/{it.process.pid}/smaps_rollup").read()
    return int(re.search(r"^Anonymous:\s+(\d+)", text, re.M)[1])


def test_closed_is_nothing(nl6):
    """After a thousand cycles (fewer with a sanitizer, unless all is asked for) there is as much as
    before the first. The kernel's view decides."""
    it = nl6()
    assert it.get(GATE).status == 200  # and every thread of the API has begun
    before, memory = traces(it.process.pid), anonymous_kb(it)
    for i in range(1000 if FULL or SLOW == 1 else 40 if has_a_watcher() else 100):
        pull_only(it)
        if i % 50 == 0:
            assert it.get("/debug/pprof/heap").status == 200
        assert turn(it, enabled=False).status == 200
    until(20, lambda: traces(it.process.pid)["threads"] == before["threads"], "end of threads")
    after = traces(it.process.pid)
    # A keep-alive connection of the API may come and go; libc keeps an arena for each of the two
    # threads, as address space, and their stacks for the next ones. A sanitizer keeps all.
    assert abs(after.pop("descriptors") - before.pop("descriptors")) <= 1
    mappings = after.pop("mappings") - before.pop("mappings")
    assert after == before
    if SLOW == 1:
        assert mappings <= 12
        assert anonymous_kb(it) - memory <= 768, "kB of memory are left behind"


def test_the_status_fits_its_description_at_every_moment(nl6):
    """Each answer is held against docs/openapi.json, while the gate turns."""
    it = nl6()
    done = threading.Event()

    def ask():
        while not done.is_set():
            data = it.get(GATE).data
            assert ("sampler" in data) == data["enabled"]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        for _ in range(10 if has_a_watcher() and not FULL else 40):
            pull_only(it)
            assert turn(it, enabled=False).status == 200
        done.set()
        for a in asking:
            a.result()


def test_many_turns_at_once_are_one_after_the_other(nl6):
    it = nl6()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(turn, it, enabled=bool(i % 2)) for i in range(40)]
        for i, a in enumerate(asked):
            reply = a.result()
            assert reply.status == 200 and reply.data["enabled"] is bool(i % 2)
            assert ("sampler" in reply.data) is bool(i % 2)
    json.loads(it.request("GET", GATE).text)
