"""What Debian's net-snmp tools make of the agents."""

import os
import re
import subprocess

import pytest

from program import SLOW, snmp_env, until


@pytest.mark.parametrize("version", ["1", "2c"])
def test_get_and_getnext(fleet, net, version):
    program = fleet(3)
    got = program.get_snmp("SNMPv2-MIB::sysUpTime.0", "SNMPv2-MIB::sysName.0",
                           "IF-MIB::ifNumber.0", version=version)
    assert len(got) == 3 and all(got)
    after = program.snmp("snmpgetnext", "SNMPv2-MIB::sysDescr", "IF-MIB::ifNumber",
                         version=version).stdout
    assert re.search(r"sysDescr\.0 = .+", after) and re.search(r"ifNumber\.0 = \d+", after)


@pytest.mark.parametrize("version", ["1", "2c"])
def test_walk_ends_at_the_end(fleet, version):
    program = fleet(1)
    # snmpwalk checks that names rise and fails if they do not.
    done = program.snmp("snmpwalk", ".1.3", version=version)
    lines = done.stdout.splitlines()
    assert len(lines) > 500
    last = "End of MIB" if version == "1" else "No more variables left in this MIB View"
    assert last in lines[-1] + done.stderr


def test_bulkwalk_and_bulkget(fleet):
    program = fleet(2)
    by_next = program.snmp("snmpwalk", "-On", "IF-MIB::ifDescr").stdout
    for repetitions in (1, 10, 25, 50, 1000):
        assert program.snmp("snmpbulkwalk", "-On", f"-Cr{repetitions}",
                            "IF-MIB::ifDescr").stdout == by_next
    # Two scalars and thirty rounds of four columns do not fit: cut, never refused.
    lines = program.snmp("snmpbulkget", "-Cn2", "-Cr30", "SNMPv2-MIB::sysUpTime",
                         "SNMPv2-MIB::sysName", "IF-MIB::ifDescr", "IF-MIB::ifInOctets",
                         "IF-MIB::ifHCInOctets", "IF-MIB::ifAlias").stdout.splitlines()
    assert "sysUpTime" in lines[0] and "sysName" in lines[1] and len(lines) > 20


def test_tables(fleet):
    program = fleet(1)
    rows = program.snmp("snmptable", "-Cf", ";", "IF-MIB::ifTable").stdout.splitlines()
    head = rows[2].split(";")
    count = int(program.get_snmp("IF-MIB::ifNumber.0")[0])
    assert len(rows) == 3 + count and {"ifIndex", "ifDescr", "ifType", "ifSpeed"} <= set(head)
    assert {row.split(";")[head.index("ifIndex")] for row in rows[3:]} == {
        line.split(" = ")[1] for line in
        program.snmp("snmpwalk", "IF-MIB::ifIndex").stdout.splitlines()}


def test_set_is_refused_with_an_error(fleet):
    program = fleet(1, "-snmp-write-community", "public")
    for version, word in (("2c", "notWritable"), ("1", "noSuchName")):
        done = program.snmp("snmpset", "SNMPv2-MIB::sysDescr.0", "s", "me", version=version,
                            check=False)
        assert done.returncode == 2 and word in done.stderr


def test_community(nl6, net, tmp_path):
    secret = tmp_path / "community"
    secret.write_text("s3cret\n")
    program = nl6("-auto-start-ip", net.address(), "-auto-count", "1", "-snmp-community-file",
                  str(secret))
    assert program.get_snmp("SNMPv2-MIB::sysName.0", community="s3cret")
    quick = dict(os.environ, **snmp_env())
    done = subprocess.run(
        ["snmpget", "-v2c", "-c", "public", "-r0", "-t", str(0.5 * SLOW),
         f"{net.address()}:{program.snmp_port}", "SNMPv2-MIB::sysName.0"],
        capture_output=True, text=True, env=quick)
    assert done.returncode != 0 and "Timeout" in done.stderr
    counted = until(10, lambda: metric(program, "nl6_responder_bad_community_datagrams_total"),
                    "refused community in the metrics")
    assert counted == 1


def metric(program, name):
    """The sum of a counter over its instances."""
    text = program.get("/metrics").text
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if re.match(name + r"[ {]", line))
