"""Walks of every type: they end, rise, and every way of asking tells the same."""

import pytest

from asker import (COUNTER32, COUNTER64, GAUGE32, GET, GETNEXT, TIMETICKS, V1, arcs)
from program import FULL

# What may differ between two questions; the rest stands still.
ENGINE_TIME = "1.3.6.1.6.3.10.2.1.3.0"  # an INTEGER that moves
MOVES = {COUNTER32, COUNTER64, GAUGE32, TIMETICKS}



def same(one, other):
    assert [(b.name, b.tag) for b in one] == [(b.name, b.tag) for b in other]
    for a, b in zip(one, other):
        assert a.tag in MOVES or a.name == ENGINE_TIME or a.value == b.value, a.name


TYPES = 29


@pytest.fixture(scope="module")
def chunks():
    return 40


def test_next_bulk_and_get_agree_on_every_object(fleet, asker, chunks):
    program = fleet(TYPES)
    for i in range(1, TYPES + 1):
        ask = asker(program, i)
        bulk = ask.walk(repetitions=1000)
        assert len(bulk) > 50
        names = [b.name for b in bulk]
        assert names == sorted(set(names), key=arcs)
        # As many small answers as it takes: where a datagram ends tells nothing of the end.
        same(bulk, ask.walk(repetitions=7))
        got = []
        for at in range(0, len(names), chunks):
            part = names[at:at + chunks]
            answer = ask.ask(GET, *part)
            while answer.error == 1:  # tooBig: ask for less
                part = part[:len(part) // 2]
                answer = ask.ask(GET, *part)
            got += answer.bindings
            for name in names[at + len(part):at + chunks]:
                got += ask.ask(GET, name).bindings
        same(bulk, got)
        if i <= 3 or FULL:
            same(bulk, ask.walk())


def test_v1_sees_all_but_counter64(fleet, asker):
    program = fleet(3)
    ask = asker(program, 2)
    bulk = [b for b in ask.walk(repetitions=1000) if b.tag != COUNTER64]
    same(bulk, ask.walk(version=V1))
    hidden = next(b.name for b in ask.walk("1.3.6.1.2.1.31", repetitions=100)
                  if b.tag == COUNTER64)
    refused = ask.ask(GET, "1.3.6.1.2.1.1.1.0", hidden, version=V1)
    assert (refused.error, refused.index) == (2, 2)
    assert [b.name for b in refused.bindings] == ["1.3.6.1.2.1.1.1.0", hidden]
    assert ask.ask(GETNEXT, hidden, version=V1).bindings[0].tag != COUNTER64


def test_twin_counters_agree_in_one_answer(fleet, asker):
    program = fleet(1)
    ask = asker(program)
    ports = [b.name.rsplit(".", 1)[1] for b in ask.walk("1.3.6.1.2.1.2.2.1.1", repetitions=50)]
    for port in ports[:10]:
        long, short = ask.ask(GET, f"1.3.6.1.2.1.31.1.1.1.6.{port}",
                              f"1.3.6.1.2.1.2.2.1.10.{port}").bindings
        assert (long.tag, short.tag) == (COUNTER64, COUNTER32)
        assert (int.from_bytes(long.value, "big") - int.from_bytes(short.value, "big")) % 2**32 == 0


def test_uptime_runs_and_begins_with_the_program(fleet, asker):
    program = fleet(1)
    ask = asker(program)
    first = int.from_bytes(ask.ask(GET, "1.3.6.1.2.1.1.3.0").bindings[0].value, "big")
    assert first < 100 * 120
    second = first
    for _ in range(1000):
        second = int.from_bytes(ask.ask(GET, "1.3.6.1.2.1.1.3.0").bindings[0].value, "big")
        assert second >= first
        if second > first:
            break
    assert second > first
