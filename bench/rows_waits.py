"""The measures of locks and waits, closed and profiled, for bench/run."""
import statistics
import subprocess

NAMES = {"lock": "free lock pair", "fight": "fought lock pair", "queue": "wait on a queue"}
SETTING = {"lock": "mutex fraction", "fight": "mutex fraction", "queue": "block rate"}
GOALS = {("lock", "closed"): "<= 1.25", ("lock", "1"): "<= 1.25", ("lock", "100"): "<= 1.25",
         ("fight", "closed"): "<= 1.1", ("queue", "closed"): "<= 1.1"}


def rows(build, quick):
    """(name, ratios of the pairs, goal, what else to tell) of each measure; lower is better."""
    pairs, rounds = (3, 20_000) if quick else (31, 2_000_000)
    out = subprocess.run([build / "bench/bench-waits", str(pairs), str(rounds)], check=True,
                         text=True, stdout=subprocess.PIPE).stdout.splitlines()
    costs = {}
    for what, rate, ns in map(str.split, out):
        costs.setdefault((what, rate), []).append(float(ns))
    found = []
    for (what, rate), values in sorted(costs.items(), key=lambda c: (list(NAMES).index(c[0][0]),
                                                                   c[0][1] != "closed",
                                                                   c[0][1].zfill(9))):
        if rate == "bare":
            continue
        bare = costs[what, "bare"]
        name = f"{NAMES[what]}, " + ("closed" if rate == "closed" else f"{SETTING[what]} {rate}")
        tells = f"{statistics.median(values):.1f} ns, bare {statistics.median(bare):.1f} ns"
        found.append((f"{name} / bare", [a / b for a, b in zip(values, bare)],
                      GOALS.get((what, rate), ""), tells))
    return found
