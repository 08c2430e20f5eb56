"""What nl6-pprof-link costs, for bench/run: samples a second, its peak of memory, and what links add
to the bytes and the samples of a profile, by spans a window."""

import pathlib
import statistics
import subprocess
import sys
import tempfile

TYPES = b"\x0a\x04\x08\x01\x10\x02" + b"\x5a\x04\x08\x03\x10\x04" + b"\x60\x80\xad\xe2\x04"
FUNCTIONS, DEPTH = 20_000, 30
SPANS = (10, 100, 4096)
WINDOW = 1500 * 4  # samples of 15 s of four busy cores at 100 Hz
STACKS = 300       # distinct ones, of which some are taken far more often


def varint(value):
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7f
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


class Profile:
    """Bytes of a profile: functions, then samples, as many as are added."""

    def __init__(self, spans=0):
        strings = ["", "samples", "count", "cpu", "nanoseconds", "trace_id", "span_id"]
        self.parts, self.samples, self.labels = [TYPES], 0, [b""]
        for i in range(1, FUNCTIONS + 1):
            name = varint(len(strings))
            strings.append(f"package/of/a/name/function_{i}")
            self.parts.append(field(5, b"\x08" + varint(i) + b"\x10" + name + b"\x18" + name))
            line = field(4, b"\x08" + varint(i) + b"\x10" + varint(i % 900))
            self.parts.append(field(4, b"\x08" + varint(i) + b"\x18" + varint(i * 16) + line))
        if spans:
            self.labels = []
        for i in range(1, spans + 1):
            trace, span = varint(len(strings)), varint(len(strings) + 1)
            strings += [f"{i:032x}", f"{i:016x}"]
            self.labels.append(field(3, b"\x08\x05\x10" + trace) + field(3, b"\x08\x06\x10" + span))
        self.parts += [field(6, s.encode()) for s in strings]
        self.bytes = sum(map(len, self.parts))

    def add(self, stack, value, span=0):
        where = b"".join(varint((stack * 7 + k * k * 31) % FUNCTIONS + 1) for k in range(DEPTH))
        one = field(2, field(1, where) + field(2, varint(value)) +
                    self.labels[span % len(self.labels)])
        self.parts.append(one)
        self.samples += 1
        self.bytes += len(one)

    def write(self, path):
        path.write_bytes(b"".join(self.parts))
        return path


def run(program, *flags):
    """Seconds and the peak of memory in bytes. A child is charged for what its parent had when it
    was made: so a small one makes it."""
    script = ("import resource, subprocess, sys, time; began = time.perf_counter(); "
              "subprocess.run(sys.argv[1:], check=True, stdout=2); "
              "print(time.perf_counter() - began, "
              "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-S", "-c", script, str(program), *map(str, flags)],
                          capture_output=True, text=True, check=True)
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak) * 1024


def window(spans):
    """A window's samples as a profiler adds them up: one for each stack, and span if there are."""
    counts = {}
    for i in range(WINDOW):
        key = (i * i * 31 + i) % STACKS // (1 + i % 3), i % spans if spans else 0
        counts[key] = counts.get(key, 0) + 1
    out = Profile(spans)
    for (stack, span), n in counts.items():
        out.add(stack, n, span)
    return out


def rows(build, quick):
    program = pathlib.Path(build) / "nl6-pprof-link"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        large, want = Profile(100), (4 if quick else 64) << 20
        while large.bytes < want - 300:
            large.add(large.samples, large.samples % 9 + 1, large.samples)
        path = large.write(folder / "large")
        times, peaks = zip(*(run(program, "-file", path, "-out", folder / "out")
                             for _ in range(1 if quick else 5)))
        size = f"{want >> 20} MiB, {large.samples} samples"
        # The program by itself is most of a small one.
        goal = "" if quick else "<= 3"
        yield ("bridge: peak of memory / input", [max(peaks) / large.bytes], goal, size)
        yield ("bridge: samples/s", [large.samples / statistics.median(times)], "", size)
        bare = window(0)
        _ = run(program, "-file", bare.write(folder / "bare"), "-out", folder / "bare-out")
        bytes_0 = (folder / "bare-out").stat().st_size
        for spans in SPANS:
            it = window(spans)
            _ = run(program, "-file", it.write(folder / "it"), "-out", folder / "it-out")
            bytes_ = (folder / "it-out").stat().st_size
            yield (f"bridge: bytes linked / unlinked, {spans} spans", [bytes_ / bytes_0], "",
                   f"{bytes_} / {bytes_0} bytes")
            yield (f"bridge: samples linked / unlinked, {spans} spans",
                   [it.samples / bare.samples], "", f"{it.samples} / {bare.samples}")
