"""One process of net-snmp's library that polls many devices by SNMPv3, as pollers do; and what it
makes of a restart. The numbers are those of cases on record."""

import os
import pathlib
import subprocess

import pytest

from manager_v3 import SYS_NAME, get, security
from program import FULL, NL6, SLOW, snmp_env

TOOLS = pathlib.Path(os.environ.get("TEST_TOOLS", NL6.parent)).resolve()
DEVICES = 10000 if FULL else 300
FLAGS = ("-snmpv3-auth", "sha1", "-snmpv3-priv", "aes", "-snmpv3-password", "a long password")


class Poller:
    """poll-v3 (poll_v3.c), which lives as long as the test."""

    def __init__(self, port):
        self.process = subprocess.Popen(
            [TOOLS / "tests/functional/snmp/poll-v3", str(port), "simadmin",
             "a long password", str(int(5 * SLOW))], env=dict(snmp_env(), MIBS=""), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def poll(self, first, count):
        self.process.stdin.write(f"{first} {count}\n")
        self.process.stdin.flush()
        answered, failed, why = self.process.stdout.readline().split(" ", 2)
        return int(answered), int(failed), why.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(20 * SLOW)
        self.process.stdout.close()


@pytest.fixture
def poller():
    made = []

    def start(program):
        made.append(Poller(program.snmp_port))
        return made[-1]

    yield start
    for it in made:
        it.close()


ENGINES = {"distinct": ["-snmpv3"], "shared": ["-snmpv3-engine-id", "80001f8804deadbeef"]}


@pytest.mark.parametrize("engines", ENGINES)
def test_cases_28_and_29_one_process_polls_all_of_them_also_after_a_restart(
        fleet, nl6, net, poller, tmp_path, engines):
    flags = [*ENGINES[engines], *FLAGS, "-state-dir", tmp_path / "state"]
    program = fleet(DEVICES, *flags)
    manager = poller(program)
    assert manager.poll(net.address(), DEVICES) == (DEVICES, 0, "")
    assert manager.poll(net.address(), DEVICES) == (DEVICES, 0, "")
    boots = "1.3.6.1.6.3.10.2.1.2.0"
    keys = security("sha1", "aes128", user="simadmin", password="a long password",
                    priv_password="a long password")
    before, = get(program, net.address(), boots, flags=keys)
    port = program.snmp_port
    program.stop()
    again = nl6("-snmp-port", port, *flags)
    assert again.snmp_port == port
    # The manager still has the boots and times of before.
    assert manager.poll(net.address(), DEVICES) == (DEVICES, 0, "")
    after, = get(again, net.address(), boots, flags=keys)
    assert int(after.split(": ")[1]) > int(before.split(": ")[1])


def test_case_30_a_device_made_again_does_not_go_back(fleet, net, poller):
    program = fleet(2, "-snmpv3", *FLAGS)
    manager = poller(program)
    keys = security("sha1", "aes128", user="simadmin", password="a long password",
                    priv_password="a long password")

    def clock():
        return tuple(int(v.split(": ")[1]) for v in get(
            program, net.address(), *(f"1.3.6.1.6.3.10.2.1.{i}.0" for i in (2, 3)), flags=keys))
    before = clock()
    for _ in range(3):
        assert manager.poll(net.address(), 2) == (2, 0, "")
        program.delete(f"/api/v1/devices/{net.address()}")
        program.post("/api/v1/devices", {
            "start_ip": net.address(), "device_count": 1, "snmp_port": program.snmp_port,
            "snmpv3": {"enabled": True, "username": "simadmin", "password": "a long password",
                       "auth_protocol": 2, "priv_protocol": 2}})
        assert manager.poll(net.address(), 2) == (2, 0, "")
        now = clock()
        assert now >= before
        before = now


def test_case_25_a_wrong_time_gets_a_signed_report_that_sets_it_right(fleet, net):
    """A manager that keeps wrong boots is answered at its second try, as the Report can be
    trusted: snmpget is given boots and time by -Z."""
    program = fleet(1, "-snmpv3", *FLAGS)
    keys = security("sha1", "aes128", user="simadmin", password="a long password",
                    priv_password="a long password")
    engine, boots, time = get(program, net.address(), *(f"1.3.6.1.6.3.10.2.1.{i}.0"
                                                        for i in (1, 2, 3)), flags=keys)
    engine = engine.split(": ")[1].replace(" ", "").lower()
    boots, time = (int(v.split(": ")[1]) for v in (boots, time))
    for wrong in (f"{boots - 1},{time}", f"{boots},{time + 1000}", "1,1"):
        assert get(program, net.address(), SYS_NAME,
                   flags=[*keys, "-e", "0x" + engine, "-Z", wrong])
    reports = get(program, net.address(), "1.3.6.1.6.3.15.1.1.2.0", flags=keys)
    assert int(reports[0].split(": ")[1]) >= 3
