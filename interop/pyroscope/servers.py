"""The servers that the rows are run against: started here, or running already."""

import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples/pyroscope"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Unreachable(Exception):
    """A server is not there: the run fails."""


def free_ports(count):
    """TCP ports that nobody has at the moment, all different."""
    held = [socket.socket() for _ in range(count)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def server_ports():
    """Free ports by the variables that pyroscope.yaml reads them from."""
    names = [f"PYROSCOPE_{n}PORT" for n in ("", "GRPC_", "RAFT_", "GOSSIP_")]
    return dict(zip(names, map(str, free_ports(len(names)))))


def wait_ready(url, seconds, ended=lambda: None):
    """Waits until the URL answers 200; ended() tells why it never will."""
    end = time.monotonic() + seconds
    while True:
        try:
            with OPENER.open(url, timeout=5) as got:
                if got.status == 200:
                    return
                why = f"status {got.status}"
        except urllib.error.HTTPError as e:
            why = f"status {e.code}: {e.read(200).decode(errors='replace').strip()}"
        except OSError as e:
            why = str(e)
        why = ended() or why
        if ended() or time.monotonic() > end:
            raise Unreachable(f"{url}: {why}")
        time.sleep(0.2)


class Process:
    """A server of a binary, in a folder of its own; its output goes to NAME.log there."""

    def __init__(self, name, folder, command, env):
        self.name, self.log = name, folder / f"{name}.log"
        (folder / name).mkdir(parents=True, exist_ok=True)
        try:
            self.process = subprocess.Popen(
                command, cwd=folder / name, env=os.environ | env, stdin=subprocess.DEVNULL,
                stdout=open(self.log, "wb"), stderr=subprocess.STDOUT)
        except OSError as e:
            raise Unreachable(f"{name}: {e}") from e

    def ended(self):
        if self.process.poll() is None:
            return None
        tail = self.log.read_text(errors="replace")[-1500:]
        return f"{self.name} ended with {self.process.returncode}:\n{tail}"

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Binaries:
    """Pyroscope and Alloy from NL6_PYROSCOPE_BIN and NL6_ALLOY_BIN, on loopback."""

    how = "binaries"

    def __init__(self, folder, scrape):
        self.folder, self.running = folder, []
        self.ports, alloy = server_ports(), free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.ports['PYROSCOPE_PORT']}"
        try:
            pyroscope = self.start("pyroscope", [
                os.environ["NL6_PYROSCOPE_BIN"], f"-config.file={EXAMPLE / 'pyroscope.yaml'}",
                "-config.expand-env=true"], self.ports)
            wait_ready(self.url + "/ready", 120, pyroscope.ended)
            alloy_url = f"http://127.0.0.1:{alloy}"
            agent = self.start("alloy", [
                os.environ["NL6_ALLOY_BIN"], "run", "--disable-reporting",
                f"--server.http.listen-addr={alloy_url[7:]}", f"--storage.path={folder / 'alloy'}",
                str(EXAMPLE / "alloy-scrape.alloy")],
                {"NL6_SCRAPE_TARGET": scrape, "PYROSCOPE_URL": self.url})
            wait_ready(alloy_url + "/-/ready", 60, agent.ended)
        except BaseException:
            self.stop()
            raise

    def start(self, name, command, env):
        self.running.append(Process(name, self.folder, command, env))
        return self.running[-1]

    def stop(self):
        for p in reversed(self.running):
            p.stop()


class Compose:
    """The same from images, by a container engine, on the host's network."""

    how = "compose"

    def __init__(self, folder, scrape):
        self.ports, alloy = server_ports(), free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.ports['PYROSCOPE_PORT']}"
        self.env = os.environ | self.ports | {
            "ALLOY_PORT": str(alloy), "NL6_SCRAPE_TARGET": scrape, "PYROSCOPE_URL": self.url}
        self.log = folder / "compose.log"
        try:
            self.compose("up", "--detach", "--quiet-pull")
            wait_ready(self.url + "/ready", 120)
            wait_ready(f"http://127.0.0.1:{alloy}/-/ready", 60)
        except BaseException:
            self.stop()
            raise

    def compose(self, *command, check=True):
        with open(self.log, "ab") as log:
            done = subprocess.run(
                ["docker", "compose", "-f", str(HERE / "compose.yaml"), *command], env=self.env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if check and done.returncode != 0:
            tail = self.log.read_text(errors="replace")[-1500:]
            raise Unreachable(f"docker compose {command[0]} ended with {done.returncode}:\n{tail}")

    def stop(self):
        self.compose("logs", "--no-color", check=False)
        self.compose("down", "--volumes", check=False)


class Running:
    """Servers that run already: Pyroscope at NL6_PYROSCOPE_URL, and an Alloy with the example's
    file that scrapes NL6_PYROSCOPE_SCRAPE_ADDR and writes to that Pyroscope."""

    how = "running servers"

    def __init__(self, folder, scrape):
        self.url = os.environ.get("NL6_PYROSCOPE_URL", "http://127.0.0.1:4040").rstrip("/")
        wait_ready(self.url + "/ready", 90)

    def stop(self):
        pass


def choose():
    """Which kind the environment asks for: binaries, else running ones, else compose."""
    if "NL6_PYROSCOPE_BIN" in os.environ or "NL6_ALLOY_BIN" in os.environ:
        for name in ("NL6_PYROSCOPE_BIN", "NL6_ALLOY_BIN"):
            if not shutil.which(os.environ.get(name, "")):
                raise Unreachable(f"{name} names no program")
        return Binaries
    if "NL6_PYROSCOPE_URL" in os.environ:
        return Running
    if shutil.which("docker") and subprocess.run(
            ["docker", "compose", "version"], capture_output=True).returncode == 0:
        return Compose
    return Running
