"""The measures of the allocator's hook and the heap sampler, for bench/run."""
import subprocess


def run(build, *command):
    program, *arguments = command
    return [float(word) for word in subprocess.run(
        [build / "bench" / program, *map(str, arguments)], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split()]


def malloc_rows(build, pairs, seconds):
    """Closed and open against a program without the hook, in alternating order."""
    shut, wide, bare = ("bench-malloc", seconds), ("bench-malloc", seconds, "open"), (
        "bench-malloc-bare", seconds)
    tight_more, mixed, mixed_open = [], [], []
    for i in range(pairs):
        order = (shut, wide, bare) if i % 2 == 0 else (bare, wide, shut)
        took = {command: run(build, *command) for command in order}
        tight_more.append(took[shut][0] - took[bare][0])
        mixed.append(took[shut][1] / took[bare][1])
        mixed_open.append(took[wide][1] / took[bare][1])
    tells = f"bare {took[bare][0]:.1f} ns tight, {took[bare][1]:.1f} ns mixed"
    return [("malloc mixed, hook closed / without", mixed, "<= 1.02", tells),
            ("malloc tight 64 bytes, ns more closed", tight_more, "<= 1.5", ""),
            ("malloc mixed, sampled at 512 KiB / without", mixed_open, "", "")]


def truth_rows(build, seeds, samples):
    least, *ratios = run(build, "bench-heap-truth", seeds, samples)
    names = "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"
    tells = f"{seeds} seeds, >= {least:.0f} samples each"
    return [(f"heap estimate / truth, {name}", [ratio], "0.98 to 1.02", tells)
            for name, ratio in zip(names, ratios)]


def rows(build, quick):
    """(name, ratios of the pairs, goal, what else to tell) of each measure."""
    pairs, seconds, seeds, samples = (3, 0.05, 3, 2000) if quick else (31, 0.2, 20, 20000)
    return malloc_rows(build, pairs, seconds) + truth_rows(build, seeds, samples)
