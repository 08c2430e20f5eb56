#!/usr/bin/env python3
"""Runs nl6 against a real Pyroscope and a real Alloy and judges, row by row, what is stored.

  interop/pyroscope/run.py [FOLDER]    logs go to FOLDER, else to a temporary one

README.md tells how the servers are found. A row passes or fails, and what could not be reached
fails; the last line is "N passed, N failed"."""

import os
import pathlib
import sys
import tempfile
import time

from lab import NL6, Lab, Relay, until
from query import CPU, Store
from servers import Unreachable, choose

SCRAPED = "nl6-interop-scrape"  # of alloy-scrape.alloy
ALLOC = "memory:alloc_space:bytes:space:bytes"
PUSHED_TYPES = {
    "process_cpu:samples:count:cpu:nanoseconds", CPU,
    "memory:alloc_objects:count:space:bytes", ALLOC,
    "memory:inuse_objects:count:space:bytes", "memory:inuse_space:bytes:space:bytes",
    "goroutines:goroutine:count:goroutine:count"}
GOROUTINE = "goroutine:goroutine:count:goroutine:count"
IN_USE = b"Could not enable CPU profiling: cpu profiling already in use"
CPU_PATH = "/debug/pprof/profile"
DEADLINE = 120  # seconds for a profile to arrive: a window or two of 15 s, and a busy machine
RUN = f"{os.getpid()}-{int(time.time())}"


class Failed(Exception):
    """What a row found instead."""


class Rows:
    def __init__(self):
        self.passed = self.failed = 0

    def row(self, name, judge):
        """Prints a row; judge() returns what it found or raises Failed."""
        start = time.monotonic()
        try:
            said, mark = judge(), "pass"
            self.passed += 1
        except (Failed, Unreachable) as e:
            said, mark = str(e), "FAIL"
            self.failed += 1
        print(f"{mark}  {name}: {said} ({time.monotonic() - start:.0f} s)", flush=True)


def need(found, what):
    if not found:
        raise Failed(what)
    return found


