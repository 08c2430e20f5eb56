"""Devices over REST, from an empty fleet to an empty one. Every answer is also checked against the
OpenAPI document, by the program's own request()."""

import csv
import io
import re
import threading

from program import SLOW, until

KEYS = ["id", "ip", "snmp_port", "ssh_port", "running", "resource_file", "device_type", "location",
        "latitude", "longitude"]


def test_create_list_show_delete(nl6, net):
    it = nl6()
    assert it.get("/api/v1/devices").json == {
        "success": True, "message": "Success", "data": [], "page": {"next": None, "total": 0}}
    made = it.create(30, round_robin=True)
    assert made.status == 201
    assert made.json["message"] == f"Created 30 devices starting from {net.address()}"
    assert list(made.data)[:3] == ["created", "requested", "failed"]
    listed = it.get("/api/v1/devices").json
    assert [d["ip"] for d in listed["data"]] == [net.address(i) for i in range(1, 31)]
    assert all(list(d)[:10] == KEYS for d in listed["data"])
    assert len({d["detail"]["sys_name"] for d in listed["data"]}) == 30
    assert listed["data"][29]["device_type"] == listed["data"][0]["device_type"]
    for row in listed["data"]:
        by_id, by_ip = (it.get(f"/api/v1/devices/{row[k]}").data for k in ("id", "ip"))
        assert {**by_id, "detail": None} == {**row, "detail": None} == {**by_ip, "detail": None}
        assert by_id["detail"]["sys_name"] == row["detail"]["sys_name"]
    gone = listed["data"][4]
    assert it.delete(f"/api/v1/devices/{gone['id']}").json == {
        "success": True, "message": f"Device {gone['id']} deleted"}
    assert it.get(f"/api/v1/devices/{gone['id']}").status == 404
    assert it.delete(f"/api/v1/devices/{gone['ip']}").status == 404
    assert it.get("/api/v1/status").data["total_devices"] == 29
    assert it.delete("/api/v1/devices").json == {
        "success": True, "message": "All devices deleted"}
    assert it.get("/api/v1/devices").data == []


def test_what_rest_says_is_what_snmp_says(nl6, net):
    it = nl6()
    assert it.create(1, resource_file="cisco_ios.json").status == 201
    detail = it.get(f"/api/v1/devices/{net.address()}").data["detail"]
    assert it.get_snmp("sysName.0") == [detail["sys_name"]]
    assert detail["sys_descr"].split()[0] in it.snmp("snmpget", "sysDescr.0").stdout
    for port in detail["interfaces"]:
        i = port["index"]
        before = it.get(f"/api/v1/devices/{net.address()}").data["detail"]["interfaces"]
        asked = int(it.get_snmp(f"ifHCInOctets.{i}")[0])
        after = it.get(f"/api/v1/devices/{net.address()}").data["detail"]["interfaces"]
        octets = [next(p for p in ports if p["index"] == i)["in_octets"] for ports in (before, after)]
        assert octets[0] <= asked <= octets[1]
        assert it.get_snmp(f"ifName.{i}") == [port["name"]]


def test_a_create_is_answered_at_once_when_asked(nl6, net):
    it = nl6()
    reply = it.request("POST", "/api/v1/devices", headers={"Prefer": "respond-async"}, body={
        "start_ip": net.address(), "device_count": 60000, "snmp_port": it.snmp_port,
        "pre_allocate": True})
    assert reply.status == 202
    assert reply.headers["Preference-Applied"] == "respond-async"
    assert [w["field"] for w in reply.data["warnings"]] == ["pre_allocate"]
    place = reply.headers["Location"]
    batch = until(30, lambda: (b := it.get(place).data)["state"] == "done" and b, "done batch")
    assert (batch["created"], batch["done"], batch["requested"]) == (60000, 60000, 60000)
    assert it.get("/api/v1/devices?limit=1").json["page"]["total"] == 60000


def test_devices_that_differ_are_left_as_they_are(nl6, net):
    it = nl6()
    assert it.create(10, resource_file="asr9k.json").status == 201
    data = it.create(20, first=6, resource_file="cisco_ios.json").data
    assert (data["created"], data["failed"]) == (15, 5)
    assert [w["field"] for w in data["warnings"]] == ["start_ip"]
    assert f"{net.address(6)}-{net.address(10)}" in data["warnings"][0]["message"]
    assert it.get(f"/api/v1/devices/{net.address(6)}").data["detail"]["type"] == "asr9k"


