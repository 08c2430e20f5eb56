"""Alloy's default block with the three delta blocks, on a program under load."""

import concurrent.futures
import time

import pytest

from alloy_peer import BLOCKS, Alloy
from program import SLOW, until
from test_gate import GATE, pull_only, turn
from test_judges import load

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
GOROUTINE = "goroutine:goroutine:count:goroutine:count"
ALLOC = "memory:alloc_space:bytes:space:bytes"
IN_USE = "memory:inuse_space:bytes:space:bytes"
RATES = ("-profiling-mutex-fraction", "1", "-profiling-block-rate", "1")


def alloy_of(it, **more):
    return Alloy(it.url.removeprefix("http://"), service_name="lab", **({"interval": 2} | more))


def rounds(alloy, n=1, blocks=BLOCKS):
    """All blocks at once, n times; without an error."""
    for _ in range(n):
        with concurrent.futures.ThreadPoolExecutor(len(blocks)) as pool:
            for it in pool.map(alloy.scrape, blocks):
                assert it.error == "", (it.block, it.error)
    assert alloy.faults == []


def test_everything_arrives_and_can_be_filtered(fleet):
    it = fleet(50, *RATES, "-profiling-heap-rate", "1024", "-profiling-cpu-rate", "500")
    pull_only(it)
    with load(it):
        alloy = alloy_of(it)
        rounds(alloy, 3)
    for kind, least in ((CPU, 3), (SAMPLES, 3), (GOROUTINE, 3), (ALLOC, 4), (IN_USE, 4),
                        ("block:contentions:count:contentions:count", 4),
                        ("block:delay:nanoseconds:contentions:count", 4)):
        assert len(alloy.query(kind, service_name="lab")) >= least, kind
        assert alloy.query(kind, service_name="other") == [], kind
        assert alloy.query(kind, subsystem="bogus") == [], kind
    # The agents allocate nothing while they answer, and wait in their sockets only.
    for kind, where in ((CPU, "snmp"), (SAMPLES, "snmp"), (GOROUTINE, "snmp"), (ALLOC, "api"),
                        (IN_USE, "api")):
        assert alloy.query(kind, subsystem=where), kind
    for kind in ("mutex:contentions:count:contentions:count",
                 "memory:alloc_objects:count:space:bytes"):
        assert kind in {t for p in alloy.store.profiles for t in p.type_ids}
    # The first of those with differences only primes.
    assert [bool(s.stored) for s in alloy.of("memory")] == [False, True, True]
    assert [bool(s.stored) for s in alloy.of("godeltaprof_memory")] == [True] * 3


def test_in_its_own_rhythm(fleet):
    """The offset and two intervals later each block has arrived, and CPU covers its seconds."""
    it = fleet(5)
    pull_only(it)
    with alloy_of(it) as alloy:
        until(60, lambda: all(len(alloy.of(b)) >= 2 for b in BLOCKS), "two scrapes of each block")
    assert [s.error for s in alloy.scrapes if s.error] == [] and alloy.faults == []
    for s in alloy.of("process_cpu"):
        assert s.profile.duration_ns >= 0.95e9
        assert s.seconds < 2 * SLOW


def test_differences_add_up_to_the_sums(fleet):
    """What the cumulative block gives by differences is what the delta endpoint gives."""
    it = fleet(5, "-profiling-heap-rate", "1")
    pull_only(it)
    alloy = alloy_of(it)
    for _ in range(2):  # what looks names up allocates, too
        alloy.scrape("memory"), alloy.scrape("godeltaprof_memory")
    for _ in range(200):
        assert it.get("/api/v1/devices?limit=50").status == 200
    last = alloy.scrape("memory"), alloy.scrape("godeltaprof_memory")
    for kind in ALLOC, IN_USE:
        a, b = (s.stored.total(kind, {"subsystem": "api"}) for s in last)
        assert abs(a - b) / max(a, b) < 0.1, (kind, a, b)
    assert alloy.faults == []


def test_nothing_changes_nothing_comes(fleet):
    """Locations keep their addresses from scrape to scrape: an idle program has small deltas."""
    it = fleet(5, *RATES)
    pull_only(it)
    alloy = alloy_of(it)
    rounds(alloy, 4, ("memory", "mutex", "goroutine"))  # names are looked up at first
    held = alloy.of("memory")[-1].profile.total("alloc_space")
    assert alloy.of("memory")[-1].stored.total(ALLOC, {}) < held / 2
    stacks = [{(s.stack, s.labels.get("subsystem")) for s in x.profile.samples}
              for x in alloy.of("goroutine")]
    assert len(stacks[2] & stacks[3]) >= len(stacks[2]) / 2


def test_closed_it_is_down_and_comes_back(fleet):
    it = fleet(1)
    alloy = alloy_of(it)
    for block in BLOCKS:
        assert "HTTP status (503)" in alloy.scrape(block).error
    assert alloy.store.profiles == []
    pull_only(it)
    rounds(alloy)
    assert turn(it, enabled=False).status == 200
    stored = len(alloy.store.profiles)
    assert stored and all(alloy.scrape(b).status == 503 for b in BLOCKS)
    assert len(alloy.store.profiles) == stored


def test_a_second_scraper_gets_the_500_and_stores_nothing(fleet):
    it = fleet(1)
    pull_only(it)
    one, two = alloy_of(it, interval=4), alloy_of(it)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(one.scrape, "process_cpu")
        until(20, lambda: it.get(GATE).data["sampler"]["sampling"], "sampling")
        refused = two.scrape("process_cpu")
        assert refused.status == 500 and "cpu profiling already in use" in refused.error
        assert two.scrape("goroutine").error == ""
        assert first.result().error == ""
    assert len(one.store.profiles) == 1 and len(two.query(CPU)) == 0
    until(20, lambda: two.scrape("process_cpu").error == "", "scrape of CPU")


def test_shared_every_scraper_gets_its_own(fleet):
    it = fleet(1, "-profiling-share-cpu")
    pull_only(it)
    alloys = [alloy_of(it) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for s in pool.map(lambda a: a.scrape("process_cpu"), alloys):
            assert s.error == ""


@pytest.mark.parametrize("block", ["memory", "mutex", "block", "goroutine"])
def test_seconds_that_leak_into_other_blocks(fleet, block):
    """A parameter that a user sets reaches every target: a difference, soon enough, or a 400."""
    it = fleet(1)
    pull_only(it)
    path, _, types = BLOCKS[block]
    alloy = alloy_of(it, blocks={block: (path, True, types)})
    begun = time.monotonic()
    assert alloy.scrape(block).error == ""
    assert time.monotonic() - begun < 10 * SLOW
    assert alloy.scrapes[0].profile.duration_ns >= 0.95e9
    assert it.get(path + "?seconds=30").status == 400
