"""The scraper: what it takes, what it refuses, the differences it makes."""

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from alloy_peer import BLOCKS, Alloy, Delta, Rejected, accept, unpack
from pprof_judge import PROFILE, decode
from pprof_make import Maker, cpu, encode, goroutine, heap, waits
from program import SLOW

OCTETS = "application/octet-stream"
SPACE = "memory:alloc_space:bytes:space:bytes"
IN_USE = "memory:inuse_space:bytes:space:bytes"


@pytest.mark.parametrize("status, content_type, body, words", [
    (503, "application/json", b"{}", r"HTTP status \(503\)"),
    (500, "text/plain", b"in use", r"HTTP status \(500\).*in use"), (400, OCTETS, b"abc", "400"),
    (200, OCTETS, b"", "empty"), (200, None, b"abc", "content type"),
    (200, "text/plain; charset=utf-8", b"abc", "content type"),
    (200, OCTETS, b"  <!DOCTYPE html><html>", "text"), (200, OCTETS, b"<html>", "text"),
    (200, OCTETS, b'\n{"success":false,"message":""}', "text"),
    (200, OCTETS, b"[" + b"x" * 20, "text"), (200, OCTETS, b"\x1f\x8b", "2 bytes"),
    (200, OCTETS, b"\x0f\x01\x01", "no protobuf"), (200, OCTETS, b"\x0e\x01\x01", "no protobuf"),
])
def test_answers_that_are_no_profile(status, content_type, body, words):
    with pytest.raises(Rejected, match=words):
        accept(status, content_type, body)


def test_answers_that_are():
    accept(200, OCTETS, cpu().bytes())
    accept(299, OCTETS + "; x=y", encode(cpu().raw))


def test_the_trailer_must_be_honest():
    data = cpu().bytes()
    assert unpack(data) == encode(cpu(time_ns=decode(unpack(data), PROFILE).time_nanos).raw)
    assert unpack(encode(goroutine().raw))
    for wrong in (data[:-1], data[:-4] + b"\x01\0\0\0", data + gzip.compress(b""), data[:-9]):
        with pytest.raises(Rejected, match="gzip"):
            unpack(wrong)


def values(message):
    return [s.value for s in message.sample]


def test_differences():
    stage = Delta(BLOCKS["memory"][2])
    assert stage.compute(heap((3, 300), (2, 200), time_ns=10).raw) is None
    got = stage.compute(heap((5, 450), (1, 100), time_ns=25).raw)
    assert values(got) == [[2, 150, 1, 100]] and got.duration_nanos == 15
    assert values(stage.compute(heap((5, 450), (0, 0)).raw)) == []
    assert values(stage.compute(heap((5, 450), (1, 100)).raw)) == [[0, 0, 1, 100]]
    stage = Delta(BLOCKS["mutex"][2])
    assert stage.compute(waits(values=(1, 10)).raw) is None
    got = stage.compute(waits(values=(1, 10)).add(["new", "main"], [2, 7]).raw)
    assert values(got) == [[2, 7]] and len(got.location) == 2
    assert b"lock" not in got.string_table and b"new" in got.string_table


def test_units_must_match():
    stage = Delta(BLOCKS["memory"][2])
    for _ in range(2):
        m = heap()
        m.raw.sample_type[1] = m.value_type("alloc_space/kilobytes")
        got = stage.compute(m.raw)
    assert values(got) == [[0, 300, 2, 200]]


def test_identity_is_by_addresses_and_labels():
    stage = Delta(())
    stage.compute(goroutine().raw)
    m = Maker("goroutine").add(["a"], [1]).add(["b"], [2]).add(["a"], [4], subsystem="x")
    assert values(stage.compute(m.raw)) == [[1], [2], [4]] and stage.collapsed == 0
    for loc in m.raw.location:
        loc.address = 0x2000
    assert values(stage.compute(m.raw)) == [[3], [4]] and stage.collapsed == 1


