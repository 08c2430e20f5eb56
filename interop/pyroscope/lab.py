"""The nl6 under test with something to do, and what stands between it and the scraper."""

import dataclasses
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from servers import OPENER

ROOT = pathlib.Path(__file__).resolve().parents[2]
NL6 = pathlib.Path(os.environ.get("TEST_NL6", ROOT / "build/nl6")).resolve()
DEVICES = 50
LAB = "127.42.0."  # the fleet's addresses, on this host's loopback


class Lab:
    """One nl6 with a fleet, asked for all it can answer by one SNMP client."""

    def __init__(self, folder, *flags):
        folder.mkdir(parents=True, exist_ok=True)
        self.stderr = folder / "nl6.log"
        clean = {k: v for k, v in os.environ.items() if not k.startswith("NL6_")}
        self.process = subprocess.Popen(
            [str(NL6), "-port", "0", "-snmp-port", "0", "-auto-start-ip", LAB + "1",
             "-auto-count", str(DEVICES), "-auto-round-robin", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(self.stderr, "wb"),
            env=clean, cwd=folder)
        self.load = None
        try:
            said = select.select([self.process.stdout], [], [], 60)[0] and \
                self.process.stdout.readline().decode()
            found = re.match(r"ready api=(\S+) snmp=(\d+)", said or "")
            assert found, f"nl6 is not ready: {said} {self.stderr.read_text()[-1500:]}"
            self.address, self.snmp_port = found[1], int(found[2])
            self.load = subprocess.Popen([sys.executable, str(pathlib.Path(__file__)), LAB,
                                          str(DEVICES), str(self.snmp_port)], stdin=subprocess.PIPE)
        except BaseException:
            self.stop()
            raise

    def turn(self, **body):
        """POST /api/v1/profiling: status and data."""
        return self.profiling(json.dumps(body).encode())

    def profiling(self, body=None):
        ask = urllib.request.Request(f"http://{self.address}/api/v1/profiling", body,
                                     {"Content-Type": "application/json"})
        try:
            with OPENER.open(ask, timeout=60) as got:
                return got.status, json.load(got)["data"]
        except urllib.error.HTTPError as e:
            return e.code, json.load(e).get("data", {})

    def stop(self):
        if self.load:
            self.load.stdin.close()
            self.load.wait()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@dataclasses.dataclass
class Answer:
    path: str
    status: int
    head: bytes  # the first bytes of it, with the headers


class Relay:
    """A port that passes what comes to whichever nl6 is set, byte by byte, and notes what its
    clients asked and what they were answered. Alloy's target stays, the nl6 behind it changes."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.listener = socket.create_server((host, int(port)))
        self.address, self.target, self.answers = address, None, []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def aim(self, target):
        """From now on to target, HOST:PORT or None; what was noted before is forgotten."""
        with self.lock:
            self.target, self.answers = target, []

    def noted(self, path, status=None):
        with self.lock:
            return [a for a in self.answers
                    if a.path.partition("?")[0] == path and status in (None, a.status)]

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with self.lock:
            target = self.target
        try:
            host, _, port = (target or "127.0.0.1:0").rpartition(":")
            server = socket.create_connection((host, int(port)))
        except OSError:
            client.close()
            return
        path, answer = None, None
        try:
            while True:
                for s in select.select([client, server], [], [])[0]:
                    got = s.recv(65536)
                    if not got:
                        return
                    (server if s is client else client).sendall(got)
                    if s is client:
                        if ask := re.match(rb"[A-Z]+ (\S+) HTTP/1", got):
                            path, answer = ask[1].decode(), None
                    elif path:
                        answer = self.note(target, path, answer, got)
        except OSError:
            pass
        finally:
            client.close()
            server.close()

    def note(self, target, path, answer, got):
        """Notes the beginning of an answer, or more of one."""
        with self.lock:
            if answer:
                answer.head += got[:4096 - len(answer.head)]
            elif target == self.target and (status := re.match(rb"HTTP/1.1 (\d+)", got)):
                answer = Answer(path, int(status[1]), got[:4096])
                self.answers.append(answer)
        return answer

    def close(self):
        self.listener.close()


def ask_forever(prefix, count, port):
    """Asks every device for 50 objects in turn, 16 requests on their way; ends with its parent."""
    sys.path.insert(0, str(ROOT / "tests/functional"))
    import asker
    # GETBULK: the error-index field has the repetitions.
    request = asker.message(asker.pdu(
        asker.GETBULK, [asker.binding("1.3.6.1.2.1.2.2.1")], b=50))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.05)
    sent = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(16):
            s.sendto(request, (f"{prefix}{1 + sent % count}", port))
            sent += 1
        try:
            for _ in range(16):
                s.recv(65535)
        except TimeoutError:
            pass


def until(seconds, ask):
    """Polls ask() until it returns something true or the time is up; returns the last."""
    end = time.monotonic() + seconds
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(1)
    return found


if __name__ == "__main__":
    ask_forever(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
