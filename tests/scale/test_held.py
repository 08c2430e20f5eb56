"""The heap profile of a large fleet adds up to what the process holds."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "functional"))

from pprof_judge import judge  # noqa: E402
from test_million import anonymous_kib, booted  # noqa: E402

DEVICES = 200_000


@pytest.mark.parametrize("flags", [(), ("-profiling-heap-at-boot",)])
def test_in_use_is_what_the_process_holds(nl6, flags):
    it, _ = booted(nl6, DEVICES, *flags)
    assert it.post("/api/v1/profiling", {"enabled": True, "server_address": ""}).status == 200
    # What the first takes to name functions stays, but was not there when it was taken.
    assert it.get("/debug/pprof/heap").status == 200
    for _ in range(3):
        held = anonymous_kib(it) * 1024
        reply = it.get("/debug/pprof/heap")
        assert reply.status == 200
        assert judge(reply.body, "heap").total("inuse_space") >= 0.95 * held
        assert it.get("/api/v1/devices?limit=1000").status == 200
