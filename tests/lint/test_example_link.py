"""examples/otlp-link: what it starts is pinned, its files are those of the interop run, and the way
from a span to a flame graph is there."""

import json
import re

from source import text, tracked
from test_example import images, mounted, read

EXAMPLE = "examples/otlp-link/"
INTEROP = "interop/otlp-link/"
PINNED = re.compile(r"[a-z0-9/-]+:v?\d+\.\d+\.\d+")


def test_images_are_pinned():
    used = images(EXAMPLE + "compose.yaml")
    assert set(used) == {"collector", "tempo", "pyroscope", "grafana"}
    assert [i for i in used.values() if not PINNED.fullmatch(i)] == []
    assert used["pyroscope"] == images("examples/pyroscope/compose.yaml")["pyroscope"]
    # The README tells of the same versions.
    told = dict(re.findall(r"^\| (\w+) \| (\d+\.\d+\.\d+) \|", text(EXAMPLE + "README.md"), re.M))
    assert told == {name.title(): i.partition(":")[2] for name, i in used.items()}


def test_both_ways_use_the_same_files():
    files = sum(mounted(EXAMPLE + "compose.yaml").values(), [])
    given = re.findall(r"(EXAMPLE|PYROSCOPE) / '([\w.-]+)'", text(INTEROP + "link_servers.py"))
    folders = {"EXAMPLE": EXAMPLE, "PYROSCOPE": "examples/pyroscope/"}
    assert {folders[f] + name for f, name in given} | {EXAMPLE + "grafana/provisioning"} == set(files)


def test_variables_of_the_configurations_are_set():
    set_here = text(INTEROP + "link_servers.py")
    for name, prefix in (("collector.yaml", "COLLECTOR_"), ("tempo.yaml", "TEMPO_")):
        wanted = set(re.findall(r"\$\{(?:env:)?(\w+):-", text(EXAMPLE + name)))
        ports = {w for w in wanted if w.endswith("_PORT")}
        assert ports and all(w.startswith(prefix) for w in ports)
        for port in ports:
            part = port.removeprefix(prefix).removesuffix("PORT")
            assert port in set_here or f'"{part}"' in set_here, port
        service = read(EXAMPLE + "compose.yaml")["services"][name.partition(".")[0]]
        assert set(service["environment"]) <= wanted


def test_yaml_is_valid_and_the_service_is_found_by_its_span():
    for p in tracked(".yaml"):
        if str(p).startswith((EXAMPLE, INTEROP)):
            read(str(p))
    sources = {s["uid"]: s for s in
               read(EXAMPLE + "grafana/provisioning/datasources/nl6.yaml")["datasources"]}
    way = sources["tempo"]["jsonData"]["tracesToProfiles"]
    assert sources[way["datasourceUid"]]["type"] == "grafana-pyroscope-datasource"
    assert way["profileTypeId"] == "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
    assert way["tags"] == [{"key": "service.name", "value": "service_name"}]


def test_flags_of_the_example_exist():
    known = set(re.findall(r"^\| `(-[\w-]+)", text("docs/flags.md"), re.M))
    used = {f.split("=")[0] for f in read(EXAMPLE + "compose.yaml")["services"]["nl6"]["command"]}
    assert used <= known and {"-otlp-endpoint", "-otlp-profiles"} <= used


def test_pipelines_lead_to_where_they_should():
    it = read(EXAMPLE + "collector.yaml")
    for signal in ("traces", "profiles"):
        way = it["service"]["pipelines"][signal]
        assert way["receivers"] == ["otlp"] and f"otlp_http/{signal}" in way["exporters"]
        assert set(way["exporters"]) <= set(it["exporters"])
    assert json.dumps(it).count("0.0.0.0") == 0, "only where compose says so"
