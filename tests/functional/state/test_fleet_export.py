"""Export and import of the fleet."""

import json


def devices(it):
    return {d["ip"]: (d["id"], d["device_type"], d["detail"]["sys_name"], d["snmp_port"],
                      d["detail"]["netmask"], d.get("resource_file"))
            for d in it.get("/api/v1/devices").data}


def export(it, query=""):
    reply = it.get("/api/v1/fleet/export" + query)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/x-ndjson"
    return reply.text


def send(it, text):
    return it.request("POST", "/api/v1/fleet/import", text,
                      {"Content-Type": "application/x-ndjson"})


def make(it, net):
    it.create(100, round_robin=True)
    it.create(40, first=90, netmask="16", resource_file="asr9k.json", snmp_port=it.snmp_port)
    it.create(3, first=600)
    for i in (1, 7, 8, 101, 601):
        assert it.delete(f"/api/v1/devices/{net.address(i)}").status == 200


def test_an_import_makes_the_fleet_again(nl6, net):
    it = nl6()
    make(it, net)
    had, text = devices(it), export(it)
    head, *creates = [json.loads(line) for line in text.split("\n") if line]
    assert head["nl6"]["format"] == 1 and not head["nl6"]["secrets"]
    assert sum(c["create"]["count"] for c in creates) == len(had)
    assert it.delete("/api/v1/devices").status == 200
    done = send(it, text)
    assert done.status == 200, done.json
    assert done.data["created"] == len(had) and done.data["creates"] == len(creates)
    assert devices(it) == had
    assert export(it) == text
    again = send(it, text).data
    assert again["created"] == 0 and again["existing"] == len(had)


def test_the_fleet_of_another_program(nl6, net, tmp_path):
    one, other = nl6(), nl6("-state-dir", tmp_path / "state")
    make(one, net)
    had, text = devices(one), export(one)
    one.stop()
    assert send(other, text).status == 200
    assert devices(other) == had
    other.stop()
    assert devices(nl6("-state-dir", tmp_path / "state")) == had


def test_a_line_at_fault_is_named_and_nothing_is_done(nl6, net):
    it = nl6()
    good = {"start": net.address(), "count": 2, "netmask": 16, "netmask_given": False,
            "types": ["asr9k"], "named_type": False, "snmp_port": it.snmp_port}
    for bad, said in [
            ("{", "line 3"), ("[]", "one member"), ('{"sets":1}', "none of"),
            ('{"nl6":{"format":2}}', "another format"), ('{"create":{}}', "start"),
            *((json.dumps({"create": good | change}), said) for change, said in [
                ({"count": 0}, "device_count"), ({"count": "2"}, "count"),
                ({"start": "127.0.0.0"}, "start_ip"), ({"types": ["nothing"]}, "no such type"),
                ({"types": []}, "types"), ({"color": "red"}, 'unknown member "color"'),
                ({"netmask": 33}, "netmask"), ({"snmp_port": 70000}, "snmp_port")])]:
        done = send(it, "\n".join([json.dumps({"create": good}), "", bad, ""]))
        assert done.status == 400, (bad, done.json)
        assert done.json["message"].startswith("line 3: ") and said in done.json["message"], done.json
        assert devices(it) == {}
    assert send(it, json.dumps({"create": good})).status == 200
    assert len(devices(it)) == 2


def test_questions_that_mean_nothing(nl6):
    it = nl6()
    assert it.get("/api/v1/fleet/export?secrets=1").status == 400
    assert it.get("/api/v1/fleet/export?secret=true").status == 400
    assert [json.loads(line)["nl6"]["secrets"]
            for line in export(it, "?secrets=true").split("\n") if line] == [True]


def test_a_line_that_is_not_kept_is_named(nl6, net, tmp_path):
    it = nl6("-state-dir", tmp_path / "state", prefix=["prlimit", "--fsize=50000:unlimited", "--"])
    good = {"start": net.address(), "count": 1, "netmask": 16, "netmask_given": False,
            "types": ["asr9k"], "named_type": False, "snmp_port": it.snmp_port}
    lines = [json.dumps({"create": good | {"start": net.address(1 + 2 * i)}})
             for i in range(100)]
    done = send(it, "\n".join(lines))
    assert done.status == 507
    assert "the lines before it are done" in done.json["message"]
    assert len(devices(it)) == int(done.json["message"].split(":")[0].split()[1]) - 1


CONTACT, LOCATION, ADMIN = "1.3.6.1.2.1.1.4.0", "1.3.6.1.2.1.1.6.0", "1.3.6.1.2.1.2.2.1.7"


def test_what_was_set_is_carried_too(nl6, net, tmp_path):
    one = nl6()
    one.create(40, write_community="w")
    index = one.get(f"/api/v1/devices/{net.address(2)}?limit=1").data["detail"]["interfaces"][0]["index"]
    names = CONTACT, LOCATION, f"{ADMIN}.{index}", f"1.3.6.1.2.1.2.2.1.8.{index}"
    for i in (2, 30):
        one.snmp("snmpset", CONTACT, "s", f"who {i} \"x\"", LOCATION, "s", "", names[2], "i", "2",
                 address=net.address(i), community="w")
    had = [one.get_snmp(*names, address=net.address(i)) for i in (1, 2, 30)]
    text, secret = export(one), export(one, "?secrets=true")
    assert text.count('{"device":') == 2
    assert "write_community" not in text and '"write_community":"w"' in secret
    port = one.snmp_port
    one.stop()
    other = nl6("-state-dir", tmp_path / "state", "-snmp-port", str(port))
    done = send(other, secret)
    assert done.status == 200 and done.data["devices"] == 2, done.json
    for _ in range(2):
        assert [other.get_snmp(*names, address=net.address(i)) for i in (1, 2, 30)] == had
        assert export(other, "?secrets=true") == secret
        other.stop()
        other = nl6("-state-dir", tmp_path / "state", "-snmp-port", str(port))
    head, create, *lines = [json.loads(x) for x in secret.split("\n") if x]
    line = lines[0]["device"]
    for change, said in [
            ({"address": net.address(99)}, "no device"),
            ({"interfaces": [{"index": 99999, "admin": 1, "link": 1}]}, "no interface 99999"),
            ({"sets": [{"oid": "1.3.6.1.2.1.1.1.0", "ber": "040178"}]}, "error 17"),
            ({"sets": [{"oid": CONTACT, "ber": "020101"}]}, "error 7"),
            ({"sets": [{"oid": CONTACT, "ber": "0405"}]}, "sets/ber"),
            ({"sets": [{"oid": "x", "ber": "040178"}]}, "sets/oid"),
            ({"interfaces": [{"index": index, "admin": 9, "link": 1}]}, "interfaces/admin"),
            ({"more": 1}, "a member that")]:
        bad = send(other, json.dumps({"device": line | change}))
        assert bad.status == 400 and said in bad.json["message"], bad.json
        assert bad.json["message"].startswith("line 1: ")
    assert export(other, "?secrets=true") == secret
