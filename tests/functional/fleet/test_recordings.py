"""Recordings of real agents as device types, walked by net-snmp and compared record by record."""

import bz2
import pathlib
import re
import struct
import subprocess

import pytest
import snmpsim_data

from program import FULL, SLOW, run_once, snmp_env

DATA = pathlib.Path(snmpsim_data.__path__[0]) / "data"
NAMES = {2: "INTEGER", 4: "STRING", 5: "NULL", 6: "OID", 64: "IpAddress", 65: "Counter32",
         66: "Gauge32", 67: "Timeticks", 68: "OPAQUE", 70: "Counter64"}


def lines_of(path):
    with (bz2.open if path.suffix == ".bz2" else open)(path, "rb") as file:
        for line in file:
            line = line.rstrip(b"\r\n")
            if line and not line.startswith(b"#"):
                yield line.split(b"|", 2)


def value_of(tag, text):
    """(type as net-snmp calls it, a number, octets or text)"""
    number = int(re.match(rb"\d+", tag)[0])
    if tag.endswith(b"x"):
        text = bytes.fromhex(text.decode())
    elif number == 64 and re.fullmatch(rb"[\d.]+", text):
        text = bytes(int(n) for n in text.split(b"."))
    if number in (4, 64, 68):
        return NAMES[number], text
    return NAMES[number], text.decode().lstrip(".") if number == 6 else int(text or b"0")


def recorded(path):
    """{arcs: value}, of the last record where there are several."""
    return {tuple(map(int, oid.strip(b".").split(b"."))): value_of(tag, text)
            for oid, tag, text in lines_of(path)}


def told(name, text):
    if name == "Hex-STRING" or name == "BITS":
        return "STRING", bytes.fromhex(text)
    if name == "STRING":
        assert text in ('""', ""), text  # all others in hex, by -Ox
        return "STRING", b""
    if name == "IpAddress":
        return name, bytes(int(n) for n in text.split("."))
    if name == "OID":
        return name, {"ccitt": "0"}.get(text.split(".")[0], "1") + text[text.index("."):] if (
            text[0].isalpha()) else text.lstrip(".")
    if name == "Opaque":
        kind, _, number = text.partition(": ")
        return "OPAQUE", {"Float": b"\x9f\x78\x04" + struct.pack(">f", float(number))}[kind]
    if name == "OPAQUE":
        return name, bytes.fromhex(text)
    return name, int(text)


def walked(text):
    """What snmpbulkwalk -On -Ox -Ot printed, in its order: [(arcs, value)]."""
    found = []
    for entry in re.split(r"\n(?=\.\d)", text.strip("\n")):
        oid, _, rest = entry.partition(" = ")
        if rest.startswith("No more variables"):
            continue
        typed = re.match(r"([A-Z][\w-]+): ?", rest)
        if rest == "NULL":
            value = "NULL", 0
        elif rest == '""':
            value = "STRING", b""
        elif typed:
            value = told(typed[1], rest[typed.end():].replace("\n", " ").strip())
        else:
            value = "Timeticks", int(rest)
        found.append((tuple(map(int, oid.strip(".").split("."))), value))
    return found


def walk(it, address, *options):
    # Its own modules would give some objects hints, so it has none.
    env = snmp_env() | {"MIBS": "", "MIBDIRS": ""}
    return subprocess.run(
        ["snmpbulkwalk", "-v2c", "-c", "public", "-Cr50", "-t", str(10 * SLOW), *options,
         f"{address}:{it.snmp_port}", ".1"], capture_output=True, env=env, timeout=600 * SLOW,
        check=True).stdout.decode("latin-1")


def is_varied(path):
    return any(b":" in tag for _, tag, _ in lines_of(path))


def sample():
    files = sorted((p for p in DATA.rglob("*.snmprec*") if p.stat().st_size < 100_000),
                   key=lambda p: p.stat().st_size)
    return [p for p in files if not is_varied(p)][::1 if FULL else 4]


def test_recordings_are_served_as_they_are(nl6, net, tmp_path):
    files = sample()
    assert len(files) >= 10
    slugs = [re.sub(r"\W", "-", p.name.split(".")[0]) for p in files]
    for slug, path in zip(slugs, files):
        (tmp_path / f"{slug}{''.join(path.suffixes[-2:])}").symlink_to(path)
    it = nl6("-devices", str(tmp_path))
    for i, slug in enumerate(slugs, 1):
        it.create(1, first=i, resource_file=f"{slug}.json")
    for i, path in enumerate(files, 1):
        want = sorted(recorded(path).items())
        got = walked(walk(it, net.address(i), "-On", "-Ox", "-Ot"))
        assert len(got) == len(want) and got == want, (path, [
            (g, w) for g, w in zip(got, want) if g != w][:3])


