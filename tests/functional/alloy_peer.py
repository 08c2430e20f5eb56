"""A scraper as Grafana Alloy's pyroscope.scrape: its default block with the three blocks of
godeltaprof, what it takes for a profile, what it makes of it, and a store of what it forwards."""

import copy
import gzip
import threading
import time
import urllib.error
import urllib.request
import zlib
from dataclasses import dataclass
from http.client import HTTPException

import pprof_judge
from pprof_judge import PROFILE, Bad, decode
from pprof_make import encode
from program import SLOW
from pyroscope_rules import Bucket, Refused, Store, store_profile

# Name to path, whether it sends seconds, and which differences it takes.
DEFAULT_BLOCKS = {
    "memory": ("/debug/pprof/allocs", False, ("alloc_objects/count", "alloc_space/bytes")),
    "block": ("/debug/pprof/block", False, ("contentions/count", "delay/nanoseconds")),
    "goroutine": ("/debug/pprof/goroutine", False, ()),
    "mutex": ("/debug/pprof/mutex", False, ("contentions/count", "delay/nanoseconds")),
    "process_cpu": ("/debug/pprof/profile", True, ()),
}
DELTA_BLOCKS = {
    "godeltaprof_memory": ("/debug/pprof/delta_heap", False, ()),
    "godeltaprof_mutex": ("/debug/pprof/delta_mutex", False, ()),
    "godeltaprof_block": ("/debug/pprof/delta_block", False, ()),
}
BLOCKS = DEFAULT_BLOCKS | DELTA_BLOCKS


class Rejected(Exception):
    """An answer that is not taken for a profile: the target's health is "down"."""


def accept(status, content_type, body):
    """The rules of acceptance of an answer."""
    def must(true, why):
        if not true:
            raise Rejected(why)

    must(200 <= status < 300, f"server returned HTTP status ({status}) {body[:500]!r}")
    must(body, "empty body")
    must((content_type or "").startswith("application/octet-stream"),
         f"content type {content_type!r}")
    start = body.lstrip()[:100].lower()
    must(not start.startswith((b"<!doctype", b"<html", b"<?xml")) and
         not (start[:1] in (b"{", b"[") and len(body) > 20), "text response instead of pprof")
    must(len(body) > 2, f"{len(body)} bytes")
    must(body[:2] == b"\x1f\x8b" or body[0] & 7 < 6, "no protobuf")


def unpack(body):
    """Its bytes, into a buffer of the size that the trailer tells: one honest member only."""
    if body[:2] != b"\x1f\x8b":
        return body
    size = int.from_bytes(body[-4:], "little")
    try:
        raw = gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as e:
        raise Rejected(f"gzip: {e}") from None
    if size != len(raw):
        raise Rejected(f"gzip: the trailer tells {size} of {len(raw)} bytes")
    return raw


class Delta:
    """The stage that takes differences from one scrape to the next."""

    def __init__(self, types):
        self.types, self.before, self.time_ns, self.recovering = types, None, 0, False
        self.collapsed = 0  # samples of another stack under the same identity

    @staticmethod
    def identity(raw, sample, addresses):
        labels = sorted((raw.string_table[x.key], raw.string_table[x.str], x.num)
                        for x in sample.label)
        return tuple(addresses[i] for i in sample.location_id), tuple(labels)

    def sums(self, raw):
        """Identity to summed values and the first sample of it."""
        addresses = {loc.id: loc.address for loc in raw.location}
        out = {}
        for s in raw.sample:
            if any(i not in addresses for i in s.location_id):
                raise Rejected("a bad location index")
            if any(not 0 <= i < len(raw.string_table) for x in s.label for i in (x.key, x.str)):
                raise Rejected("a bad string index")
            key = self.identity(raw, s, addresses)
            if key in out:
                self.collapsed += out[key][1].location_id != s.location_id
                out[key] = ([a + b for a, b in zip(out[key][0], s.value)], out[key][1])
            else:
                out[key] = (list(s.value), s)
        return out

    def compute(self, raw):
        """The profile to forward; None: this one only primes."""
        if self.recovering:
            self.recovering = False
            raise Rejected("recovering from bad state")
        try:
            if any(len(s.value) > 4 for s in raw.sample):
                raise Rejected("over 4 values")
            sums = self.sums(raw)
        except Rejected:
            self.recovering, self.before = True, None
            raise
        names = [tuple(raw.string_table[i].decode() for i in (t.type, t.unit))
                 for t in raw.sample_type]
        columns = [i for i, n in enumerate(names) if "/".join(n) in self.types]
        before, before_ns = self.before, self.time_ns
        self.before = {key: values for key, (values, _) in sums.items()}
        self.time_ns = raw.time_nanos
        if before is None:
            return None
        out = copy.copy(raw)
        out.sample = []
        for key, (values, sample) in sums.items():
            old = before.get(key, [0] * len(values))
            now = [v - old[i] if i in columns else v for i, v in enumerate(values)]
            if any(now):
                out.sample.append(copy.copy(sample))
                out.sample[-1].value = now
        if raw.time_nanos:
            out.duration_nanos = raw.time_nanos - before_ns
        return cut(out)


