"""A push while a large fleet is polled: every window adds up to the CPU time that was used, windows
come when they should, and nothing grows."""

import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "functional"))

from program import FULL, NL6  # noqa: E402
from pyroscope_peer import Pyroscope  # noqa: E402
from test_million import START, anonymous_kib, booted  # noqa: E402

TOOLS = pathlib.Path(os.environ.get("TEST_TOOLS", NL6.parent)).resolve()
DEVICES = 200_000
WINDOWS = 40 if FULL else 2
WINDOW_S = 15


def cpu_s(it):
    """Of all threads, ended ones too: the process's CPU clock, by the kernel's encoding."""
    return time.clock_gettime(~it.process.pid << 3 | 2)


class Watched(Pyroscope):
    """Notes the process's CPU time and memory when a CPU profile arrives."""

    def __init__(self):
        super().__init__()
        self.it, self.seen, self.behave = None, [], self.note

    def note(self, handler):
        if self.it and "units=samples" in handler.path:
            self.seen.append((time.monotonic(), cpu_s(self.it), anonymous_kib(self.it)))
        handler.receive()


def test_windows_add_up_under_load(nl6):
    peer = Watched()
    try:
        it, _ = booted(nl6, DEVICES)
        load = subprocess.Popen(
            [TOOLS / "bench/bench-snmp-get", START, str(DEVICES), str(it.snmp_port), "get",
             str((WINDOWS + 3) * WINDOW_S)], stdout=subprocess.PIPE, text=True)
        try:
            peer.it = it
            assert it.post("/api/v1/profiling",
                           {"enabled": True, "server_address": peer.url}).status == 200
            peer.wait_uploads(2, "process_cpu", 3 * WINDOW_S)
            tables = it.get("/api/v1/profiling").data["sampler"]["bytes"]
            windows = peer.wait_uploads(WINDOWS + 1, "process_cpu", (WINDOWS + 3) * WINDOW_S)
        finally:
            load.kill()
            load.wait()
        ratios = [windows[i].profile.total("cpu") / 1e9 / (peer.seen[i][1] - peer.seen[i - 1][1])
                  for i in range(1, WINDOWS + 1)]
        # A note that comes late counts in the next window; all of them together have no such end.
        assert all(0.9 <= r <= 1.1 for r in ratios), ratios
        used = peer.seen[WINDOWS][1] - peer.seen[0][1]
        total = sum(w.profile.total("cpu") for w in windows[1:WINDOWS + 1]) / 1e9 / used
        assert 0.97 <= total <= 1.03, ratios
        gaps = [b[0] - a[0] for a, b in zip(peer.seen, peer.seen[1:])]
        assert all(WINDOW_S - 1 <= g <= WINDOW_S + 1 for g in gaps), gaps
        # The first window reads debug information; then names are added where no sample had fallen
        # before, ever fewer: memory that settles, not one that grows with each window.
        data = it.get("/api/v1/profiling").data
        named = (data["sampler"]["bytes"] - tables) / 1024
        memory = [kib for _, _, kib in peer.seen]
        last, middle = memory[-1] - max(named, 0), memory[len(memory) // 2]
        assert last <= 1.02 * memory[1] and last <= 1.005 * max(middle, memory[1]), (
            f"{memory}, {named:.0f} KiB of names")
        assert "sdk_errors" not in data and "last_error" not in data
        assert it.post("/api/v1/profiling", {"enabled": False}).status == 200
    finally:
        peer.close()
    print(f"{len(ratios)} windows: sampled / used CPU {total:.4f}, {min(ratios):.4f} to "
          f"{max(ratios):.4f} each, "
          f"{min(gaps):.2f} to {max(gaps):.2f} s apart, memory {memory[1]} to {memory[-1]} KiB, "
          f"{named:.0f} of them names")
