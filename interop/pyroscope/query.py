"""What Pyroscope has stored, by its query API."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request

from servers import OPENER, Unreachable

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
TYPES = "__profile_type__"


def selector(**labels):
    return "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "}"


class Store:
    def __init__(self, url):
        self.url = url

    def ask(self, request, seconds=30):
        """The JSON that comes back; what fails is tried again, for a server may be busy."""
        end = time.monotonic() + seconds
        while True:
            try:
                with OPENER.open(request, timeout=15) as got:
                    return json.load(got)
            except urllib.error.HTTPError as e:
                why = f"status {e.code}: {e.read(300).decode(errors='replace').strip()}"
            except (OSError, ValueError) as e:
                why = str(e)
            if time.monotonic() > end:
                raise Unreachable(f"{self.url}: {why}")
            time.sleep(0.5)

    def call(self, method, **body):
        return self.ask(urllib.request.Request(
            f"{self.url}/querier.v1.QuerierService/{method}", json.dumps(body).encode(),
            {"Content-Type": "application/json"}))

    def types(self, service, since):
        """Ids of the profile types stored for a service since then (seconds since 1970)."""
        got = self.call("LabelValues", name=TYPES, matchers=[selector(service_name=service)],
                        start=int(since * 1000), end=int(time.time() * 1000) + 1)
        return sorted(got.get("names", []))

    def flames(self, kind, since, **labels):
        """The flame graph of a profile type: its sum, and the names in it."""
        query = urllib.parse.urlencode({
            "query": kind + selector(**labels), "from": int(since * 1000),
            "until": int(time.time() * 1000) + 1, "format": "json", "max-nodes": 16384})
        flames = self.ask(f"{self.url}/pyroscope/render?{query}")["flamebearer"]
        return flames["numTicks"], flames["names"]

    def total(self, kind, since, **labels):
        return self.flames(kind, since, **labels)[0]
