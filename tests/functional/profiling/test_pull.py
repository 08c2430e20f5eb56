"""/debug/pprof/: paths, headers, statuses and bodies as Go's net/http/pprof serves them."""

import concurrent.futures
import http.client
import re
import socket
import subprocess
import threading
import time

import pytest

from pprof_judge import judge
from program import NL6, SLOW, until
from test_gate import pull_only, turn

NAMED = ["allocs", "block", "goroutine", "heap", "mutex", "threadcreate"]
DELTAS = {"delta_heap": "heap.pprof.gz", "delta_block": "block.pprof.gz",
          "delta_mutex": "mutex.pprof.gz"}
IN_USE = "Could not enable CPU profiling: cpu profiling already in use\n"


@pytest.fixture
def opened(fleet):
    it = fleet(10)
    pull_only(it)
    return it


def pprof(it, path, method="GET", body=None, timeout=60):
    reply = it.request(method, "/debug/pprof/" + path, body, timeout=timeout)
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    if reply.status == 200 and method != "HEAD" and \
            reply.headers["Content-Type"] == "application/octet-stream":
        judge(reply.body)
    return reply


def is_profile(reply, file):
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{file}"'
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    return judge(reply.body).raw


def is_refusal(reply, status, text):
    assert (reply.status, reply.text) == (status, text + "\n")
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.headers["X-Go-Pprof"] == "1" and "Content-Disposition" not in reply.headers


def test_closed_every_path_is_503(nl6):
    it = nl6()
    paths = ["", "profile", "profile?seconds=99", "profile?seconds=x", "symbol?0x1", "cmdline",
             "trace", "offcpu", "nothing", "a/b", "heap?debug=1&seconds=-1",
             "heap?%zz", "heap?a=1&a=2", *NAMED, *DELTAS]
    for path in paths:
        for method in "GET", "POST", "PUT", "DELETE", "PATCH":
            reply = pprof(it, path, method)
            assert reply.status == 503, path
            body = reply.json
            assert body["success"] is False
            for words in ("profiling is off; ", "POST /api/v1/profiling", '{"enabled":true}',
                          "server_address", "-profiling-pyroscope"):
                assert words in body["message"]
    connection = http.client.HTTPConnection(it.url.removeprefix("http://"), timeout=60 * SLOW)
    connection.putrequest("POST", "/debug/pprof/symbol")
    connection.putheader("Content-Length", str(1 << 30))
    connection.endheaders()
    assert connection.getresponse().status == 503  # before the body, whatever its size
    connection.close()
    for path in ("/api/v1/debug/pprof-memory", "/api/v1/debug/cpu-profile"):
        assert it.get(path).status == 404


def test_the_bare_path_redirects(nl6):
    it = nl6()
    for _ in range(2):
        reply = it.get("/debug/pprof")
        assert reply.status == 301 and reply.headers["Location"] == "/debug/pprof/"
        pull_only(it)


def test_index_and_unknown(opened):
    reply = pprof(opened, "")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<title>/debug/pprof/</title>" in reply.text
    listed = re.findall(r'<a href="(\w+)\?debug=1">(\w+)</a>', reply.text)
    assert [a for a, _ in listed] == [b for _, b in listed] == NAMED
    assert "goroutine?debug=2" in reply.text
    for path in ("cmdline", "nothing", "heap/x", "Heap", "heap/"):
        is_refusal(pprof(opened, path), 404, "Unknown profile")


@pytest.mark.parametrize("name", NAMED)
def test_named_profiles(opened, name):
    assert is_profile(pprof(opened, name), name)
    assert is_profile(pprof(opened, name + "?debug=0&gc=1&other=x"), name)
    assert is_profile(pprof(opened, name + "?seconds="), name)
    assert is_profile(pprof(opened, name + "?seconds=1"), name + "-delta")
    for seconds in ("0", "-1", "x", "1.5", "1s"):
        is_refusal(pprof(opened, f"{name}?seconds={seconds}"), 400,
                   'invalid value for "seconds" - must be a positive integer')
    is_refusal(pprof(opened, name + "?seconds=30"), 400,
               "profile duration exceeds server's WriteTimeout")
    is_refusal(pprof(opened, name + "?seconds=1&debug=1"), 400,
               "seconds and debug params are incompatible")


@pytest.mark.parametrize("name", NAMED)
def test_text_forms(opened, name):
    reply = pprof(opened, name + "?debug=1")
    assert reply.status == 200 and "Content-Disposition" not in reply.headers
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    first = {"goroutine": r"goroutine profile: total \d+", "heap": r"heap profile: .*@ heap/\d+",
             "threadcreate": r"threadcreate profile: total \d+",
             "allocs": r"heap profile: .*@ heap/\d+",
             "block": r"--- contention:", "mutex": r"--- mutex:"}[name]
    assert re.match(first, reply.text), reply.text[:200]


@pytest.mark.parametrize("name", DELTAS)
def test_deltas(opened, name):
    assert is_profile(pprof(opened, name), DELTAS[name])
    assert is_profile(pprof(opened, name + "?gc=1"), DELTAS[name])


def test_cpu_profile_is_that_long(opened):
    begun = time.monotonic()
    raw = is_profile(pprof(opened, "profile?seconds=1"), "profile")
    assert time.monotonic() - begun >= 1
    assert b"cpu" in raw and b"nanoseconds" in raw
    for query in ("", "?seconds=30", "?seconds=0", "?seconds=x", "?seconds=-3", "?seconds=99999999"):
        is_refusal(pprof(opened, "profile" + query), 400,
                   "profile duration exceeds server's WriteTimeout")


