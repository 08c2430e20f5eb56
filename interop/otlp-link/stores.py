"""What the stores have, by their own APIs: traces in Tempo or Jaeger, flame graphs in Pyroscope."""

import base64
import json
import pathlib
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pyroscope"))

from query import CPU, Store, selector  # noqa: E402
from servers import OPENER  # noqa: E402


@dataclass
class Span:
    id: str  # in hex
    parent: str
    name: str
    service: str
    attributes: dict


def get(url):
    """The JSON behind a URL, None while there is none; a store may also say so by 500."""
    try:
        with OPENER.open(url, timeout=15) as got:
            return json.load(got)
    except urllib.error.HTTPError:
        return None


def as_hex(text):
    """An id of OTLP's JSON: in hex, as OTLP has it, or in base64, as protobuf's JSON has it."""
    if len(text) in (16, 32):
        return text
    return base64.b64decode(text).hex()


def plain(pairs):
    return {p["key"]: next(iter(p["value"].values()), None) for p in pairs}


class Tempo:
    kind = "Tempo"

    def __init__(self, url):
        self.url = url

    def spans(self, trace):
        got = get(f"{self.url}/api/v2/traces/{trace}") or {}
        found = []
        for envelope in got.get("trace", {}).get("resourceSpans", []):
            service = plain(envelope["resource"]["attributes"]).get("service.name")
            found += [Span(as_hex(s["spanId"]), as_hex(s.get("parentSpanId", "")), s["name"],
                           service, plain(s.get("attributes", [])))
                      for scope in envelope["scopeSpans"] for s in scope["spans"]]
        return found


class Jaeger:
    kind = "Jaeger"

    def __init__(self, url):
        self.url = url

    def spans(self, trace):
        found = []
        for it in (get(f"{self.url}/api/traces/{trace}") or {}).get("data") or []:
            for s in it["spans"]:
                parent = [r["spanID"] for r in s["references"] if r["refType"] == "CHILD_OF"]
                found.append(Span(s["spanID"], (parent or [""])[0], s["operationName"],
                                  it["processes"][s["processID"]]["serviceName"],
                                  {t["key"]: t["value"] for t in s["tags"]}))
        return found


class Flames(Store):
    """Pyroscope's flame graphs by trace and by span."""

    def merged(self, since, until, service, **which):
        """Sum and names; which: traceIdSelector=[...] or spanSelector=[...], or nothing: all."""
        got = self.call("SelectMergeStacktraces", profile_typeID=CPU,
                        label_selector=selector(service_name=service),
                        start=int(since * 1000), end=int(until * 1000), maxNodes=16384, **which)
        return self.sum_of(got)

    def by_span(self, since, until, service, span):
        """As Grafana asks."""
        got = self.call("SelectMergeSpanProfile", profileTypeID=CPU,
                        labelSelector=selector(service_name=service), spanSelector=[span],
                        start=int(since * 1000), end=int(until * 1000), maxNodes=16384)
        return self.sum_of(got)

    @staticmethod
    def sum_of(got):
        graph = got.get("flamegraph", {})
        return int(graph.get("total", 0)), graph.get("names", [])