@pytest.mark.parametrize("options", [["-ObentU"], ["-On"], ["-Onx"], ["-One"], ["-OnU"], [], ["-Of"]],
                         ids=" ".join)
def test_walks_in_any_spelling_are_served_as_the_agent_was(nl6, net, tmp_path, options):
    """A device of ours is walked, and what was printed is a type that answers the same."""
    it = nl6("-devices", str(tmp_path), "-seed", "7")
    it.create(1, first=1, resource_file="cisco_ios.json")
    before = walk(it, net.address(1), "-On", "-Ox", "-Ot")
    (tmp_path / "copy.snmpwalk").write_bytes(
        walk(it, net.address(1), *options).encode("latin-1"))
    it.create(1, first=2, resource_file="copy.json")
    want, got = dict(walked(before)), walked(walk(it, net.address(2), "-On", "-Ox", "-Ot"))
    assert [arcs for arcs, _ in got] == sorted(want)
    # What moves has moved between the two walks.
    moves = {"Counter32", "Counter64", "Timeticks"}
    assert [(arcs, value, want[arcs]) for arcs, value in got
            if value[0] not in moves and value != want[arcs]] == []
    assert all(value[0] == want[arcs][0] for arcs, value in got)
    assert sum(value[0] not in moves for _, value in got) > 80


def test_order_and_doubles_do_not_matter(nl6, net, tmp_path):
    (tmp_path / "mixed.snmprec").write_text(
        "1.3.6.1.2.1.1.6.0|4|first\n1.3.6.1.2.1.1.1.0|4|box\n1.3.6.1.2.1.1.6.0|4|last\n"
        "1.3.6.1.2.1.1.4.0|4|me\n")
    it = nl6("-devices", str(tmp_path))
    it.create(1, resource_file="mixed.json")
    assert walked(walk(it, net.address(), "-On", "-Ox", "-Ot")) == [
        ((1, 3, 6, 1, 2, 1, 1, 1, 0), ("STRING", b"box")),
        ((1, 3, 6, 1, 2, 1, 1, 4, 0), ("STRING", b"me")),
        ((1, 3, 6, 1, 2, 1, 1, 6, 0), ("STRING", b"last"))]
    assert it.get_snmp("SNMPv2-MIB::sysLocation.0") == ["last"]
    # An object that is known has no such instance, others are no objects.
    assert it.get_snmp("SNMPv2-MIB::sysLocation.1", "SNMPv2-MIB::sysName.0") == [
        "No Such Instance currently exists at this OID",
        "No Such Object available on this agent at this OID"]
    assert it.get("/api/v1/devices").data[0]["resource_file"] == "mixed.json"


@pytest.mark.parametrize("name, text, words", [
    ("a.snmprec", "# x\n1.3.6|2|x\n", "a.snmprec:2: no number"),
    ("a.snmprec", "1.3.6|67:numeric|rate=1\n", "a.snmprec:1: variations are not in this build"),
    ("a.snmprec", "# x\n", "a.snmprec: no record in it"),
    ("a.snmprec.bz2", bz2.compress(b"1.3.6|2|5\n")[:-4], "a.snmprec.bz2:"),
    ("a.snmpwalk", ".1.3.6 = INTEGER: 5\nSNMPv2-MIB::sysDescr.0 = STRING: x\n",
     "a.snmpwalk:2: a name, not an OID in numbers"),
])
def test_what_is_wrong_is_named_with_its_line(nl6, net, tmp_path, name, text, words):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run_once("-devices", str(tmp_path), "-auto-start-ip", net.address(), "-auto-count", "1",
                    "-auto-type", "a", "-snmp-port", "0")
    assert done.returncode != 0 and words in done.stderr, done.stderr
    it = nl6("-devices", str(tmp_path))
    reply = it.post("/api/v1/devices", {"start_ip": net.address(), "device_count": 1,
                                        "resource_file": "a.json"})
    assert reply.status == 400 and words.replace(": ", ": ", 1) in reply.json["message"]
