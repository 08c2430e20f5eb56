"""The program itself in a network of the test's own."""

import json
import random
import re
import signal
import subprocess
import time

import pytest

from apart import NL6, SLOW, until

NAME = "1.3.6.1.2.1.1.5.0"
FLEET = ["-auto-start-ip", "10.42.0.1", "-auto-count", "300", "-auto-round-robin"]
FLEET6 = ["-auto-start-ip", "2001:db8:42::1", "-auto-count", "300", "-auto-netmask", "64"]


class Program:
    def __init__(self, host, *flags, wait=True, port=8080):
        self.host, self.port = host, port
        self.process = subprocess.Popen([*host.enter, str(NL6), "-port", str(port), *flags],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        host.drivers.append(self)
        if wait:
            line = self.process.stdout.readline()
            assert line.startswith("ready "), line + self.process.stderr.read()
            until(60, lambda: self.status["running_devices"], "fleet")

    def request(self, method, path, body=None):
        return json.loads(self.host.run(
            "curl", "-s", "-X", method, *(["-d", json.dumps(body)] if body else []),
            f"http://127.0.0.1:{self.port}/api/v1{path}").stdout)

    @property
    def status(self):
        return self.request("GET", "/status")["data"]

    def end(self, number=signal.SIGTERM):
        if number:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60 * SLOW)
        return self.process.returncode, err

    def kill(self):
        self.process.kill()
        self.process.wait(60)


def ask(host, address):
    target = f"udp6:[{address}]" if ":" in address else address
    done = host.run("snmpget", "-v2c", "-cpublic", "-Oqv", "-t", str(3 * SLOW), "-r1",
                    f"{target}:161", NAME)
    return done.stdout.strip().strip('"')


def test_a_fleet_answers_from_everywhere_and_leaves_nothing(host, outside):
    p = Program(host, *FLEET)
    assert p.request("POST", "/devices", {"start_ip": "2001:db8:42::1", "device_count": 20})["success"]
    for address in ("10.42.0.1", "10.42.1.44", "2001:db8:42::14"):
        name = ask(host, address)
        assert name and ask(outside, address) == name
    lab = p.status["lab"]
    assert lab["mode"] == "namespace" and lab["veth"]["host"] == "veth-sim-host"
    assert p.request("DELETE", "/devices")["success"]
    assert p.status["lab"]["routes"] == 0
    assert p.end()[0] == 0
    assert host.snapshot() == host.before


def test_devices_on_ipv6_are_devices_in_every_way(host, outside):
    """Walked, set, shut, listed and deleted by their IPv6 addresses; v3 with engines of their own."""
    p = Program(host, *FLEET6, "-auto-type", "cisco_ios", "-snmp-write-community", "w", "-snmpv3")
    a, b = "2001:db8:42::1", "2001:db8:42::12c"
    v2, v3 = ["-v2c", "-cw"], ["-v3", "-lauthNoPriv", "-usimadmin", "-aMD5", "-Asimadmin"]
    admin, oper = "1.3.6.1.2.1.2.2.1.7.1", "1.3.6.1.2.1.2.2.1.8.1"

    def snmp(machine, tool, device, *arguments, how=v2, check=True):
        return machine.run(tool, *how, "-OqvtU", "-t", str(3 * SLOW), "-r1",
                           f"udp6:[{device}]:161", *arguments, check=check)
    for machine in host, outside:
        for how in v2, v3:
            rows = snmp(machine, "snmpbulkwalk", b, ".1", how=how).stdout.splitlines()
            assert len(rows) > 200
            set_ = snmp(machine, "snmpset", b, NAME, "s", "six", admin, "i", "2", how=how)
            assert set_.stdout.split() == ['"six"', "2"]
            assert snmp(machine, "snmpget", b, NAME, admin, oper, how=how).stdout.split() == [
                '"six"', "2", "2"]
            assert snmp(machine, "snmpset", b, admin, "i", "1", how=how).stdout.strip() == "1"
    assert snmp(host, "snmpget", a, NAME).stdout.strip() != '"six"'
    engines = {snmp(host, "snmpget", d, "1.3.6.1.6.3.10.2.1.1.0", how=v3).stdout for d in (a, b)}
    assert len(engines) == 2
    # No device, no answer; and the table of IPv4 addresses has no row.
    assert snmp(host, "snmpget", "2001:db8:42::12d", NAME, check=False).returncode == 1
    assert "No Such" in snmp(host, "snmpget", a, "1.3.6.1.2.1.4.20.1.1.1.2.3.4").stdout
    device = p.request("GET", f"/devices/{b}")["data"]
    assert device["ip"] == b and p.request("GET", f"/devices/{device['id']}")["success"]
    assert [one["value"] for one in p.request("GET", f"/devices/{b}/sets")["data"]] == ["six"]
    said = p.request("POST", f"/devices/{b}/interfaces/1/oper-status", {"status": "DOWN"})
    assert said["oper_status"] == "DOWN" and snmp(host, "snmpget", b, oper).stdout.strip() == "2"
    csv = host.run("curl", "-s", "http://127.0.0.1:8080/api/v1/devices/export").stdout
    assert f",{b}," in csv
    assert p.request("DELETE", f"/devices/{b}")["success"]
    assert snmp(host, "snmpget", b, NAME, check=False).returncode == 1
    assert p.end()[0] == 0 and host.snapshot() == host.before


