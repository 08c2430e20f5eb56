"""What traces and linked profiles cost, for bench/run: the server's CPU time for a request of the API
with tracing off, on for a caller that does not sample, and on for one that does; and for an SNMP
reply while linked profiles go out."""

import contextlib
import pathlib
import socket
import statistics
import time

from rows_profiler import SETTLE_S, Server, Told, one_processor
from rows_push import Sink

TRACE = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"


class Requests:
    """A closed loop of small requests on one connection."""

    def __init__(self, server, flags):
        self.server = server
        self.socket = socket.create_connection(("127.0.0.1", server.api))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.message = (f"GET /api/v1/version HTTP/1.1\r\nHost: localhost\r\n"
                        f"traceparent: 00-{TRACE}-{flags}\r\n\r\n").encode()
        self.bytes = len(self.ask_first())

    def ask_first(self):
        """The whole answer: its length stays."""
        self.socket.sendall(self.message)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self.socket.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self.socket.recv(65536)
        return head + b"\r\n\r\n" + body

    def run(self, n):
        """CPU nanoseconds of the server for a request, and requests a second."""
        before, begun = self.server.cpu_s(), time.monotonic()
        for _ in range(n):
            self.socket.sendall(self.message)
            left = self.bytes
            while left > 0:
                left -= len(self.socket.recv(65536))
        took = time.monotonic() - begun
        return (self.server.cpu_s() - before) / n * 1e9, n / took


def requests(build, sink, pairs, n):
    """(off, on without sampling, on with), interleaved."""
    with contextlib.ExitStack() as stack:
        off = stack.enter_context(Server(build, devices=1))
        on = stack.enter_context(Server(build, "-otlp-endpoint", sink.address, devices=1))
        loads = [Requests(off, "00"), Requests(on, "00"), Requests(on, "01")]
        rows = []
        for i in range(-1, pairs):
            order = loads if i % 2 else loads[::-1]
            got = {load: load.run(n) for load in order}
            if i >= 0:
                rows.append([got[load] for load in loads])
    rate = [statistics.median(column[1] for column in row) for row in zip(*rows)]
    for name, k, goal in (("unsampled", 1, ">= 0.99"), ("sampled", 2, "")):
        yield (f"CPU a request, tracing off / on, {name}", [r[0][0] / r[k][0] for r in rows], goal,
               f"{statistics.median(r[k][0] for r in rows) / 1e3:.1f} us; "
               f"{rate[0]:.0f} and {rate[k]:.0f} requests/s")


@contextlib.contextmanager
def sending(server):
    """The gate is open, and windows of the CPU go out."""
    server.ask("POST", "/api/v1/profiling", {"enabled": True})  # not pull-only
    while not server.status()["sampler"]["sampling"]:
        time.sleep(0.002)
    time.sleep(SETTLE_S)
    yield
    server.gate(False)
    time.sleep(SETTLE_S)


def replies(build, sink, times, seconds):
    """CPU of an SNMP reply, gate closed and open; four windows as off on on off or the reverse."""
    ratios = []
    with contextlib.ExitStack() as stack:
        with one_processor():
            server = stack.enter_context(Server(build, "-otlp-endpoint", sink.address,
                                                "-otlp-profiles", sink.address))
            load = stack.enter_context(Told(server))
        for i in range(-1, times):
            used = {True: 0, False: 0}
            for on, n in ((i % 2 == 0, 1), (i % 2 != 0, 2), (i % 2 == 0, 1)):
                with sending(server) if on else contextlib.nullcontext():
                    used[on] += sum(load.cpu_ns_a_reply(seconds) for _ in range(n))
            if i >= 0:
                ratios.append(used[False] / used[True])
    yield ("CPU a reply, gate closed / linked profiles", ratios, ">= 0.995",
           f"{times} times 4 windows of {seconds} s")


def rows(build, quick):
    build = pathlib.Path(build)
    with Sink() as sink:
        yield from requests(build, sink, 3 if quick else 60, 200 if quick else 4000)
        yield from replies(build, sink, 1 if quick else 60, 0.2 if quick else 0.5)
