"""What the state directory costs, for bench/run: the restart of a fleet from it against its first
boot, and creates and deletes over REST with and without it."""

import http.client
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time


class Nl6:
    def __init__(self, build, *flags):
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [build / "nl6", "-snmp-port", "0", "-port", "0", *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.ready_s = time.monotonic() - begun
        self.api = http.client.HTTPConnection(re.search(r"api=(\S+)", line)[1])

    def ask(self, method, path, body=None):
        self.api.request(method, path, json.dumps(body) if body else None,
                         {"Content-Type": "application/json"})
        answer = self.api.getresponse()
        text = answer.read()
        assert answer.status < 300, text
        return text

    def devices(self):
        return json.loads(self.ask("GET", "/api/v1/status"))["data"]["total_devices"]

    def stop(self):
        self.api.close()
        self.process.kill()
        self.process.wait()


def boots(build, pairs, count):
    """(without a directory, first boot with one, restart from it), seconds; SNMPv3 is on."""
    fleet = ("-auto-start-ip", "127.10.0.1", "-auto-netmask", "8", "-auto-count", count,
             "-auto-round-robin")
    v3 = ("-snmpv3",)
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as folder:
            took = []
            for flags in (), ("-state-dir", folder), ("-state-dir", folder):
                # Without the flags of the fleet: it comes from the directory.
                it = Nl6(build, *flags, *v3, *(fleet if len(took) < 2 else ()))
                took.append(it.ready_s)
                assert it.devices() == count
                it.stop()
            yield took


def changes(build, flags, n):
    """Creates and deletes of a device each, a second."""
    it = Nl6(build, *flags)
    begun = time.monotonic()
    for i in range(n):
        address = f"127.10.{i >> 6}.{2 * (i & 63) + 1}"
        it.ask("POST", "/api/v1/devices", {"start_ip": address, "device_count": 1})
        it.ask("DELETE", f"/api/v1/devices/{address}")
    took = time.monotonic() - begun
    it.stop()
    return 2 * n / took


def change_rows(build, pairs, n):
    ratios, rates = [], []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory(dir=pathlib.Path.cwd()) as folder:
            pair = changes(build, ("-state-dir", folder), n), changes(build, (), n)
        ratios.append(pair[0] / pair[1])
        rates.append(pair)
    kept, plain = (statistics.median(column) for column in zip(*rates))
    return ("creates and deletes, kept / not kept", ratios, "", f"{kept:.0f} and {plain:.0f} /s")


def rows(build, quick):
    count, pairs = (20_000, 3) if quick else (1_000_000, 10)
    took = list(boots(build, pairs, count))
    plain, first, again = (statistics.median(column) for column in zip(*took))
    yield (f"restart of {count} from the state / first boot", [t[2] / t[1] for t in took], "",
           f"{again:.2f} s and {first:.2f} s")
    yield ("first boot with a state directory / without", [t[1] / t[0] for t in took], "",
           f"{first:.2f} s and {plain:.2f} s")
    yield change_rows(build, 3, 100 if quick else 500)
