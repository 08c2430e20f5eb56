"""The measure of a label scope, for bench/run."""
import subprocess


def rows(build, quick):
    """(name, ratios of the pairs, goal, what else to tell) of each measure; lower is better."""
    pairs, rounds = (3, 100_000) if quick else (31, 5_000_000)
    out = subprocess.run([build / "bench/bench-label-scope", str(pairs), str(rounds)], check=True,
                         text=True, stdout=subprocess.PIPE).stdout.splitlines()
    *lines, last = out
    costs = [tuple(map(float, line.split())) for line in lines]
    ratios = [scope / call for scope, call in costs]
    middle = sorted(costs)[len(costs) // 2]
    tells = f"{middle[0]:.2f} ns, call {middle[1]:.2f} ns, {last} bytes"
    return [("label scope / empty function call", ratios, "<= 3", tells)]
