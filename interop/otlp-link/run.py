#!/usr/bin/env python3
"""Follows one slow request of nl6 from its answer to the flame graph of just its span, through real
servers, and judges each step, row by row.

  interop/otlp-link/run.py [FOLDER]    logs go to FOLDER, else to a temporary one

README.md tells how the servers are found. A row passes or fails, and what could not be reached
fails; the last line is "N passed, N failed"."""

import os
import pathlib
import random
import re
import sys
import tempfile
import time

from link_servers import choose
from senders import GoApp, Labelled, Nl6, build_go_app
from stores import Flames
from tap import Tap

from lab import NL6, until  # found by link_servers' path
from servers import Unreachable

ATTRIBUTE = "pyroscope.profile.id"  # what Grafana makes its query of
TRIES = 4  # a request may have been too short for a sample
WINDOW = 40  # seconds until a profile arrives: a window of 15 s, and a busy machine
DEADLINE = 60  # seconds until a store has what it was sent
PERIOD_NS = 10_000_000  # of CPU, between samples
RUN = f"{os.getpid()}-{int(time.time())}"


class Failed(Exception):
    """What a row found instead."""


def need(found, what):
    if not found:
        raise Failed(what)
    return found


class Rows:
    def __init__(self):
        self.passed = self.failed = 0

    def row(self, name, judge):
        """Prints a row; judge() returns what it found or raises Failed."""
        start = time.monotonic()
        try:
            said, mark = judge(), "pass"
            self.passed += 1
        except (Failed, Unreachable, AssertionError, OSError) as e:
            said, mark = str(e), "FAIL"
            self.failed += 1
        print(f"{mark}  {name}: {said} ({time.monotonic() - start:.0f} s)", flush=True)
        return mark == "pass"


class Link:
    """The six checks of one sender behind a tap. sender.ask() makes a slow request and returns its
    ids; hot: the function that is to be in its flame graph."""

    def __init__(self, rows, name, servers, tap, sender):
        self.rows, self.name, self.servers, self.tap = rows, name, servers, tap
        self.sender, self.flames = sender, Flames(servers.pyroscope)
        self.since, self.sent = time.time() - 60, None
        self.unsampled = f"{random.getrandbits(128):032x}"

    def row(self, what, judge):
        return self.rows.row(f"{self.name}: {what}", judge)

    def all(self):
        if not self.row("1 ids in the answer", self.answer):
            return
        if self.sender.makes_spans:
            self.row("2 the trace in the store", self.trace)
        self.row("3 the link in the profile", self.link)
        self.row("4 samples by trace id", self.by_trace)
        self.row("5 samples by span id", self.by_span)
        self.row("6 the hot function", self.hot)
        self.row("control: ids that nobody has", self.nobody)
        if self.sender.makes_spans:
            self.row("control: a request that is not sampled", self.unheard)
        self.row("control: what passed is as it should be", self.strict)

    def answer(self):
        """Asks until a request has samples: they are taken a hundred times a second of CPU."""
        if self.sender.makes_spans:  # its caller does not sample it, so nobody is to hear of it
            self.sender.ask(traceparent=f"00-{self.unsampled}-{random.getrandbits(64):016x}-00")
        for i in range(TRIES):
            self.sent = self.sender.ask()
            need(self.sent.is_valid, f"traceresponse {self.sent.header!r}")
            if until(WINDOW, lambda: self.tap.linked(self.sent.trace, self.sent.span)):
                break
        return f"trace {self.sent.trace}, span {self.sent.span}, request {i + 1}"

    def trace(self):
        def find():
            return [s for s in self.servers.store.spans(self.sent.trace)
                    if s.id == self.sent.span and ATTRIBUTE in s.attributes]
        span = need(until(DEADLINE, find), f"no span {self.sent.span} with {ATTRIBUTE}: "
                    f"{self.servers.store.spans(self.sent.trace)}")[0]
        got = span.attributes[ATTRIBUTE]
        need(got == self.sent.span, f"{ATTRIBUTE} is {got}")
        need(span.service == self.sender.service, f"service {span.service}")
        count = len(self.servers.store.spans(self.sent.trace))
        return f"{span.name!r} in {self.servers.store.kind}, {count} spans, {ATTRIBUTE} {got}"

    def link(self):
        found = need(self.tap.linked(self.sent.trace, self.sent.span), "no sample has it")
        count = sum(s.value for s in found)
        if not self.sender.by_collector:
            return f"{count} samples of {len(found)} stacks"

        def logged():
            return re.search(rf"Trace ID: Str\({self.sent.trace}\)\s+-> "
                             rf"Span ID: Str\({self.sent.span}\)", self.servers.collector_log())
        need(until(DEADLINE, logged), "the Collector's debug exporter has not written it")
        return f"{count} samples of {len(found)} stacks, and in the Collector's link table"

    def stored(self, **which):
        return self.flames.merged(self.since, time.time() + 60, self.sender.service, **which)

    def arrives(self, what, ask):
        """The sum of what a selector finds is that of what was sent, and less than all there is."""
        def sent():
            found = self.tap.linked(self.sent.trace, self.sent.span)
            return sum(s.value for s in found) * PERIOD_NS

        def both():
            total, want = ask(), sent()
            return total == want and total
        total = until(DEADLINE, both)
        need(total, f"{ask()} ns of {what} in {DEADLINE} s, {sent()} were sent")
        everything = self.stored()[0]
        need(total < everything or not self.sender.has_more, f"{total} of {everything} ns: all")
        return f"{total} of {everything} ns"

    def by_trace(self):
        return self.arrives("the trace", lambda: self.stored(traceIdSelector=[self.sent.trace])[0])

    def by_span(self):
        found = self.arrives("the span", lambda: self.stored(spanSelector=[self.sent.span])[0])
        # What Grafana calls.
        total = self.flames.by_span(self.since, time.time() + 60, self.sender.service,
                                    self.sent.span)[0]
        need(found.startswith(f"{total} of"), f"SelectMergeSpanProfile: {total}")
        return found

    def hot(self):
        names = self.stored(spanSelector=[self.sent.span])[1]
        need(self.sender.hot in names, f"no {self.sender.hot} in {names}")
        return f"{self.sender.hot}, one of {len(names)} functions"

    def nobody(self):
        trace, span = f"{random.getrandbits(128):032x}", f"{random.getrandbits(64):016x}"
        for which in ({"traceIdSelector": [trace]}, {"spanSelector": [span]}):
            total = self.stored(**which)[0]
            need(total == 0, f"{which}: {total}")
        need(self.servers.store.spans(trace) == [], f"trace {trace}")
        return "nothing, as it should be"

    def unheard(self):
        found = self.tap.find(trace=self.unsampled) or self.servers.store.spans(self.unsampled)
        need(not found, f"spans {found}")
        total = self.stored(traceIdSelector=[self.unsampled])[0]
        need(total == 0, f"{total} ns")
        return "no span, no sample"

    def strict(self):
        faults = self.tap.faults() + [f"orphan {s}" for s in self.tap.orphans()]
        need(not faults, f"{len(faults)}: {faults[:3]}")
        return f"{len(self.tap.requests)} requests, {len(self.tap.spans)} spans, " \
               f"{len(self.tap.profiles)} profiles"


