"""examples/pyroscope: what it starts is pinned, and the interop run uses the same files."""

import json
import re

import yaml

from source import ROOT, text, tracked

EXAMPLE = "examples/pyroscope/"
INTEROP = "interop/pyroscope/"
# A version with three numbers and nothing that moves.
PINNED = re.compile(r"[a-z0-9/]+:v?\d+\.\d+\.\d+")


def read(path):
    return yaml.safe_load(text(path))


def images(path):
    return {name: it["image"] for name, it in read(path)["services"].items() if "image" in it}


def mounted(path):
    """The files of this tree that the services of a compose file mount, by service."""
    found = {}
    for name, service in read(path)["services"].items():
        for volume in service.get("volumes", []):
            host = (ROOT / path).parent / volume.split(":")[0]
            assert host.exists(), f"{path}: {volume}"
            found.setdefault(name, []).append(str(host.resolve().relative_to(ROOT)))
    return found


def test_images_are_pinned():
    used = images(EXAMPLE + "compose.yaml")
    assert set(used) == {"pyroscope", "alloy", "prometheus", "grafana"}
    assert [i for i in used.values() if not PINNED.fullmatch(i)] == []
    latest = [str(p) for p in tracked() if str(p).startswith((EXAMPLE, INTEROP))
              and p.suffix != ".png" and ":latest" in text(p)]
    assert latest == []


def test_both_ways_use_the_same_images_and_files():
    used = images(EXAMPLE + "compose.yaml")
    for name, image in images(INTEROP + "compose.yaml").items():
        assert used[name] == image
        assert mounted(INTEROP + "compose.yaml")[name] == mounted(EXAMPLE + "compose.yaml")[name]
    # The way with binaries.
    given = re.findall(r"""EXAMPLE / ["']([\w.-]+)["']""", text(INTEROP + "servers.py"))
    files = sum(mounted(INTEROP + "compose.yaml").values(), [])
    assert sorted(EXAMPLE + name for name in given) == sorted(files)


def test_variables_of_the_configuration_are_those_that_are_set():
    wanted = set(re.findall(r"\$\{(\w+):-", text(EXAMPLE + "pyroscope.yaml")))
    given = set(read(INTEROP + "compose.yaml")["services"]["pyroscope"]["environment"])
    assert given < wanted and "PYROSCOPE_PORT" in given
    for name in ("alloy-scrape.alloy", "alloy-production.alloy"):
        assert set(re.findall(r'sys\.env\("(\w+)"\)', text(EXAMPLE + name))) == {
            "NL6_SCRAPE_TARGET", "PYROSCOPE_URL"}


def test_yaml_and_json_are_valid():
    for p in tracked(".yaml", ".json"):
        if str(p).startswith((EXAMPLE, INTEROP)):
            (json.loads if p.suffix == ".json" else yaml.safe_load)(text(p))


def test_flags_of_the_example_exist():
    known = set(re.findall(r"^\| `(-[\w-]+)", text("docs/flags.md"), re.M))
    used = {f.split("=")[0] for f in read(EXAMPLE + "compose.yaml")["services"]["nl6"]["command"]}
    assert used <= known and "-profiling-share-cpu" in used


def test_dashboard_asks_for_what_there_is():
    sources = {s["uid"]: s["type"] for s in
               read(EXAMPLE + "grafana/provisioning/datasources/nl6.yaml")["datasources"]}
    metrics = set(re.findall(r"`(nl6_\w+)", text("docs/metrics.md")))
    kinds = set(re.findall(r'"(\w+:\w+:\w+:\w+:\w+)"', text(INTEROP + "run.py")))
    panels = json.loads(text(EXAMPLE + "grafana/dashboards/nl6.json"))["panels"]
    assert panels
    for panel in panels:
        for target in panel["targets"]:
            source = target["datasource"]
            assert sources[source["uid"]] == source["type"] == panel["datasource"]["type"]
            if "expr" in target:
                assert set(re.findall(r"nl6_\w+", target["expr"])) <= metrics, target["expr"]
            else:
                assert target["profileTypeId"] in kinds | {
                    "process_cpu:cpu:nanoseconds:cpu:nanoseconds"}
