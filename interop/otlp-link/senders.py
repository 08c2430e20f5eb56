"""Who makes spans and samples: nl6 itself, and what the bridge makes links for."""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pyroscope"))

from lab import NL6, Lab  # noqa: E402
from link_servers import wait_listening  # noqa: E402
from servers import OPENER, Process, Unreachable, free_ports  # noqa: E402
from tap import PROFILES  # noqa: E402

from otlp_make import Maker  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BRIDGE = NL6.parent / "nl6-pprof-link"
MANY = 2_000_000  # devices of a request: some tenths of a second of CPU
PULL_S = 5


@dataclass
class Sent:
    """What a request was answered: ids of its span."""
    header: str

    def __post_init__(self):
        found = re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", self.header or "")
        self.trace, self.span, flags = found.groups() if found else ("", "", "00")
        self.is_valid = bool(found) and int(flags, 16) & 1 == 1


def ask(method, url, body=None, **headers):
    """The ids of an answer that is a success."""
    headers |= {"Content-Type": "application/json"} if body else {}
    data = json.dumps(body).encode() if body else None
    with OPENER.open(urllib.request.Request(url, data, headers, method=method), timeout=60) as got:
        got.read()
        return Sent(got.headers["traceresponse"])


class Nl6:
    """An nl6 with 50 devices under SNMP requests, so that most samples are of no span; what is slow
    is to create many more."""

    hot, has_more, makes_spans = "fleet_add_slice", True, True

    def __init__(self, tap, service, folder, by_collector=False, grpc=None):
        self.service, self.by_collector, self.asked = service, by_collector, 0
        to = grpc or tap.url
        self.lab = Lab(folder, "-otlp-endpoint", to, "-otlp-profiles", to,
                       "-otlp-resource", f"service.name={service}",
                       *(["-otlp-protocol", "grpc"] if grpc else []))
        status, data = self.lab.turn(enabled=True)
        if status != 200:
            self.stop()
            raise Unreachable(f"the gate: {status} {data}")

    def ask(self, **headers):
        first = 48 + 32 * self.asked
        self.asked += 1
        return ask("POST", f"http://{self.lab.address}/api/v1/devices", {
            "start_ip": f"127.{first}.0.1", "device_count": MANY,
            "snmp_port": self.lab.snmp_port}, **headers)

    def stop(self):
        self.lab.stop()


def build_go_app(folder):
    """The path of goapp, built with the local Go and nothing else."""
    if not shutil.which("go"):
        raise Unreachable("there is no Go to build goapp with")
    out = folder / "goapp"
    done = subprocess.run(["go", "build", "-trimpath", "-o", str(out), "."], cwd=HERE / "goapp",
                          env=os.environ | {"GOCACHE": str(folder / "gocache"), "GOFLAGS": "",
                                            "CGO_ENABLED": "0"},
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Unreachable(f"goapp: {done.stderr[-1000:]}")
    return out


class GoApp:
    """The Go service, with the bridge that pulls its profiles."""

    hot, has_more, makes_spans, by_collector = "main.countPrimes", False, False, False

    def __init__(self, app, tap, service, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.service, self.bridge = service, None
        self.app = subprocess.Popen([str(app)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=open(folder / "goapp.log", "wb"))
        try:
            said = select.select([self.app.stdout], [], [], 30)[0] and \
                self.app.stdout.readline().decode()
            found = re.match(r"ready (\S+)", said or "")
            if not found:
                raise Unreachable(f"goapp is not ready: {said}")
            self.url = found[1]
            self.bridge = Process("bridge", folder, bridge(self.url, tap.url, service), {})
        except BaseException:
            self.stop()
            raise

    def ask(self):
        return ask("GET", f"{self.url}/primes?ms=2000")

    def stop(self):
        if self.bridge:
            self.bridge.stop()
        self.app.send_signal(signal.SIGTERM)
        self.app.wait(20)
        self.app.stdout.close()


class Labelled:
    """Profiles whose samples have their span as attributes, as a Collector that scrapes pprof makes
    them: sent through a Collector to the bridge, which makes links of them and sends them on."""

    hot, has_more, makes_spans, by_collector = "work", True, False, False

    def __init__(self, servers, tap, service, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.service, port = service, free_ports(1)[0]
        self.bridge = Process("bridge", folder, [
            str(BRIDGE), "-listen", f"127.0.0.1:{port}", "-send", tap.url], {})
        try:
            wait_listening(port, 30, self.bridge.ended)
            self.url = servers.collector_before(f"http://127.0.0.1:{port}", folder)
        except BaseException:
            self.stop()
            raise

    def ask(self):
        trace, span = os.urandom(16).hex(), os.urandom(8).hex()
        m = Maker(service=self.service).add(["idle", "main"], 5, subsystem="main")
        m.add(["work", "main"], 3, **{"otel.profile.trace_id": trace, "otel.profile.span_id": span})
        with OPENER.open(urllib.request.Request(
                self.url + PROFILES, m.bytes(), {"Content-Type": "application/x-protobuf"})):
            return Sent(f"00-{trace}-{span}-01")

    def stop(self):
        self.bridge.stop()


def bridge(pull, to, service):
    """How the bridge is started between a service and a receiver of OTLP."""
    return [str(BRIDGE), "-url", f"{pull}/debug/pprof/profile?seconds={PULL_S}",
            "-interval", f"{PULL_S}s", "-send", to, "-service-name", service]
