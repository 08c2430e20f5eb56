"""The measures of the allocator's hook and the heap sampler, for bench/run."""
import json
import pathlib
import re
import subprocess
import sys
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests/functional"))

from pprof_judge import judge  # noqa: E402

BEFORE = "[allocated before profiling]"


def run(build, *command):
    program, *arguments = command
    return [float(word) for word in subprocess.run(
        [build / "bench" / program, *map(str, arguments)], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split()]


def malloc_rows(build, pairs, seconds):
    """Closed and open against a program without the hook, in alternating order."""
    shut, wide, bare = ("bench-malloc", seconds), ("bench-malloc", seconds, "open"), (
        "bench-malloc-bare", seconds)
    tight_more, mixed, mixed_open = [], [], []
    for i in range(pairs):
        order = (shut, wide, bare) if i % 2 == 0 else (bare, wide, shut)
        took = {command: run(build, *command) for command in order}
        tight_more.append(took[shut][0] - took[bare][0])
        mixed.append(took[shut][1] / took[bare][1])
        mixed_open.append(took[wide][1] / took[bare][1])
    tells = f"bare {took[bare][0]:.1f} ns tight, {took[bare][1]:.1f} ns mixed"
    return [("malloc mixed, hook closed / without", mixed, "<= 1.02", tells),
            ("malloc tight 64 bytes, ns more closed", tight_more, "<= 1.5", ""),
            ("malloc mixed, sampled at 512 KiB / without", mixed_open, "", "")]


def truth_rows(build, seeds, samples):
    least, *ratios = run(build, "bench-heap-truth", seeds, samples)
    names = "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"
    tells = f"{seeds} seeds, >= {least:.0f} samples each"
    return [(f"heap estimate / truth, {name}", [ratio], "0.98 to 1.02", tells)
            for name, ratio in zip(names, ratios)]


class Opened:
    """nl6 with a fleet and an open gate."""

    def __init__(self, build, count, *flags):
        self.process = subprocess.Popen(
            [build / "nl6", "-auto-start-ip", "127.10.0.1", "-auto-netmask", "8", "-auto-count",
             str(count), "-snmp-port", "0", "-port", "0", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ready = self.process.stdout.readline()
        self.base = "http://" + re.search(r"api=(\S+)", ready)[1]
        self.ask("/api/v1/profiling", json.dumps({"enabled": True, "server_address": ""}).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        with urllib.request.urlopen(
                urllib.request.Request(self.base + path, body, headers)) as reply:
            return reply.read()

    def anonymous_bytes(self):
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Anonymous:\s+(\d+)", rollup, re.M)[1]) * 1024

    def heap(self):
        return judge(self.ask("/debug/pprof/heap"), "heap")


def held_rows(build, pairs, count):
    """In use by the profile, of what the process holds; and how much of that has a stack."""
    found = []
    for flags in (), ("-profiling-heap-at-boot",):
        ratios, named = [], []
        with Opened(build, count, *flags) as it:
            it.heap()  # reads symbols, which stay
            for _ in range(pairs):
                held, profile = it.anonymous_bytes(), it.heap()
                total = profile.total("inuse_space")
                before = sum(s.values[-1] for s in profile.samples if s.stack == (BEFORE,))
                ratios.append(total / held)
                named.append(1 - before / total)
        name = "from boot" if flags else "when asked"
        found.append((f"in use / anonymous, sampled {name}", ratios, ">= 0.95",
                      f"{count} devices, {named[-1]:.0%} has a stack"))
    return found


def rows(build, quick):
    """(name, ratios of the pairs, goal, what else to tell) of each measure."""
    pairs, seconds, seeds, samples = (3, 0.05, 3, 2000) if quick else (31, 0.2, 20, 20000)
    return (malloc_rows(build, pairs, seconds) + truth_rows(build, seeds, samples)
            + held_rows(build, 3, 20000 if quick else 200000))