def cut(raw):
    """Without the locations and functions that no sample uses, and with their strings blanked."""
    used = {i for s in raw.sample for i in s.location_id}
    raw.location = [loc for loc in raw.location if loc.id in used]
    used = {x.function_id for loc in raw.location for x in loc.line}
    gone = [f for f in raw.function if f.id not in used]
    raw.function = [f for f in raw.function if f.id in used]
    kept = {i for f in raw.function for i in (f.name, f.system_name, f.filename)}
    kept |= {i for m in raw.mapping for i in (m.filename, m.build_id)}
    kept |= {i for s in raw.sample for x in s.label for i in (x.key, x.str, x.num_unit)}
    kept |= {i for t in [*raw.sample_type, raw.period_type] if t for i in (t.type, t.unit)}
    kept |= {raw.default_sample_type, *raw.comment}
    raw.string_table = list(raw.string_table)
    for index in {i for f in gone for i in (f.name, f.system_name, f.filename)} - kept:
        raw.string_table[index] = b""
    return raw


@dataclass
class Scrape:
    block: str
    at: float
    seconds: float  # how long it took
    status: int = 0
    error: str = ""  # why nothing was forwarded
    profile: object = None  # as judged, before differences
    stored: object = None


class NotModified(urllib.request.HTTPErrorProcessor):
    """Statuses are for accept() to judge."""

    def http_response(self, _, response):
        if 300 <= response.status < 400:
            return super().http_response(_, response)
        return response


class Alloy:
    """target: host:port. interval and timeout in seconds: the defaults are Alloy's. scrape() does
    one; as a context, all blocks in their rhythm."""

    def __init__(self, target, blocks=BLOCKS, interval=15, timeout=10, delta_seconds=14,
                 service_name="unspecified", path_prefix="", bucket=None):
        assert interval >= 2
        assert delta_seconds == 14 or 1 <= delta_seconds <= interval - 1
        self.target, self.blocks, self.interval, self.timeout = target, blocks, interval, timeout
        self.seconds = int(interval) - 1 if delta_seconds == 14 else delta_seconds
        self.path_prefix = path_prefix
        self.deltas = {name: Delta(types) for name, (_, _, types) in blocks.items() if types}
        self.store, self.scrapes, self.faults = Store(), [], []
        self.bucket, self.over, self.lock = bucket or Bucket(), threading.Event(), threading.Lock()
        self.labels = {"job": "pyroscope.scrape.nl6", "instance": target,
                       "service_name": service_name,
                       "otel.scope.name": "com.grafana.alloy/pyroscope.scrape",
                       "otel.scope.version": "v1"}
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NotModified)

    def fetch(self, block):
        path, lasts, _ = self.blocks[block]
        url = f"http://{self.target}{self.path_prefix}{path}"
        deadline = self.timeout
        if lasts:
            url += f"?seconds={self.seconds}"
            deadline += self.interval - 1
        ask = urllib.request.Request(url, headers={"User-Agent": "Alloy/v1"})
        begun = time.monotonic()
        with self.opener.open(ask, timeout=deadline * SLOW) as got:
            body = got.read()
        if time.monotonic() - begun > deadline * SLOW:
            raise Rejected("context deadline exceeded")
        return got.status, got.headers["Content-Type"], body

    def scrape(self, block):
        """One scrape of a block; what came of it is kept in scrapes as well."""
        begun = time.monotonic()
        it = Scrape(block, begun, 0)
        try:
            it.status, content_type, body = self.fetch(block)
            accept(it.status, content_type, body)
            self.forward(it, body)
        except (Rejected, Refused, OSError, HTTPException) as e:
            it.error = str(e) or repr(e)
        it.seconds = time.monotonic() - begun
        with self.lock:
            self.scrapes.append(it)
        return it

    def forward(self, it, body):
        raw = unpack(body)
        kind = "block" if it.block.endswith("block") else None
        try:
            it.profile = pprof_judge.judge(body, kind)
            message = decode(raw, PROFILE)
        except Bad as e:
            self.faults.append(f"{it.block}: {e}")
            raise Rejected(str(e)) from None
        labels = dict(self.labels)
        delta = self.deltas.get(it.block)
        if delta:
            collapsed = delta.collapsed
            message = delta.compute(message)
            if delta.collapsed > collapsed:
                self.faults.append(f"{it.block}: stacks of the same addresses")
            if not message:
                return
            labels["__delta__"] = "false"
        body = gzip.compress(encode(message), 1)
        lost = []
        name = it.block.removeprefix("godeltaprof_")
        it.stored = store_profile(body, name, labels, time.time(), lost, self.bucket)
        with self.lock:
            self.faults += [f"{it.block}: {what}" for what in lost]
            self.store.profiles.append(it.stored)

    def query(self, type_id, labels=None, **more):
        return self.store.query(type_id, labels, **more)

    def of(self, block):
        with self.lock:
            return [s for s in self.scrapes if s.block == block]

    def loop(self, block):
        offset = zlib.crc32(f"{self.target}{block}".encode()) / 2**32 * self.interval
        at = time.monotonic() + offset + self.interval
        while not self.over.wait(max(0, at - time.monotonic())):
            self.scrape(block)
            at += self.interval

    def __enter__(self):
        self.over.clear()
        self.threads = [threading.Thread(target=self.loop, args=(b,)) for b in self.blocks]
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()
