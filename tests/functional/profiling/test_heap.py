"""The heap profile of a running nl6: whose allocations it sees, and what it never does."""

from pprof_judge import judge
from program import SLOW, until
from test_gate import pull_only, turn
from test_pull import pprof

BEFORE = "[allocated before profiling]"


def heap(it, path="heap"):
    reply = pprof(it, path)
    assert reply.status == 200, reply.text
    return judge(reply.body, "heap")


def in_use(profile, *names):
    column = profile.column("inuse_space")
    return sum(s.values[column] for s in profile.samples if set(names) & set(s.stack))


def test_what_libraries_allocate_counts(fleet):
    it = fleet(10, "-profiling-heap-rate", "1")
    pull_only(it)
    for _ in range(20):
        assert it.get("/api/v1/devices").status == 200
    samples = heap(it).samples
    assert any(s.stack[0].startswith("MHD_create_response") and s.labels["subsystem"] == "api"
               for s in samples)
    ours = [s for s in samples if not s.is_said]
    assert all("subsystem" in s.labels and s.numbers["bytes"] > 0 for s in ours)
    entered = sum(not s.stack[-1].startswith("[truncated") for s in ours)
    # What a sanitizer adds to the code has no unwind tables of its own everywhere.
    assert entered >= (0.99 if SLOW == 1 else 0.9) * len(ours)


def by_place(profile):
    """(alloc_objects, alloc_space) by stack, label and size; what was before is none."""
    out = {}
    for s in profile.samples:
        key = (tuple(f.address for f in s.frames), *s.labels.values(), *s.numbers.values())
        was = out.get(key, (0, 0))
        if s.stack == (BEFORE,):
            assert s.values[:2] == (0, 0) and key not in out
        out[key] = (was[0] + s.values[0], was[1] + s.values[1])
    return out


def test_allocations_never_fall(fleet):
    it = fleet(10, "-profiling-heap-rate", "4096")
    pull_only(it)
    last = {}
    for _ in range(5):
        assert it.get("/api/v1/devices").status == 200
        now = by_place(heap(it))
        for key, (objects, space) in last.items():
            assert now[key][0] >= objects and now[key][1] >= space
        last = now


def test_at_boot_the_fleet_has_its_stack(nl6, fleet):
    it = fleet(50000, "-profiling-heap-at-boot")
    pull_only(it)
    there = heap(it)
    assert in_use(there, "pool_take") > in_use(there, BEFORE)
    assert turn(it, enabled=False).status == 200
    pull_only(it)  # goes on across closing
    again = heap(it)
    assert in_use(again, "pool_take") >= in_use(there, "pool_take")


def test_without_it_the_fleet_was_before(fleet):
    it = fleet(50000)
    pull_only(it)
    full = in_use(heap(it), BEFORE)
    assert full > 8 << 20
    assert it.delete("/api/v1/devices").status == 200
    until(10, lambda: in_use(heap(it), BEFORE) < full - (5 << 20), "gone fleet")
