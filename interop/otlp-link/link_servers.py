"""The servers that the rows are run against: started here, or running already."""

import os
import pathlib
import shutil
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pyroscope"))

from servers import Process, Unreachable, free_ports, server_ports, wait_ready  # noqa: E402
from stores import Jaeger, Tempo  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples/otlp-link"
PYROSCOPE = HERE.parents[1] / "examples/pyroscope"
BINARIES = ("NL6_PYROSCOPE_BIN", "NL6_OTELCOL_BIN", "NL6_TEMPO_BIN", "NL6_JAEGER_BIN")
RUNNING = ("NL6_PYROSCOPE_URL", "NL6_OTELCOL_URL", "NL6_OTELCOL_GRPC_URL", "NL6_TRACES_URL")


def loopback(port):
    return f"http://127.0.0.1:{port}"


class Binaries:
    """Pyroscope, a Collector, and Tempo or Jaeger, on free ports of the loopback interface.

    pyroscope, traces, collector, collector_grpc: URLs they take OTLP at; store: where traces are
    read back; collector_log(): what its debug exporter wrote."""

    how = "binaries"

    def __init__(self, folder):
        self.folder, self.running = folder, []
        try:
            self.start_pyroscope()
            (self.start_tempo if "NL6_TEMPO_BIN" in os.environ else self.start_jaeger)()
            self.start_collector()
        except BaseException:
            self.stop()
            raise

    def start(self, name, command, env):
        self.running.append(Process(name, self.folder, command, env))
        return self.running[-1]

    def start_pyroscope(self):
        ports = server_ports()
        self.pyroscope = loopback(ports["PYROSCOPE_PORT"])
        it = self.start("pyroscope", [
            os.environ["NL6_PYROSCOPE_BIN"], f"-config.file={PYROSCOPE / 'pyroscope.yaml'}",
            "-config.expand-env=true"], ports)
        wait_ready(self.pyroscope + "/ready", 120, it.ended)

    def start_tempo(self):
        names = [f"TEMPO_{n}PORT" for n in ("", "GRPC_", "OTLP_", "GOSSIP_")]
        ports = dict(zip(names, map(str, free_ports(len(names)))))
        self.traces, self.store = loopback(ports["TEMPO_OTLP_PORT"]), \
            Tempo(loopback(ports["TEMPO_PORT"]))
        it = self.start("tempo", [
            os.environ["NL6_TEMPO_BIN"], f"-config.file={EXAMPLE / 'tempo.yaml'}",
            "-config.expand-env=true"], ports | {"TEMPO_DATA": str(self.folder / "tempo/data")})
        wait_ready(self.store.url + "/ready", 120, it.ended)

    def start_jaeger(self):
        names = [f"JAEGER_{n}_PORT" for n in ("OTLP", "QUERY", "QUERY_GRPC")]
        ports = dict(zip(names, map(str, free_ports(len(names)))))
        self.traces, self.store = loopback(ports["JAEGER_OTLP_PORT"]), \
            Jaeger(loopback(ports["JAEGER_QUERY_PORT"]))
        it = self.start("jaeger", [os.environ["NL6_JAEGER_BIN"],
                                   f"--config=file:{HERE / 'jaeger.yaml'}"],
                        ports | {"OTEL_TRACES_SAMPLER": "always_off"})  # of itself
        wait_ready(self.store.url + "/api/services", 60, it.ended)

    def start_collector(self):
        it, ports = self.collector_to(self.folder, self.pyroscope)
        self.log = it.log
        self.collector = loopback(ports["COLLECTOR_HTTP_PORT"])
        self.collector_grpc = loopback(ports["COLLECTOR_GRPC_PORT"])

    def collector_to(self, folder, profiles):
        """A Collector that sends profiles to that URL, and its ports."""
        ports = dict(zip(("COLLECTOR_HTTP_PORT", "COLLECTOR_GRPC_PORT"),
                         map(str, free_ports(2))))
        it = Process("collector", folder, [
            os.environ["NL6_OTELCOL_BIN"], "--feature-gates=service.profilesSupport",
            f"--config=file:{EXAMPLE / 'collector.yaml'}"],
            ports | {"TRACES_URL": self.traces, "PYROSCOPE_URL": profiles})
        self.running.append(it)
        wait_listening(ports["COLLECTOR_HTTP_PORT"], 30, it.ended)
        return it, ports

    def collector_before(self, profiles, folder):
        """The URL of one more."""
        return loopback(self.collector_to(folder, profiles)[1]["COLLECTOR_HTTP_PORT"])

    def collector_log(self):
        return self.log.read_text(errors="replace")

    def stop(self):
        for p in reversed(self.running):
            p.stop()


def wait_listening(port, seconds, ended):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
            return
        except OSError as e:
            why = ended() or str(e)
        if ended() or time.monotonic() > end:
            raise Unreachable(f"port {port}: {why}")
        time.sleep(0.2)


class Running:
    """Servers that run already: URLs of Pyroscope, of the Collector's two receivers, and of what
    takes traces by OTLP/HTTP; NL6_TEMPO_URL or NL6_JAEGER_URL are where traces are read back. What
    the Collector's debug exporter writes is in the file NL6_OTELCOL_LOG."""

    how = "running servers"

    def __init__(self, folder):
        self.pyroscope, self.collector, self.collector_grpc, self.traces = (
            os.environ[name].rstrip("/") for name in RUNNING)
        tempo = os.environ.get("NL6_TEMPO_URL")
        self.store = Tempo(tempo) if tempo else Jaeger(os.environ["NL6_JAEGER_URL"])
        wait_ready(self.pyroscope + "/ready", 90)

    def collector_log(self):
        return pathlib.Path(os.environ["NL6_OTELCOL_LOG"]).read_text(errors="replace")

    def collector_before(self, profiles, folder):
        """None can be started: what is sent there comes at once."""
        return profiles

    def stop(self):
        pass


def choose():
    """Which kind the environment asks for: binaries, else running ones."""
    if "NL6_OTELCOL_BIN" in os.environ:
        wanted = [n for n in BINARIES[:2]] + [
            "NL6_TEMPO_BIN" if "NL6_TEMPO_BIN" in os.environ else "NL6_JAEGER_BIN"]
        for name in wanted:
            if not shutil.which(os.environ.get(name, "")):
                raise Unreachable(f"{name} names no program")
        return Binaries
    missing = [n for n in (*RUNNING, "NL6_OTELCOL_LOG") if n not in os.environ]
    if missing or not {"NL6_TEMPO_URL", "NL6_JAEGER_URL"} & os.environ.keys():
        raise Unreachable("no servers are named: README.md tells how")
    return Running
