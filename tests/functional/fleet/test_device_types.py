"""Types of the user's own, in both forms, without a rebuild, told by net-snmp."""

import json

from program import run_once

OURS = {
    "name": "Example", "label": "Example Router", "category": "Other", "doc_category": "Lab",
    "profile": "core",
    "system": {"descr": "An example", "object_id": "1.3.6.1.4.1.32473.7", "contact": "me",
               "services": 4},
    "interfaces": [
        {"name": "mgmt", "index": 1, "speed_bps": 1000000000, "management": True},
        {"name": "te{n}", "first": 1, "count": 2, "index": 10, "speed_bps": 10000000000},
    ],
    "objects": [{"oid": "1.3.6.1.4.1.32473.1.0", "type": "template", "value": "sn {serial}"}],
}


def entry(oid, response):
    return {"oid": oid, "response": response}


THEIRS = {
    "a.json": {"snmp": [
        entry(".1.3.6.1.2.1.1.1.0", "first"),
        entry("1.3.6.1.2.1.1.2.0", "1.3.6.1.4.1.9.1.1"),
        entry("1.3.6.1.2.1.1.5.0", "not this name"),
        entry("1.3.6.1.2.1.2.2.1.2.4", "GigabitEthernet0/4"),
        entry("1.3.6.1.2.1.2.2.1.6.4", "00:1b:2c:3d:4e:5f"),
        entry("1.3.6.1.2.1.31.1.1.1.6.4", "77"),
        entry("1.3.6.1.2.1.31.1.1.1.15.4", "1000"),
    ]},
    "b.json": {"snmp": [
        entry("1.3.6.1.2.1.1.1.0", "second"),
        entry("1.3.6.1.2.1.4.21.1.7.10.0.0.0", "10.0.0.1"),
        entry("1.3.6.1.4.1.9.9.109.1.1.1.1.5.1", "12"),
    ], "ssh": [{"command": "show version", "response": "x"}]},
}


def write(folder, types):
    for slug, content in types.items():
        if slug.endswith(".json"):
            (folder / slug).write_text(content if isinstance(content, str) else json.dumps(content))
            continue
        (folder / slug).mkdir()
        write(folder / slug, content)
    return folder


def test_both_forms_are_served(nl6, net, tmp_path):
    folder = write(tmp_path, {"example.json": OURS, "cisco_old": THEIRS})
    program = nl6("-devices", str(folder))
    types = {t["filename"]: t for t in program.get("/api/v1/resources").data}
    assert types["example.json"]["type"] == "Example Router"
    assert types["cisco_old.json"] == {"filename": "cisco_old.json", "name": "Cisco Old",
                                       "type": "Cisco Router/Switch", "category": "Network Devices"}
    assert len(types) == 31
    program.create(1, first=1, resource_file="example.json")
    program.create(1, first=2, resource_file="cisco_old.json")

    def get(i, *names):
        return program.get_snmp(*names, address=net.address(i))

    serial = "SN7F%02X0001" % int(net.address(1).split(".")[1])
    assert get(1, "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.2.1.0", "1.3.6.1.4.1.32473.1.0") == \
        ["An example", "3", f'"sn {serial}"']
    assert get(2, "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.2.0", "1.3.6.1.2.1.2.2.1.6.4",
               "1.3.6.1.2.1.2.2.1.5.4", "1.3.6.1.2.1.4.21.1.7.10.0.0.0",
               "1.3.6.1.4.1.9.9.109.1.1.1.1.5.1",
               f"1.3.6.1.2.1.4.20.1.2.{net.address(2)}") == \
        ["second", "SNMPv2-SMI::enterprises.9.1.1", "0:1b:2c:3d:4e:5f", "1000000000", "10.0.0.1", "12", "4"]
    name = get(2, "1.3.6.1.2.1.1.5.0")[0]
    assert "cisco-old" in name
    log = program.stderr
    assert "cisco_old: not served in this build: answers of the section ssh: 1" in log
    assert "cisco_old: the last value is served of OIDs that appear again: 1; " in log


def test_a_changed_file_is_for_later_devices(nl6, net, tmp_path):
    folder = write(tmp_path, {"example.json": OURS})
    program = nl6("-devices", str(folder))
    program.create(1, first=1, resource_file="example.json")
    changed = {**OURS, "system": {**OURS["system"], "descr": "Another"}}
    write(tmp_path, {"example.json": changed})
    program.create(1, first=2, resource_file="example.json")
    told = program.post("/api/v1/resources/reload", {"resource_file": "example.json"}).data
    assert told["evicted"] == ["example.json"] or told["evicted"] == ["example"]
    program.create(1, first=3, resource_file="example.json")
    told = [program.get_snmp("1.3.6.1.2.1.1.1.0", address=net.address(i)) for i in (1, 2, 3)]
    assert told == [["An example"], ["An example"], ["Another"]]


def test_a_wrong_file_is_told_with_line_and_key(nl6, tmp_path):
    wrong = json.dumps(OURS, indent=1).replace('"speed_bps": 1000000000,', '"speed_bps": -5,')
    line = wrong[:wrong.index('"speed_bps"')].count("\n") + 1
    folder = write(tmp_path, {"example.json": wrong})
    said = f"example.json:{line}: /interfaces/0/speed_bps"
    done = run_once("-devices", str(folder), "-auto-type", "example", "-auto-start-ip", "127.0.0.9",
                    "-auto-count", "1", "-port", "0", "-snmp-port", "0")
    assert done.returncode != 0
    assert f"{said}: -5 is out of range" in done.stderr
    program = nl6("-devices", str(folder))
    reply = program.post("/api/v1/devices", {"start_ip": "127.0.0.9", "device_count": 1,
                                             "resource_file": "example.json"})
    assert reply.status == 400
    assert reply.json["message"] == \
        f"resource_file: resource example.json: {said}: -5 is out of range"
