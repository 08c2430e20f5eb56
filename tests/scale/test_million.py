"""A million devices against a hundred thousand: ratios of one run, no absolute figures."""

import random
import re
import time

from program import until

START, FEW, MANY = "127.64.0.1", 100_000, 1_000_000


def booted(nl6, count, *flags):
    before = time.monotonic()
    it = nl6("-auto-start-ip", START, "-auto-netmask", "8", "-auto-count", str(count),
             "-auto-round-robin", *flags)
    return it, time.monotonic() - before


def anonymous_kib(it):
    """Private memory that no file backs; pages of files may come and go at any time."""
    with open(f"/proc/{it.process.pid}/smaps_rollup", encoding="ascii") as f:
        return int(re.search(r"^Anonymous:\s+(\d+) kB", f.read(), re.M)[1])


def address(i):
    """Of device i; the hosts that a /8 skips are not met here."""
    n = (64 << 16) + 1 + i
    return f"127.{n >> 16}.{n >> 8 & 255}.{n & 255}"


def test_memory_and_time_grow_no_faster_than_the_fleet(nl6):
    few, few_s = booted(nl6, FEW)
    many, many_s = booted(nl6, MANY)
    ratio = MANY / FEW
    assert anonymous_kib(many) <= anonymous_kib(few) * ratio * 1.05
    assert many_s <= few_s * ratio * 1.5
    assert many.get("/api/v1/status").data["total_devices"] == MANY


def test_each_of_a_million_answers_as_itself(nl6):
    it, _ = booted(nl6, MANY)
    names = set()
    draw = random.Random(1)
    for i in [0, MANY - 1, *draw.sample(range(1, MANY - 1), 48)]:
        answer = it.snmp("snmpget", "1.3.6.1.2.1.1.5.0", address=address(i)).stdout
        shown = it.get(f"/api/v1/devices/{address(i)}").data["detail"]["sys_name"]
        assert shown in answer
        names.add(shown)
    assert len(names) == 50
    gone = it.snmp("snmpget", "-t", "0.3", "-r", "0", "1.3.6.1.2.1.1.5.0",
                   address=address(MANY), check=False)
    assert gone.returncode != 0 and "Timeout" in gone.stderr


def test_a_deleted_million_gives_its_memory_back(nl6):
    it, _ = booted(nl6, MANY)
    full = anonymous_kib(it)
    assert it.delete("/api/v1/devices").status == 200
    assert it.get("/api/v1/status").data["total_devices"] == 0
    until(10, lambda: anonymous_kib(it) * 10 < full, "memory given back")
