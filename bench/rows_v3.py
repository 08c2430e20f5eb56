"""SNMPv3 with authentication and privacy against v2c, for bench/run: a GET of sysUpTime.0 with
SHA-1 and AES-128, each device an engine of its own; and what a large fleet costs with it."""

import subprocess
import sys

FIRST = "127.10.0.1"
FLAGS = ("-snmpv3", "-snmpv3-auth", "sha1", "-snmpv3-priv", "aes128")


def run_module():
    """bench/run, which has no .py and is the program."""
    return sys.modules["__main__"]


class Load:
    """One client at a time against a server; as Load of bench/run."""

    def __init__(self, command, server):
        self.command, self.server = [str(c) for c in command], server
        self.replies_s = self.cpu_us = 0.0

    def run(self, seconds):
        before = self.server.cpu_s()
        out = subprocess.run([*self.command, str(seconds)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
        replies, lost, took = map(float, out[:3])
        if lost:
            print(f"warning: {lost:.0f} requests were lost", file=sys.stderr)
        self.replies_s = replies / took
        self.cpu_us = (self.server.cpu_s() - before) / replies * 1e6


def rows(build, quick):
    bench = run_module()
    n, seconds, few, many = (3, 0.2, 1000, 20000) if quick else (11, 0.7, 1000, 1000000)
    start = ("-auto-start-ip", FIRST, "-auto-netmask", "8", "-snmp-port", "0", "-port", "0")
    servers = []

    def server(count, *flags):
        it = bench.Server(build / "nl6", *start, "-auto-count", str(count), *flags)
        it.port = int(it.line.split("snmp=")[1])
        it.count = count
        servers.append(it)
        return it

    def loads(it):
        at = (FIRST, it.count, it.port)
        return (Load([build / "bench/bench-snmp-v3", *at], it),
                Load([build / "bench/bench-snmp-get", *at, "get"], it))

    try:
        small = server(few, *FLAGS)
        large = server(many, *FLAGS)
        plain = server(many)
        for it, goal in (small, ">= 0.5"), (large, ""):
            v3, v2c = loads(it)
            ratios, rates = bench.pairs(n, seconds, v3, v2c, bench.replies)
            yield (f"SNMPv3 authPriv GET / v2c, {it.count}", ratios, goal,
                   f"{rates[0]:.0f} {rates[1]:.0f} replies/s, {rates[2]:.2f} {rates[3]:.2f} us")
        yield (f"boot of {many} devices with v3 on", [], "< 5 s",
               f"{large.ready_s:.2f} s, without {plain.ready_s:.2f} s")
        grown = (large.anonymous_bytes() - small.anonymous_bytes()) / (many - few)
        yield "anonymous bytes a device with v3 on", [], "<= 256", f"{grown:.0f}"
    finally:
        for it in servers:
            it.stop()
