"""The measures of the CPU profiler, for bench/run: what share of stacks is whole, what a profile's
total is to the CPU time used, what the gate costs to open, and what sampling costs a reply."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/functional"))

from pprof_judge import judge  # noqa: E402

FIRST = "127.10.0.1"
SETTLE_S = 0.03  # after the gate was turned


class Server:
    """An nl6 of its own."""

    def __init__(self, build, *flags, devices=1000):
        self.build = build
        self.process = subprocess.Popen(
            [build / "nl6", "-auto-start-ip", FIRST, "-auto-netmask", "8", "-auto-count", str(devices),
             "-snmp-port", "0", "-port", "0", *flags], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"ready api=(\S+):(\d+) snmp=(\d+)\n", line)
        if not found:
            sys.exit(f"nl6 did not start: {line}")
        self.api, self.snmp = int(found[2]), found[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.api, timeout=90)
        try:
            c.request(method, path, body and json.dumps(body),
                      {"Content-Type": "application/json"} if body else {})
            reply = c.getresponse()
            data = reply.read()
        finally:
            c.close()
        if reply.status != 200:
            sys.exit(f"{method} {path}: {reply.status} {data[:200]}")
        return data

    def gate(self, enabled):
        body = {"enabled": enabled} | ({"server_address": ""} if enabled else {})
        return json.loads(self.ask("POST", "/api/v1/profiling", body))["data"]

    def status(self):
        return json.loads(self.ask("GET", "/api/v1/profiling"))["data"]

    def samples(self):
        """Taken since the gate was opened, by their weights."""
        return self.status()["sampler"]["samples"]

    def profile(self, seconds):
        return judge(self.ask("GET", f"/debug/pprof/profile?seconds={seconds}"), "cpu")

    def cpu_s(self):
        """Of all threads, ended ones too: the process's CPU clock, by the kernel's encoding."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def anonymous_bytes(self):
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Anonymous:\s+(\d+)", rollup, re.M)[1]) * 1024