class Bench:
    def __init__(self, folder, servers):
        self.folder, self.servers, self.rows = folder, servers, Rows()

    def phase(self, name, traces, profiles, make, **tap):
        """One sender: make(tap, service, folder)."""
        between = Tap(traces, profiles, **tap)
        try:
            sender = make(between, f"nl6-link-{name}-{RUN}", self.folder / name)
        except (AssertionError, OSError, Unreachable) as e:
            self.rows.row(name, lambda: need(False, e))
            between.kill()
            return
        link = Link(self.rows, name, self.servers, between, sender)
        try:
            link.all()
        finally:
            sender.stop()
            between.kill()

    def run(self):
        s = self.servers
        self.phase("direct", s.traces, s.pyroscope, Nl6)
        self.phase("collector", s.collector, s.collector,
                   lambda *them: Nl6(*them, by_collector=True))
        self.rows.row("grpc", self.grpc)
        self.phase("listen", s.traces, s.pyroscope, lambda *them: Labelled(s, *them),
                   any_kind=True, passed_on=True)
        try:
            app = build_go_app(self.folder)
        except (OSError, Unreachable) as e:
            self.rows.row("bridge", lambda: need(False, e))
            return
        self.phase("bridge", s.traces, s.pyroscope, lambda *them: GoApp(app, *them),
                   any_kind=True)

    def grpc(self):
        """Both signals by gRPC, to the Collector; what it has in its log and the store."""
        service = f"nl6-link-grpc-{RUN}"
        it = Nl6(None, service, self.folder / "grpc", by_collector=True,
                 grpc=self.servers.collector_grpc)
        try:
            for _ in range(TRIES):
                sent = it.ask()
                line = f"Span ID: Str({sent.span})"
                if until(WINDOW, lambda: line in self.servers.collector_log()):
                    break
            need(line in self.servers.collector_log(), f"no link of span {sent.span}")
            need(until(DEADLINE, lambda: [s for s in self.servers.store.spans(sent.trace)
                                          if s.id == sent.span and ATTRIBUTE in s.attributes]),
                 f"no span {sent.span} in {self.servers.store.kind}")
            return f"trace {sent.trace}, span {sent.span}: the trace, and a link in the profile"
        finally:
            it.stop()


def run(folder):
    try:
        servers = choose()(folder)
    except (Unreachable, OSError) as e:
        print(f"FAIL  the servers: {e}\n0 passed, 1 failed")
        return False
    print(f"servers: {servers.how}, Pyroscope {servers.pyroscope}, {servers.store.kind} "
          f"{servers.store.url}, Collector {servers.collector}; nl6: {NL6}")
    bench = Bench(folder, servers)
    try:
        bench.run()
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
    with tempfile.TemporaryDirectory(prefix="nl6-link-") as folder:
        sys.exit(not run(pathlib.Path(folder)))


if __name__ == "__main__":
    main()
