"""The server itself: methods, limits, slow and rude clients."""

import json
import socket
import threading
import time

from program import SLOW, until
from raw import Raw, ask, drip

GET = "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def counter(it, owner, name):
    return it.get("/api/v1/status").data["counters"][owner][name]


def test_methods(nl6, net):
    it = nl6()
    head, get = it.request("HEAD", "/api/v1/version"), it.get("/api/v1/version")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(get.body))
    assert get.headers["Cache-Control"] == "private, max-age=3600"
    assert list(get.json) == ["version"]
    for method in ("PUT", "PATCH", "DELETE", "BREW"):
        reply = it.request(method, "/api/v1/version")
        assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    reply = it.request("OPTIONS", "/api/v1/devices")
    assert (reply.status, reply.headers["Allow"]) == (204, "GET, HEAD, POST, DELETE, OPTIONS")
    # A streamed answer to HEAD has no body either, and the connection stays in step.
    raw = Raw(it).send("HEAD /api/v1/devices HTTP/1.1\r\nHost: x\r\n\r\n".replace("x", "localhost"))
    got = raw.rest()
    assert got.startswith(b"HTTP/1.") and got.endswith(b"\r\n\r\n") and got.count(b"\r\n\r\n") == 1


def test_paths(nl6):
    it = nl6()
    assert it.get("/health").text == "OK"
    for path in ("/nothing", "/api/v1/devices/", "//api/v1/devices", "/API/v1/devices", "/api/v1",
                 "/web/../src/main.c", "/web/%2e%2e/VERSION", "/web/js/..%2findex.html"):
        reply = it.get(path)
        assert (reply.status, reply.json["success"]) == (404, False)
    for path in ("/%", "/%zz", "/%00", "/api/v1/devices/%0a", "/%ff", "/api/v1/devices?limit=%",
                 "/api/v1/devices?limit=1&limit=2", "/api/v1/status?x=1"):
        assert it.get(path).status == 400
    for path, word in (("/api/v1/traps/status", "traps"), ("/api/v1/scenarios", "scenarios"),
                       ("/api/v1/devices/127.0.0.1/trap", "traps"),
                       ("/api/v1/topology/graph", "topology")):
        reply = it.get(path)
        assert (reply.status, reply.json["message"]) == (404, f"not in this build: {word}")
    page = it.get("/")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert it.get("/ui").body == page.body
    assert it.get("/", headers={"If-None-Match": page.headers["ETag"]}).status == 304