def test_a_second_cpu_profile_is_refused(opened):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(pprof, opened, "profile?seconds=3")
        until(20, lambda: opened.get("/api/v1/profiling").data["sampler"]["captures"], "capture")
        second = pprof(opened, "profile?seconds=1")
        is_refusal(second, 500, IN_USE[:-1])
        # Others go on beside it, and so does the rest of the API.
        assert is_profile(pprof(opened, "goroutine"), "goroutine")
        assert opened.get("/api/v1/status").status == 200
        is_profile(first.result(), "profile")
    is_profile(pprof(opened, "profile?seconds=1"), "profile")


def test_shared_cpu_profiles_all_succeed(fleet):
    it = fleet(10, "-profiling-share-cpu")
    pull_only(it)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(pprof, it, "profile?seconds=2") for _ in range(16)]
        for a in asked:
            is_profile(a.result(), "profile")
    assert time.monotonic() - begun < 16  # not one after the other


def test_a_client_that_leaves_ends_its_profile(opened):
    host = opened.url.removeprefix("http://")
    with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as s:
        s.sendall(f"GET /debug/pprof/profile?seconds=29 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        status = lambda: opened.get("/api/v1/profiling").data["sampler"]  # noqa: E731
        until(20, lambda: status()["sampling"], "sampling")
    until(20, lambda: not status()["sampling"] and not status()["captures"], "end of sampling")
    is_profile(pprof(opened, "profile?seconds=1"), "profile")


def test_a_gate_that_closes_ends_the_profile_with_what_there_is(opened):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(pprof, opened, "profile?seconds=29")
        until(20, lambda: opened.get("/api/v1/profiling").data["sampler"]["sampling"], "sampling")
        assert turn(opened, enabled=False).status == 200
        raw = is_profile(asked.result(timeout=15 * SLOW), "profile")
    assert b"ended early: the gate was closed" in raw
    assert pprof(opened, "heap").status == 503


def test_symbols(opened):
    out = subprocess.run(["nm", NL6], check=True, capture_output=True, text=True).stdout
    offset = int(re.search(r"^(\w+) T main$", out, re.M)[1], 16)
    maps = open(f"/proc/{opened.process.pid}/maps").read()
    base = int(re.search(rf"^(\w+)-\w+ r--p 00000000 .*{re.escape(str(NL6))}$", maps, re.M)[1], 16)
    pc = base + offset
    assert pprof(opened, "symbol").text == "num_symbols: 1\n"
    want = f"num_symbols: 1\n{pc:#x} main\n"
    for reply in (pprof(opened, f"symbol?{pc:#x}"), pprof(opened, f"symbol?{pc}"),
                  pprof(opened, f"symbol?0x1+{pc:#x}+junk++0xzz"),
                  pprof(opened, "symbol", "POST", f"{pc:#x}+0x1")):
        assert reply.status == 200 and reply.text == want
        assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    many = "+".join(f"{pc + i:#x}" for i in range(3000))
    assert pprof(opened, "symbol", "POST", many).text.count("\n") > 5
    assert pprof(opened, "symbol", "POST", b"\xff\x00" * 100).text == "num_symbols: 1\n"


def test_trace(opened):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(pprof, opened, "trace?seconds=2.5")
        until(20, lambda: opened.get("/api/v1/profiling").data["sampler"]["captures"], "capture")
        is_refusal(pprof(opened, "trace"), 500,
                   "Could not enable tracing: tracing is already enabled")
        reply = first.result()
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/json"
    assert reply.headers["Content-Disposition"] == 'attachment; filename="trace.json"'
    events = reply.json["traceEvents"]
    names = {e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    assert {"main", "profiling-0", "profiling-1"} <= names
    is_refusal(pprof(opened, "trace?seconds=30"), 400,
               "profile duration exceeds server's WriteTimeout")
    assert pprof(opened, "trace?seconds=-1").status == 200  # as 1, like what is no number


def test_a_gate_that_closes_ends_a_trace(opened):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(pprof, opened, "trace?seconds=29")
        until(20, lambda: opened.get("/api/v1/profiling").data["sampler"]["captures"], "capture")
        assert turn(opened, enabled=False).status == 200
        assert asked.result(timeout=15 * SLOW).json["traceEvents"]


def test_head_and_http_1_0(opened):
    connection = http.client.HTTPConnection(opened.url.removeprefix("http://"), timeout=60 * SLOW)
    connection.request("HEAD", "/debug/pprof/goroutine")
    reply = connection.getresponse()
    assert reply.status == 200 and reply.read() == b""
    assert reply.headers["Content-Type"] == "application/octet-stream"
    connection.close()


def test_clients_come_and_go_while_it_opens_and_closes(opened):
    """Nothing but the documented answers, whatever the order; the program lives on."""
    stop = threading.Event()
    seen = set()

    def scrape(path):
        while not stop.is_set():
            seen.add((path, pprof(opened, path).status))

    paths = ["goroutine", "heap", "profile?seconds=1", "delta_heap", "symbol?0x1", "",
             "trace?seconds=0.1", "offcpu?seconds=1", "heap?seconds=1"]
    with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
        running = [pool.submit(scrape, p) for p in paths]
        for i in range(30):
            assert turn(opened, enabled=bool(i % 2), **({"server_address": ""} if i % 2 else {})
                        ).status == 200
        stop.set()
        for r in running:
            r.result()
    assert {status for _, status in seen} <= {200, 503}
