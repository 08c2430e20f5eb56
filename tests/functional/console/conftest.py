"""Runs nl6 with fleets of a size, and a browser to look at them."""

import contextlib
import ipaddress
import json
import socket
import threading
import urllib.request

import pytest
from devtools import Browser
from program import Net, Program

SMALL = 65_000  # what fits in a test's own 127.N/16

# SNMP v2c, community public: GET sysUpTime.0.
GET = bytes.fromhex("302602010104067075626c6963a019020101020100020100300e300c06082b0601020101"
                    "03000500")


class Console:
    """A running nl6 as its console's visitor sees it."""

    def __init__(self, folder, count, token=None):
        self.count, self.token = count, token
        self._folder, self._net, self._starts = folder, Net(), 0
        # No other test has addresses below 127.20; a million need sixteen 127.N.
        self.first = self._net.address() if count < SMALL else "127.1.0.1"
        self.other_address = "127.1.0.1" if count < SMALL else "127.17.0.1"
        self._ports = ("0", "0")
        self.start()

    def start(self):
        self._starts += 1
        port, snmp_port = self._ports
        flags = ["-port", port, "-snmp-port", snmp_port]
        if self.count:
            flags += ["-auto-start-ip", self.first, "-auto-count", str(self.count),
                      "-auto-round-robin"]
        self._folder.mkdir(exist_ok=True)
        if self.token:
            secret = self._folder / "token"
            secret.write_text(self.token)
            flags += ["-api-token-file", str(secret)]
        self._program = Program(self._net, self._folder / str(self._starts), flags)
        self.base, self.snmp_port = self._program.url, self._program.snmp_port
        self.url = self.base + "/"
        self._ports = (str(self._program.api_port), str(self.snmp_port))

    def stop(self):
        """start() begins again on the same ports."""
        self._program.stop()

    def close(self):
        try:
            self.stop()
        finally:
            self._net.close()

    def _open(self, path):
        request = urllib.request.Request(self.base + path)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        return urllib.request.urlopen(request, timeout=60)

    def get(self, path):
        with self._open(path) as answer:
            return json.load(answer)

    def head(self, path):
        with self._open(path) as answer:
            return answer.headers

    def addresses(self, n):
        """Of the first n devices, which is less than a network of 16 bits skips hosts."""
        first = ipaddress.ip_address(self.first)
        return [str(first + i) for i in range(n)]

    @contextlib.contextmanager
    def traffic(self):
        """Sends good requests, a malformed one in four and one in four to nobody."""
        done = threading.Event()
        nobody = str(ipaddress.ip_address(self.first) - 1)

        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                while not done.wait(0.02):
                    for data, to in [(GET, self.first), (GET, self.first),
                                     (GET[:-3], self.first), (GET, nobody)]:
                        s.sendto(data, (to, self.snmp_port))

        thread = threading.Thread(target=send)
        thread.start()
        yield
        done.set()
        thread.join()


@pytest.fixture(scope="session")
def browser():
    it = Browser()
    yield it
    it.close()


@pytest.fixture
def page(browser):
    """A page that must not have thrown, complained, broken its policy, got a bad answer that the
    test does not clear, or asked anybody else."""
    it = browser.page()
    yield it
    it.close()
    assert it.errors == []
    assert it.failed == []
    own = ("http://127.0.0.1:", "data:", "blob:", "about:")
    assert [url for _, url in it.requests if not url.startswith(own)] == []


@pytest.fixture(scope="session")
def consoles(tmp_path_factory):
    """consoles(n): one with n devices that tests share, so they only look."""
    running = {}

    def get(count):
        if count not in running:
            running[count] = Console(tmp_path_factory.mktemp("nl6"), count)
        return running[count]

    yield get
    for it in running.values():
        it.close()


@pytest.fixture
def own_console(page, tmp_path):
    """own_console(n, token=None): one with n devices for this test alone, which the page leaves
    before it stops: a stopping server refuses what still comes."""
    running = []

    def start(count, token=None):
        running.append(Console(tmp_path / f"nl6-{len(running)}", count, token))
        return running[-1]

    yield start
    page.open("about:blank")
    for it in running:
        it.close()
