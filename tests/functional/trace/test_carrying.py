"""Who has the CPU, the push or OTLP: it is not stored twice."""

import contextlib

from http_peer import answer
from program import until
from pyroscope_peer import Pyroscope
from test_tracing import GATE, WINDOW_S, some_load, turn


def test_the_cpu_is_not_stored_twice(fleet, otlp):
    """To the push as well until OTLP has had a 200, and again after three windows that failed."""
    pyroscope, receiver = Pyroscope(), otlp()
    it = fleet(10, "-otlp-endpoint", receiver.url, "-otlp-profiles", receiver.url)
    with contextlib.closing(pyroscope), some_load(it):
        turn(it, enabled=True, server_address=pyroscope.url)
        assert it.request("GET", GATE).data["otlp"]["carries_cpu"] is False

        def pushed():
            return len(pyroscope.named("process_cpu"))

        until(40, lambda: it.request("GET", GATE).data["otlp"]["carries_cpu"], "OTLP to carry it")
        before = pushed()
        assert before <= 1  # the window that had nothing to go by yet
        receiver.wait_profiles(3, 60)
        assert pushed() == before
        assert all(abs(p.duration_ns / 1e9 - WINDOW_S) < 2 for p in receiver.profiles)
        receiver.behave = answer(503)
        until(5 * WINDOW_S, lambda: not it.request("GET", GATE).data["otlp"]["carries_cpu"],
              "the push to have it again")
        until(2 * WINDOW_S, lambda: pushed() > before, "a window that is pushed")