@pytest.mark.parametrize("change", [
    lambda m: setattr(m.raw.sample[0], "location_id", [99]),
    lambda m: setattr(m.raw.sample[0].label[0], "str", 99),
    lambda m: setattr(m.raw.sample[0], "value", [1] * 5),
])
def test_a_bad_profile_costs_the_next_one_too(change):
    stage = Delta(BLOCKS["memory"][2])
    stage.compute(heap().raw)
    bad = heap()
    change(bad)
    with pytest.raises(Rejected):
        stage.compute(bad.raw)
    with pytest.raises(Rejected, match="recovering"):
        stage.compute(heap().raw)
    assert stage.compute(heap().raw) is None


# --- over HTTP ----------------------------------------------------------------------------------

class Target(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), TargetHandler)
        self.asked, self.answers, self.rounds = [], {}, 0
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def name(self):
        return f"127.0.0.1:{self.server_address[1]}"


class TargetHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked.append((self.path, self.headers))
        path = self.path.partition("?")[0]
        status, content_type, body = self.server.answers[path]()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def target():
    it = Target()
    grown = [0]

    def memory():
        grown[0] += 1
        return 200, OCTETS, Maker("allocs").add(
            ["make", "main"], [grown[0], 100 * grown[0], 1, 50], subsystem="snmp").bytes()

    for block, (path, _, _) in BLOCKS.items():
        make = {"process_cpu": cpu, "goroutine": goroutine, "godeltaprof_memory": heap}.get(
            block, waits)
        it.answers[path] = lambda make=make: (200, OCTETS, make().bytes())
    it.answers["/debug/pprof/allocs"] = memory
    yield it
    it.shutdown()
    it.server_close()


def test_what_it_asks_and_forwards(target):
    alloy = Alloy(target.name, service_name="lab")
    for _ in range(2):
        for block in BLOCKS:
            assert alloy.scrape(block).error == ""
    assert alloy.faults == []
    assert {path for path, _ in target.asked} == {
        "/debug/pprof/" + p for p in ("allocs", "block", "goroutine", "mutex", "profile?seconds=14",
                                      "delta_heap", "delta_block", "delta_mutex")}
    assert all(h["Accept-Encoding"] in (None, "identity") for _, h in target.asked)
    assert alloy.query("process_cpu:samples:count:cpu:nanoseconds", subsystem="snmp") == [5, 5]
    assert alloy.query("goroutine:goroutine:count:goroutine:count", service_name="lab") == [1, 1]
    assert alloy.query(SPACE, subsystem="snmp") == [100]  # the first one only primed
    assert alloy.query(IN_USE, subsystem="snmp") == [50]
    assert alloy.query(SPACE, subsystem="main") == [300, 300]  # godeltaprof is passed through
    assert alloy.query(SPACE, service_name="other") == []


def test_what_it_does_not_forward(target):
    alloy = Alloy(target.name)
    target.answers["/debug/pprof/profile"] = lambda: (500, "text/plain", b"already in use\n")
    target.answers["/debug/pprof/goroutine"] = lambda: (200, OCTETS, b"junk of some length")
    assert "already in use" in alloy.scrape("process_cpu").error
    assert alloy.scrape("goroutine").error and alloy.faults
    assert alloy.store.profiles == [] and [s.status for s in alloy.scrapes] == [500, 200]


def test_deadlines(target):
    def late():
        time.sleep(0.7)
        return 200, OCTETS, cpu().bytes()

    alloy = Alloy(target.name, timeout=0.2 / SLOW)
    target.answers["/debug/pprof/profile"] = late
    target.answers["/debug/pprof/goroutine"] = late
    assert alloy.scrape("process_cpu").error == ""  # the deadline is 14 s later
    assert "timed out" in alloy.scrape("goroutine").error



def test_the_rhythm(target):
    with Alloy(target.name, interval=2) as alloy:
        end = time.monotonic() + 30
        while min(len(alloy.of(b)) for b in BLOCKS) < 3 and time.monotonic() < end:
            time.sleep(0.05)
    for block in BLOCKS:
        at = [s.at for s in alloy.of(block)]
        assert len(at) >= 3 and abs((at[-1] - at[0]) / (len(at) - 1) - 2) < 0.5
    assert ("/debug/pprof/profile?seconds=1") in [path for path, _ in target.asked]