def test_a_body_is_judged_before_anything_is_made(nl6, net):
    it = nl6()
    good = {"start_ip": net.address(), "device_count": 1, "snmp_port": it.snmp_port}
    for more, field in [
        ({"start_ip": "10.0.0"}, "/start_ip"), ({"start_ip": None}, "/start_ip"),
        ({"device_count": 0}, "/device_count"), ({"device_count": 16000001}, "/device_count"),
        ({"device_count": "1"}, "/device_count"), ({"netmask": "255.255.0.0"}, "/netmask"),
        ({"netmask": 16}, "/netmask"), ({"netmask": "24", "device_count": 255}, "/device_count"),
        ({"resource_file": "none.json"}, "/resource_file"),
        ({"resource_file": "../asr9k.json"}, "/resource_file"),
        ({"round_robin": True, "category": "None"}, "/category"),
        ({"round_robin": True, "resource_file": "asr9k.json"}, "/resource_file"),
        ({"max_workers": 1001}, "/max_workers"), ({"snmp_port": -1}, "/snmp_port"),
        ({"colour": "red"}, "/colour"), ({"traps": {"collector": "x:1"}}, "/traps"),
        ({"optical_scenario": "failing"}, "/optical_scenario"),
    ]:
        reply = it.post("/api/v1/devices", good | more)
        assert (reply.status, reply.json["detail"]["field"]) == (400, field)
    for body in ["", "[]", "{", '{"start_ip":"127.0.0.1"} {}', '{"a":1,"a":2}', "\xff"]:
        assert it.post("/api/v1/devices", body).status == 400
    assert it.post("/api/v1/devices", "x" * 65537).status == 413
    assert it.get("/api/v1/status").data["total_devices"] == 0
    assert it.get("/api/v1/batches").data == []


def test_pages_join_to_the_whole_list(fleet):
    it = fleet(2500)
    whole = it.get("/api/v1/devices").data
    assert len(whole) == 2500
    rows, path = [], "/api/v1/devices?limit=999"
    while path:
        body = it.get(path).json
        rows += body["data"]
        path = body["page"]["next"] and f"/api/v1/devices?limit=999&after={body['page']['next']}"
    assert rows == whole
    ios = it.get("/api/v1/devices?type=cisco_ios").data
    assert ios == [d for d in whole if d["detail"]["type"] == "cisco_ios"] != []
    place = whole[7]["location"].split(",")[0].upper()
    found = it.get(f"/api/v1/devices?q={place.replace(' ', '%20')}").data
    assert found == [d for d in whole if any(
        place.lower() in d[k].lower() for k in ("id", "location"))
        or place.lower() in d["detail"]["sys_name"]] != []


def test_the_list_survives_what_happens_meanwhile(fleet, net):
    """Readers see each device that stays exactly once, whatever comes and goes."""
    it = fleet(3000)
    it.get("/api/v1/devices?limit=3")
    it.check_reply = lambda *_: None  # thousands of rows, again and again
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            it.create(500, first=40001)
            for i in range(40001, 40020):
                it.delete(f"/api/v1/devices/{net.address(i)}")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(15):
            ips = [d["ip"] for d in it.get("/api/v1/devices").data]
            assert len(ips) == len(set(ips))
            assert ips[:3000] == [net.address(i) for i in range(1, 3001)]
    finally:
        stop.set()
        thread.join()


def test_csv_and_discovery(fleet, net):
    it = fleet(40)
    reply = it.get("/api/v1/devices/export")
    name = reply.headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="devices_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.csv"', name)
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert list(rows[0]) == ["Device ID", "IP Address", "Interface", "SNMP Port", "SSH Port",
                             "Status", "Resource File"]
    listed = it.get("/api/v1/devices").data
    assert [(r["Device ID"], r["IP Address"], r["Resource File"]) for r in rows] == [
        (d["id"], d["ip"], d["resource_file"]) for d in listed]
    targets = it.get("/api/v1/prometheus/sd").json
    assert [t["targets"] for t in targets] == [[f"{d['ip']}:{it.snmp_port}"] for d in listed]
    assert [t["labels"]["__meta_nl6_sys_name"] for t in targets] == [
        d["detail"]["sys_name"] for d in listed]


def test_many_create_and_delete_at_once(nl6, net):
    it = nl6()
    answers = []

    def work(k):
        for _ in range(5):
            made = it.create(50, first=1 + 1000 * k)
            answers.append(made.status)
            answers.append(it.delete(f"/api/v1/devices/{net.address(1 + 1000 * k)}").status)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120 * SLOW)
    assert sorted(set(answers)) == [200, 201] and len(answers) == 80
    assert it.get("/api/v1/status").data["total_devices"] == 8 * 49
