"""nl6-check: what it says of recordings, and what it makes of them."""

import bz2
import os
import pathlib
import subprocess

import pytest

from program import HERE, NL6, SLOW, snmp_env
from test_recordings import walk, walked

CHECK = NL6.parent / "nl6-check"


def check(*arguments, status=0, **more):
    done = subprocess.run([CHECK, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300 * SLOW, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done


FAULTY = """# a comment
1.3.6.1.2.1.1.6.0|4|first
1.3.6.1.2.1.1.3.0|2|5
1.3.6.1.2.1.1.6.0|4x|00ff
sysName.0|4|x
1.3.6.1.2.1.1.4|4|no instance
1.3.6.1.9.1|67:numeric|rate=1
1.3.6.1.9.2|65|-1
"""
SAID = ["3: sysUpTime is TimeTicks in SNMPv2-MIB, not INTEGER",
        "3: 1.3.6.1.2.1.1.3.0 comes after a greater OID, of line 2",
        "5: no OID in numbers", "6: sysContact without an instance",
        "6: 1.3.6.1.2.1.1.4 comes after a greater OID, of line 4", "8: below 0",
        "4: the same OID as in line 2, which it replaces"]


@pytest.mark.parametrize("name, pack", [("a.snmprec", bytes), ("a.snmprec.bz2", bz2.compress)])
def test_each_fault_has_its_line(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(FAULTY.encode()))
    done = check(path, status=1)
    assert done.stdout.splitlines() == [*(f"{path}:{what}" for what in SAID),
                                        f"{path}: 5 records, 7 faults"]
    assert done.stderr == ""
    done = check("-most", "1", path, status=1)
    assert done.stdout.splitlines()[1:] == [f"{path}: and 6 faults more",
                                            f"{path}: 5 records, 7 faults"]


def test_what_is_right_says_so(tmp_path):
    path, other = tmp_path / "a.snmprec", tmp_path / "b.snmpwalk"
    path.write_text("1.3.6.1.2.1.1.1.0|4|x\n1.3.6.1.9.1|67:numeric|rate=1\n")
    other.write_text('.1.3.6.1.2.1.1.1.0 = STRING: "x\n\ny"\n.1.3.6.1.9 = NULL\n')
    assert check(path, other).stdout == f"{path}: 2 records, 0 faults\n{other}: 2 records, 0 faults\n"
    assert check("--", path).stdout == f"{path}: 2 records, 0 faults\n"


def test_conversion_mends_the_order(tmp_path):
    path = tmp_path / "a.snmprec"
    path.write_text(FAULTY)
    done = check("-convert", "-", path, status=1)
    want = ["1.3.6.1.2.1.1.3.0|2|5", "1.3.6.1.2.1.1.4|4|no instance", "1.3.6.1.2.1.1.6.0|4x|00ff",
            "1.3.6.1.9.1|67:numeric|rate=1"]
    assert done.stdout.splitlines() == want and f"{path}:5:" in done.stderr
    # Over itself, with the rights of a new file.
    mask = os.umask(0o027)
    try:
        check(path, "-convert", path, status=1)
    finally:
        os.umask(mask)
    assert path.read_text().splitlines() == want and path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_converted_answers_the_same(nl6, net, tmp_path):
    """A device of ours walked with names and hints of its MIBs; ours are in tests/functional/mibs."""
    (tmp_path / "types").mkdir()
    it = nl6("-devices", str(tmp_path / "types"), "-seed", "7")
    it.create(1, first=1, resource_file="cisco_ios.json")
    before = dict(walked(walk(it, net.address(1), "-On", "-Ox", "-Ot")))
    named = subprocess.run(
        ["snmpbulkwalk", "-v2c", "-c", "public", f"{net.address(1)}:{it.snmp_port}", ".1"],
        capture_output=True, env=snmp_env(), timeout=60 * SLOW, check=True).stdout
    assert b"SNMPv2-MIB::sysDescr.0 = STRING: " in named and b"IF-MIB::ifPhysAddress.1 = " in named
    path = tmp_path / "walk.snmpwalk"
    path.write_bytes(named)
    assert f"{path}:1: a name, not an OID in numbers" in check(path, status=1).stdout
    to = tmp_path / "types/copy.snmprec"
    mibs = pathlib.Path(HERE) / "mibs"
    done = check("-mibs", mibs, "-convert", to, path, env={"MIBS": "none", "MIBDIRS": "/nowhere"})
    assert done.stdout.endswith(" 0 faults\n") and done.stderr == ""
    it.create(1, first=2, resource_file="copy.json")
    after = walked(walk(it, net.address(2), "-On", "-Ox", "-Ot"))
    moves = {"Counter32", "Counter64", "Timeticks"}
    assert [arcs for arcs, _ in after] == sorted(before)
    assert [(arcs, value, before[arcs]) for arcs, value in after
            if value != before[arcs] and value[0] not in moves] == []


@pytest.mark.parametrize("arguments, status, words", [
    ([], 2, "no file is given"), (["-convert", "x", "a.snmprec", "b.snmprec"], 2, "takes one file"),
    (["-nope", "a.snmprec"], 2, "-nope"), (["none.snmprec"], 1, "none.snmprec: No such file"),
    (["a.txt"], 1, "a.txt: not the name of a recording"),
    (["-mibs", "/none", "a.snmprec"], 2, "-mibs: /none is none (allowed: a directory)")])
def test_what_it_cannot_do_is_said(tmp_path, arguments, status, words):
    assert words in check(*arguments, status=status, cwd=tmp_path).stderr


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    path = tmp_path / "a.snmprec"
    path.write_text("1.3.6.1.9|2|1\n")
    assert "/none/b: No such file" in check("-convert", "/none/b", path, status=1).stderr
    with open("/dev/full", "w") as full:
        done = subprocess.run([CHECK, path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "standard output: No space left" in done.stderr