@contextlib.contextmanager
def snmp_load(server):
    client = subprocess.Popen([server.build / "bench/bench-snmp-get", FIRST, "1000", server.snmp,
                               "get", "100000"], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        client.kill()
        client.wait()


@contextlib.contextmanager
def api_load(server):
    """Lists of devices, kept-alive, from three clients."""
    over = threading.Event()

    def client():
        c = http.client.HTTPConnection("127.0.0.1", server.api)
        while not over.is_set():
            c.request("GET", "/api/v1/devices?limit=500")
            c.getresponse().read()
        c.close()
    threads = [threading.Thread(target=client) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        yield
    finally:
        over.set()
        for t in threads:
            t.join()


def why(reasons):
    return ", ".join(f"{n} {reason}" for reason, n in sorted(reasons.items())) or "none short"


def unwinds_of_programs(build, walks):
    for mode, name in (("memcpy", "in libc's memcpy"), ("openssl", "in OpenSSL's assembly"),
                       ("vdso", "in the vdso")):
        out = subprocess.run([build / "bench/bench-unwind-ends", mode, str(walks)], check=True,
                             text=True, stdout=subprocess.PIPE).stdout.strip()
        n, whole, *rest = out.split(" ", 2)
        yield (f"stacks that reach the entry, {name}", [int(whole) / int(n)], ">= 0.999",
               f"of {n}" + "".join(f", {r}" for r in rest))


def window(server, seconds):
    """A profile, and within it the CPU time that was sampled by the CPU time that was used: a
    profile's own last moments, in which it is written, are no part of it."""
    taken = []
    thread = threading.Thread(target=lambda: taken.append(server.profile(seconds + 1)))
    thread.start()
    time.sleep(0.5)
    counted, used = server.samples(), server.cpu_s()
    time.sleep(seconds)
    counted, used = server.samples() - counted, server.cpu_s() - used
    thread.join()
    return taken[0], counted * taken[0].period / 1e9 / used, used


def unwinds_of_server(build, wanted, seconds):
    """At 1,000 Hz, so that there are many; and what was sampled against the CPU time."""
    with Server(build, "-profiling-cpu-rate", "1000") as server:
        server.gate(True)
        for load, name in ((snmp_load, "SNMP load"), (api_load, "API load")):
            samples, short, ratios = 0, {}, []
            begun = server.samples()
            with load(server):
                while samples < wanted:
                    profile, ratio, used = window(server, seconds)
                    ratios.append(ratio)
                    samples += profile.total("samples")
                    for reason, n in profile.truncated().items():
                        short[reason] = short.get(reason, 0) + n
            kept = samples / (server.samples() - begun)
            yield (f"stacks that reach the entry, {name}",
                   [1 - sum(short.values()) / samples], ">= 0.999",
                   f"of {samples}, {why(short)}; {kept:.4f} of all samples are in profiles")
            yield (f"sampled / used CPU time, {name}", ratios, "0.97 to 1.03",
                   f"windows of {seconds} s, the last used {used:.1f} s of CPU")


def opening(build):
    with Server(build) as server:
        before, begun = server.anonymous_bytes(), time.monotonic()
        server.gate(True)
        took = time.monotonic() - begun
        grown = server.anonymous_bytes() - before
        yield ("opening the gate", [], "", f"{took * 1000:.1f} ms, {grown / 1e6:.2f} MB more "
               "anonymous memory")
        server.profile(1)
        grown = server.anonymous_bytes() - before
        yield ("  after a first CPU profile", [], "", f"{grown / 1e6:.2f} MB more")
        server.gate(False)
        left = server.anonymous_bytes() - before
        yield ("  closed again", [], "", f"{left / 1e6:.2f} MB more")


@contextlib.contextmanager
def one_processor():
    """What is started within shares one processor and is not preempted by what it wakes: a batch of
    requests is then always received, answered and sent in one piece, and the CPU time a reply does
    not depend on who ran when."""
    cpus, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
    os.sched_setaffinity(0, {max(cpus)})
    if policy == os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, os.sched_getparam(0))
        os.sched_setaffinity(0, cpus)


class Told:
    """A closed loop of GETs that goes on, and tells its replies and the server's CPU time in
    between."""

    def __init__(self, server):
        command = [server.build / "bench/bench-snmp-get", FIRST, "1000", server.snmp, "get", "of",
                   str(server.process.pid)]
        self.client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stdin.close()
        self.client.wait()

    def now(self):
        """Replies and the CPU time so far."""
        self.client.stdin.write("\n")
        replies, lost, cpu_ns = map(int, self.client.stdout.readline().split())
        if lost:
            sys.exit(f"{lost} requests were lost")
        return replies, cpu_ns

    def cpu_ns_a_reply(self, seconds):
        before = self.now()
        time.sleep(seconds)
        after = self.now()
        return (after[1] - before[1]) / (after[0] - before[0])


@contextlib.contextmanager
def profiling(server):
    """The gate is open and a CPU profile is under way, which is given up in the end."""
    server.gate(True)
    with socket.create_connection(("127.0.0.1", server.api)) as s:
        s.sendall(b"GET /debug/pprof/profile?seconds=29 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not server.status()["sampler"]["sampling"]:
            time.sleep(0.002)
        time.sleep(SETTLE_S)
        yield
    server.gate(False)
    time.sleep(SETTLE_S)


def fourfold(server, load, seconds, on_first):
    """Four windows side by side, off on on off or the reverse, so that what drifts evenly falls
    out: CPU a reply off, and on."""
    used = {True: [], False: []}
    for on, n in ((on_first, 1), (not on_first, 2), (on_first, 1)):
        with profiling(server) if on else contextlib.nullcontext():
            used[on] += [load.cpu_ns_a_reply(seconds) for _ in range(n)]
    return sum(used[False]) / 2, sum(used[True]) / 2


def cost(build, times, seconds):
    """The server's CPU time a reply, gate closed and while a profile is taken."""
    ratios, rates = [], []
    with contextlib.ExitStack() as stack:
        with one_processor():
            server = stack.enter_context(Server(build))
            load = stack.enter_context(Told(server))
        for i in range(-1, times):
            off, on = fourfold(server, load, seconds, i % 2 == 0)
            if i >= 0:
                ratios.append(off / on)
                rates.append(on)
    yield ("CPU a reply, gate closed / CPU profile", ratios, ">= 0.995",
           f"at 100 Hz, {times} times 4 windows of {seconds} s, "
           f"{statistics.median(rates) / 1e3:.2f} us")


def cost_to_a_thread(build, pairs):
    out = subprocess.run([build / "bench/bench-unwind-ends", "cost", str(pairs)], check=True,
                         text=True, stdout=subprocess.PIPE).stdout.split()
    yield ("CPU of a busy thread, alone / sampled", list(map(float, out)), ">= 0.995",
           "at 100 Hz, by the thread's own clock")


def cost_of_samples(build, rounds):
    """What the row after it is to come to: a hundred of these for each second of CPU."""
    out = subprocess.run([build / "bench/bench-unwind-ends", "sample", str(rounds)], check=True,
                         text=True, stdout=subprocess.PIPE).stdout.splitlines()
    warm, cold, drained = (statistics.median(column)
                           for column in zip(*(map(float, line.split()) for line in out)))
    yield ("a sample twenty calls deep", [], "",
           f"{warm / 1e3:.1f} us, {cold / 1e3:.1f} us with nothing in the cache, "
           f"{drained / 1e3:.2f} us to drain: {(cold + drained) / 1e5:.3f} % of the CPU at 100 Hz")


def rows(build, quick):
    """(name, ratios of the pairs or windows, goal, what else to tell) of each measure; without
    ratios there is only what to tell."""
    build = pathlib.Path(build)
    found = list(unwinds_of_programs(build, 1000 if quick else 100_000))
    found += unwinds_of_server(build, 1 if quick else 100_000, 1 if quick else 20)
    found += opening(build)
    found += cost_to_a_thread(build, 3 if quick else 60)
    found += cost_of_samples(build, 3 if quick else 60)
    found += cost(build, 3 if quick else 300, 0.1 if quick else 0.2)
    return found


if __name__ == "__main__":
    for row in rows(sys.argv[1], "-quick" in sys.argv):
        print(row)
