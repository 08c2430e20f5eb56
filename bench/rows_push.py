"""What a snapshot of the heap and a whole window of a push cost with fleets of several sizes, for
bench/run: CPU time of the profiler's threads, and how long the agents left a request waiting."""

import http.server
import json
import pathlib
import socket
import ssl
import statistics
import subprocess
import tempfile
import threading
import time

from rows_profiler import FIRST, Server, snmp_load, why

FLEETS = (5_000, 30_000, 200_000, 1_000_000)
LINE_MS = 150  # of one core in a window: the original's own limit for its forced collection
WINDOWS = 3
SYS_UP_TIME = bytes.fromhex("302902010104067075626c6963a01c02043bad10f90201000201003"
                            "00e300c06082b060102010103000500")


class Sink:
    """Takes uploads as a Pyroscope server does that stores nothing."""

    def __init__(self, tls=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler):
                handler.rfile.read(int(handler.headers["Content-Length"]))
                handler.send_response(200)
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.address = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Probe:
    """Asks one device for sysUpTime, again and again: the longest time without an answer."""

    def __init__(self, port):
        self.port, self.over, self.longest = port, threading.Event(), 0.0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect((FIRST, int(self.port)))
            s.settimeout(5)
            while not self.over.is_set():
                begun = time.monotonic()
                s.send(SYS_UP_TIME)
                s.recv(2048)
                self.longest = max(self.longest, time.monotonic() - begun)
                time.sleep(0.0005)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def profiler_cpu_s(server):
    """CPU time of the threads that only the profiler has."""
    total = 0
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("profiling"):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def used(server, work):
    """CPU time of the profiler, and the longest wait of a request, while work runs; in ms."""
    with Probe(server.snmp) as probe:
        time.sleep(0.2)
        probe.longest = 0.0
        before = profiler_cpu_s(server)
        work()
        return (profiler_cpu_s(server) - before) * 1000, probe.longest * 1000


def push(server):
    return json.loads(server.ask("GET", "/api/v1/profiling"))["data"]["push"]


def wait_for_window(server):
    """Until the profiles of one more window have been uploaded; without asking the gate often."""
    wanted, deadline = push(server)["uploads"] + 3, time.monotonic() + 40
    while push(server)["uploads"] < wanted:
        if time.monotonic() > deadline:
            raise SystemExit(f"no window was uploaded: {push(server)}")
        time.sleep(0.5)


def told(values):
    return f"{statistics.median(values):.2f} (up to {max(values):.2f})"


def costs(build, devices, windows, address):
    with Server(build, devices=devices) as server:
        _, idle = used(server, lambda: time.sleep(3))
        server.ask("POST", "/api/v1/profiling", {"enabled": True, "server_address": address})
        wait_for_window(server)  # names are looked up once
        heaps = [used(server, lambda: server.ask("GET", "/debug/pprof/heap")) for _ in range(10)]
        rounds = [used(server, lambda: wait_for_window(server)) for _ in range(windows)]
        yield (f"heap snapshot, {devices} devices", [], f"<= {LINE_MS} ms",
               f"{told([c for c, _ in heaps])} ms CPU, longest wait "
               f"{told([w for _, w in heaps])} ms")
        yield (f"window of a push, {devices} devices", [], f"<= {LINE_MS} ms",
               f"{told([c for c, _ in rounds])} ms CPU, longest wait "
               f"{told([w for _, w in rounds])} ms; closed {idle:.2f} ms")


def self_signed(folder):
    """The path of a certificate for 127.0.0.1 that is its own authority, and a server's context."""
    cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bench",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


def pushes_anew(server, address, over):
    """Each change of the address ends a window and has its profiles uploaded, over new
    connections."""
    i = 0
    while not over.is_set():
        i += 1
        server.ask("POST", "/api/v1/profiling",
                   {"enabled": True, "server_address": f"{address}/{i % 2}"})


def unwinds_over_tls(build, wanted, seconds):
    """At 1,000 Hz, while profiles are uploaded over TLS one after the other and agents answer."""
    over = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        cert, tls = self_signed(folder)
        with Sink(tls) as sink, Server(build, "-profiling-cpu-rate", "1000",
                                       "-profiling-share-cpu", "-profiling-pyroscope-ca",
                                       cert) as server:
            server.gate(True)
            pusher = threading.Thread(target=pushes_anew, args=(server, sink.address, over))
            pusher.start()
            samples, short, tls_samples = 0, {}, 0
            with snmp_load(server):
                while samples < wanted:
                    profile = server.profile(seconds)
                    samples += profile.total("samples")
                    tls_samples += sum(s.values[0] for s in profile.samples
                                       if any(name.startswith("SSL_") for name in s.stack))
                    for reason, n in profile.truncated().items():
                        short[reason] = short.get(reason, 0) + n
            over.set()
            pusher.join()
    yield ("stacks that reach the entry, push over TLS", [1 - sum(short.values()) / samples],
           ">= 0.999", f"of {samples}, {tls_samples} in OpenSSL, {why(short)}")


def rows(build, quick):
    build = pathlib.Path(build)
    yield from unwinds_over_tls(build, 1 if quick else 100_000, 1 if quick else 20)
    with Sink() as sink:
        for devices in (1000,) if quick else FLEETS:
            yield from costs(build, devices, 1 if quick else WINDOWS, sink.address)