class Bench:
    """The servers, the relay that Alloy scrapes, and the rows."""

    def __init__(self, folder, servers, relay):
        self.folder, self.relay = folder, relay
        self.store, self.rows = Store(servers.url), Rows()
        self.since = 0

    def phase(self, name, flags, judge, **turn):
        """One nl6 under load behind the relay; judge(service) adds the rows."""
        service = f"nl6-interop-{name}-{RUN}"
        self.since = time.time()
        try:
            lab = Lab(self.folder / name, *(f.format(url=self.store.url, service=service)
                                            for f in flags))
        except (AssertionError, OSError) as e:
            self.rows.row(name, lambda: need(False, e))
            return
        try:
            if turn:
                lab.turn(**turn)
            self.relay.aim(lab.address)
            judge(service, lab)
        finally:
            self.relay.aim(None)
            lab.stop()

    def arrives(self, kind, service, **labels):
        def judge():
            total = until(DEADLINE, lambda: self.store.total(
                kind, self.since, service_name=service, **labels))
            return f"sum {need(total, f'nothing in {DEADLINE} s')}"
        return judge

    def absent(self, kind, service, **labels):
        def judge():
            total = self.store.total(kind, self.since, service_name=service, **labels)
            need(total == 0, f"sum {total}")
            return "nothing, as it should be"
        return judge

    def labelled(self, what, kind, service):
        """The subsystem label filters: a real one finds something and less than all."""
        row = self.rows.row
        row(f"{what}, subsystem=snmp", self.arrives(kind, service, subsystem="snmp"))
        row(f"{what}, subsystem=bogus", self.absent(kind, service, subsystem="bogus"))

    def push_alone(self, service, lab):
        row = self.rows.row
        row("pushed process_cpu", self.arrives(CPU, service))
        row("pushed alloc_space", self.arrives(ALLOC, service))
        self.labelled("pushed process_cpu", CPU, service)
        row("pushed profile types", lambda: self.types(service, PUSHED_TYPES))
        row("control: a service nobody pushed", lambda: self.nobody())
        row("push without share-cpu: Alloy's CPU scrape", self.refused)
        row("push without share-cpu: scraped goroutine", self.arrives(GOROUTINE, SCRAPED))
        row("push without share-cpu: scraped process_cpu", self.absent(CPU, SCRAPED))

        def undisturbed():
            data = lab.profiling()[1]
            need(data.get("pushing") and not data.get("sdk_errors"),
                 f"sdk_errors {data.get('sdk_errors')}: {data.get('last_error')}")
            return f"{data.get('push', {}).get('uploads')} uploads, no error"
        row("push without share-cpu: the push itself", undisturbed)

    def pull_only(self, service, lab):
        row = self.rows.row
        row("pull-only: scraped process_cpu", self.arrives(CPU, SCRAPED))
        row("pull-only: scraped goroutine", self.arrives(GOROUTINE, SCRAPED))
        self.labelled("pull-only: scraped process_cpu", CPU, SCRAPED)
        self.labelled("pull-only: scraped goroutine", GOROUTINE, SCRAPED)
        row("pull-only: nothing is pushed", self.absent(CPU, service))

    def share(self, service, lab):
        row = self.rows.row
        row("share-cpu: pushed process_cpu", self.arrives(CPU, service))
        row("share-cpu: scraped process_cpu", self.arrives(CPU, SCRAPED))
        self.labelled("share-cpu: pushed process_cpu", CPU, service)
        self.labelled("share-cpu: scraped process_cpu", CPU, SCRAPED)

    def types(self, service, want):
        until(DEADLINE, lambda: want <= set(self.store.types(service, self.since)))
        got = set(self.store.types(service, self.since))
        need(want == got, f"missing {sorted(want - got)}, more {sorted(got - want)}")
        return f"{len(got)}, each by its id"

    def nobody(self):
        service = f"nl6-interop-nobody-{RUN}"
        types, total = self.store.types(service, self.since - 3600), \
            self.store.total(CPU, self.since, service_name=service)
        need(total == 0 and types == [], f"sum {total}, types {types}")
        return "nothing, as it should be"

    def refused(self):
        """Two CPU scrapes in a row are refused in the words of Go's runtime, and none is served."""
        until(DEADLINE, lambda: len(self.relay.noted(CPU_PATH)) >= 2)
        got = self.relay.noted(CPU_PATH)
        need(len(got) >= 2, f"{len(got)} scrapes in {DEADLINE} s")
        for answer in got:
            text = answer.head.partition(b"\r\n\r\n")[2]
            need(answer.status == 500 and IN_USE in text, f"{answer.status} {text[:100]}")
        return f"{len(got)} scrapes, each 500 {IN_USE.decode()!r}"


def run(folder):
    scrape = os.environ.get("NL6_PYROSCOPE_SCRAPE_ADDR", "127.0.0.1:18080")
    try:
        relay = Relay(scrape)
        servers = choose()(folder, scrape)
    except (Unreachable, OSError) as e:
        print(f"FAIL  the servers: {e}\n0 passed, 1 failed")
        return False
    print(f"servers: {servers.how}, Pyroscope {servers.url}; scraped at {scrape}; nl6: {NL6}")
    try:
        bench = Bench(folder, servers, relay)
        push = ["-profiling-pyroscope", "{url}", "-profiling-tag", "service_name={service}"]
        bench.phase("push", push, bench.push_alone)
        bench.phase("pull", [], bench.pull_only, enabled=True, server_address="")
        bench.phase("share", [*push, "-profiling-share-cpu"], bench.share)
    finally:
        servers.stop()
    rows = bench.rows
    print(f"{rows.passed} passed, {rows.failed} failed")
    return rows.failed == 0 and rows.passed > 0


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    if len(sys.argv) == 2:
        folder = pathlib.Path(sys.argv[1]).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(not run(folder))
    with tempfile.TemporaryDirectory(prefix="nl6-interop-") as folder:
        sys.exit(not run(pathlib.Path(folder)))


if __name__ == "__main__":
    main()