def test_only_lab_0_keeps_capabilities(host):
    p = Program(host, *FLEET)
    tasks = host.sh(f"for t in /proc/{p.process.pid}/task/*; do echo $(cat $t/comm) "
                    "$(sed -n 's/^CapPrm:\\s*//p; s/^CapBnd:\\s*//p; s/^NoNewPrivs:\\s*//p' $t/status);"
                    "done").splitlines()
    assert len(tasks) >= 6
    for task in tasks:
        name, *sets = task.split()
        want = f"{(1 << 12) | (1 << 10):016x}" if name == "lab-0" else "0" * 16
        assert sets == [want, want, "1"], task
    assert p.end()[0] == 0


def test_two_programs_side_by_side(host, outside):
    a = Program(host, *FLEET)
    b = Program(host, "-namespace", "second", "-veth-net", "10.253.0.0/30", "-auto-start-ip",
                "10.42.8.1", "-auto-count", "9", port=8081)
    for address in ("10.42.0.1", "10.42.8.1"):
        name = ask(host, address)
        assert name and ask(outside, address) == name
    assert a.end()[0] == 0
    assert ask(outside, "10.42.8.9")
    assert b.end()[0] == 0
    assert host.snapshot() == host.before


@pytest.mark.parametrize("fleet", [FLEET, FLEET6, [*FLEET, "-no-namespace"]])
def test_kill_in_any_phase_and_start_again(host, fleet):
    """From before the setup until after the creation."""
    for _ in range(12):
        p = Program(host, *fleet, wait=False)
        time.sleep(random.uniform(0, 0.2) * SLOW)
        p.kill()
    p = Program(host, *fleet)
    assert ask(host, fleet[1])
    assert p.end()[0] == 0
    assert host.snapshot() == host.before


def test_fatal_ends_leave_nothing(host):
    """The port of the API is taken: the lab is up by then, or not; nothing stays."""
    other = subprocess.Popen([*host.enter, "/usr/bin/python3", "-c",
                              "import socket; s = socket.socket(); s.bind(('127.0.0.1', 8080)); "
                              "s.listen(); print('on', flush=True); input()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"on\n"
    p = Program(host, *FLEET, "-snmp-port", "0", wait=False)
    code, err = p.end(0)
    assert code == 1 and "8080" in err, err
    assert host.snapshot() == host.before
    other.communicate()


@pytest.mark.parametrize("flags, text", [
    (["-auto-start-ip", "192.0.2.0", "-auto-count", "3"],
     r"192\.0\.2\.\d-192\.0\.2\.\d covers 192\.0\.2\.1, an address of this host \(eth0\)"),
    ([*FLEET, "-veth-net", "192.0.2.0/30"],
     r"-veth-net: the network of the veth pair 192\.0\.2\.0-192\.0\.2\.3 covers 192\.0\.2\.1"),
])
def test_a_refused_fleet_ends_the_start(host, outside, flags, text):
    p = Program(host, *flags, wait=False)
    code, err = p.end(0)
    assert code == 1 and re.search(text, err), err
    assert host.snapshot() == host.before


def test_two_signals_leave_nothing(host):
    p = Program(host, *FLEET)
    p.process.send_signal(signal.SIGINT)
    code, _ = p.end(signal.SIGINT)
    assert code in (0, 1)
    assert host.snapshot() == host.before


def test_without_privileges_the_way_out_is_told(host):
    done = host.run("setpriv", "--bounding-set=-all", "--inh-caps=-all", str(NL6), "-port", "0",
                    "-snmp-port", "1161", *FLEET, check=False)
    assert done.returncode == 1
    assert re.search(r"10\.42\.0\.1-10\.42\.1\.44 needs a network namespace, which needs "
                     r"CAP_NET_ADMIN and CAP_SYS_ADMIN: run as root, or use a range in 127\.0\.0\.0/8, "
                     r"which needs nothing", done.stderr), done.stderr
    assert host.snapshot() == host.before