def test_old_and_odd_clients(nl6):
    it = nl6("-api-receive-timeout", "1s")
    status, head, body = ask(it, "GET /api/v1/version HTTP/1.0\r\n\r\n")
    assert status == 200 and "version" in json.loads(body)
    # HTTP/1.0 knows no chunks: the list ends with the connection.
    status, head, body = ask(it, "GET /api/v1/devices HTTP/1.0\r\n\r\n")
    assert status == 200 and "chunked" not in head.lower() and json.loads(body)["data"] == []
    raw = Raw(it).send(GET.format("/health").replace("close", "keep-alive") * 9 + GET.format("/health"))
    assert raw.rest().count(b"HTTP/1.1 200 OK") == 10
    chunked = ("POST /api/v1/resources/reload HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
    assert ask(it, chunked)[0] == 200
    for nonsense in ("\r\n\r\n", "\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET /health HTTP/9.9\r\n\r\n",
                     "GET /health HTTP/1.1\r\nHost\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"):
        raw = Raw(it).send(nonsense)
        raw.sock.shutdown(1)
        assert not raw.rest().startswith(b"HTTP/1.1 200")
        raw.close()
    assert it.get("/health").status == 200


def test_bodies_are_limited(nl6):
    it = nl6()
    post = "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n"
    assert it.post("/api/v1/resources/reload", "x" * 4097).status == 413
    assert it.request("DELETE", "/api/v1/devices", "{}").status == 413
    # What is far too much is refused before it is sent, and so is what waits for our word.
    for size, more in ((1 << 40, ""), (65537, "Expect: 100-continue\r\n")):
        status, _, body = ask(it, post.format("/api/v1/devices", size, more))
        assert (status, json.loads(body)["detail"]["code"]) == (413, "EFBIG")
    endless = ("POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
               + "8000\r\n" + "x" * 0x8000 + "\r\n")
    raw = Raw(it).send(endless)
    try:
        for _ in range(100):
            raw.send("8000\r\n" + "x" * 0x8000 + "\r\n")
            time.sleep(0.01)
        raise AssertionError("an endless body is read for ever")
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert ask(it, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + "x" * 40000 + "\r\n\r\n")[0] == 431


def test_slow_senders_are_cut_and_hold_nobody_up(nl6, net):
    it = nl6("-api-receive-timeout", "2s")
    slow = [lambda: drip(it, "G", "E"),
            lambda: drip(it, "GET /health HTTP/1.1\r\nX: "),
            lambda: drip(it, "POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Length: 60000\r\n\r\n")]
    took = []
    threads = [threading.Thread(target=lambda f=f: took.append(f())) for f in slow * 10]
    for t in threads:
        t.start()
    waits = []
    while any(t.is_alive() for t in threads):
        began = time.monotonic()
        assert it.get("/health").status == 200
        waits.append(time.monotonic() - began)
    for t in threads:
        t.join()
    assert len(took) == 30 and min(took) > 1
    # Each was served while thirty dripped; none waited for one of them to be cut.
    assert max(waits) < min(took)
    assert counter(it, "watch", "receive_timeouts") == 30
    until(10, lambda: counter(it, "watch", "connections") <= 1, "end of the others")


def test_idle_connections_are_closed(nl6):
    it = nl6("-api-idle-timeout", "2s", "-api-receive-timeout", "1s")
    ask_ = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    idle, late = Raw(it).send(ask_), Raw(it).send(ask_)
    assert idle.sock.recv(4096).endswith(b"OK") and late.sock.recv(4096).endswith(b"OK")
    # A next request that begins has the time of a request, not that of an idle connection.
    late.send("GET /hea")
    began = time.monotonic()
    assert late.rest() == b""
    cut = time.monotonic() - began
    assert idle.rest() == b""
    assert cut < time.monotonic() - began
    assert (counter(it, "watch", "idle_timeouts"), counter(it, "watch", "receive_timeouts")) == (1, 1)


def test_slow_readers_are_cut_and_hold_nobody_up(nl6, net):
    it = nl6("-api-send-timeout", "1s")
    it.create(60000, round_robin=True)
    raws = [Raw(it, receive_buffer=4096).send(GET.format("/api/v1/devices")) for _ in range(5)]
    # The buffers fill; from then on the deadline runs.
    until(60, lambda: counter(it, "watch", "send_timeouts") == 5, "end of the slow readers")
    assert it.get("/api/v1/devices?limit=1").json["page"]["total"] == 60000
    for raw in raws:
        assert not raw.rest().endswith(b"0\r\n\r\n")


def test_a_slow_but_steady_reader_is_not_cut(nl6, net):
    it = nl6("-api-send-timeout", "1s")
    it.create(4000)
    raw = Raw(it, receive_buffer=65536).send(GET.format("/api/v1/devices"))
    got = b""
    while more := raw.sock.recv(16384):  # about 300 KB a second
        got += more
        time.sleep(0.05)
    assert got.endswith(b"\r\n0\r\n\r\n") and len(got) > 1 << 20


def test_connections_are_limited(nl6):
    it = nl6("-api-connections", "8", "-api-connections-per-address", "4")
    held = []
    for _ in range(4):
        raw = Raw(it).send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.sock.recv(4096).startswith(b"HTTP/1.1 200")
        held.append(raw)
    assert ask(it, GET.format("/health"))[0] == 0
    for raw in held:
        raw.close()
    until(10, lambda: ask(it, GET.format("/health"))[0] == 200, "free place")


def test_a_client_that_leaves_does_not_stop_the_work(nl6, net):
    it = nl6()
    body = json.dumps({"start_ip": net.address(), "device_count": 60000, "round_robin": True,
                       "snmp_port": it.snmp_port})
    for k in range(20):
        raw = Raw(it).send(f"POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}")
        raw.close()
    until(60, lambda: it.get("/api/v1/devices?limit=1").json["page"]["total"] == 60000, "fleet")
    until(10, lambda: counter(it, "watch", "connections") <= 1, "end of the connections")


def test_clients_that_leave_within_a_body_make_room(nl6):
    it = nl6("-api-receive-timeout", "1h")
    head = "POST /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n"
    for k in range(50):
        raw = Raw(it).send(head)
        until(10, lambda: counter(it, "watch", "connections") <= 2, "place")
        raw.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        raw.send("{").close()  # together with the end
    until(10, lambda: counter(it, "watch", "connections") <= 1, "end of the connections")


def test_stopping_answers_who_waits(nl6, net):
    it = nl6()
    it.create(1000)
    done = []
    threads = [threading.Thread(target=lambda: done.append(
        Raw(it).send(GET.format("/api/v1/devices")).rest())) for _ in range(4)]
    for t in threads:
        t.start()
    it.stop()
    for t in threads:
        t.join(30 * SLOW)
    assert len(done) == 4


def test_a_long_list_needs_no_memory(nl6, net):
    it = nl6()
    it.create(64000, round_robin=True)
    it.get("/api/v1/devices?limit=1")

    def anonymous():
        return it.get("/api/v1/system-stats").data["process"]["anonymous_bytes"]

    before, most = anonymous(), 0
    raw = Raw(it, receive_buffer=1 << 20).send(GET.format("/api/v1/devices"))
    size = 0
    while more := raw.sock.recv(1 << 20):
        size += len(more)
        if size % 7 == 0:
            most = max(most, anonymous())
    most = max(most, anonymous())
    assert size > 20 << 20
    assert most - before < size / 2


def test_metrics_parse(fleet):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as plain
    it = fleet(10)
    reply = it.get("/metrics")
    assert reply.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    families = {f.name: f for f in openmetrics(reply.text)}
    assert families["nl6_fleet_devices"].samples[0].value == 10
    assert families["nl6_http_requests"].type == "counter"
    assert families["process_cpu_seconds"].samples[0].value > 0
    reply = it.get("/metrics", headers={"Accept": "text/plain"})
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert {f.name for f in plain(reply.text)} >= set(families) - {"nl6_build"}
    status = it.get("/api/v1/status").data["counters"]
    for owner, fields in status.items():
        for field in fields:
            assert f"nl6_{owner}_{field}" in families


def test_system_stats_measure_an_interval(nl6):
    it = nl6()
    it.get("/api/v1/system-stats")
    busy = until(20, lambda: (s := it.get("/api/v1/system-stats").data)["cpu_usage_percent"] > 0 and s,
                 "busy CPU")
    assert 0 < busy["cpu_usage_percent"] <= 100
    assert list(busy)[:9] == [f"{what}_memory_{unit}" for what in ("simulator", "total", "used", "free")
                              for unit in ("mb", "gb")] + ["memory_usage_percent"]
    assert list(busy)[9:14] == ["cpu_usage_percent", "num_cpu", "load_avg_1", "load_avg_5",
                                "load_avg_15"]
