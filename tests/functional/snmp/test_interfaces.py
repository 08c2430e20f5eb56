"""States of interfaces set over REST, seen by net-snmp, for good and for a while; and what was set by
SNMP, listed and put back."""

import random

import pytest

from program import until
from test_set import IF, IFX, NAME, PLACE, SECRET, read, write

ADMIN, OPER, CHANGED, OCTETS = (f"{IF}.{n}" for n in (7, 8, 9, 10))
NUMBER = {"UP": "1", "DOWN": "2", "TESTING": "3"}


@pytest.fixture
def it(nl6, net):
    return nl6("-auto-start-ip", net.address(), "-auto-count", "2", "-auto-type", "cisco_ios",
               "-snmp-write-community", SECRET)


def post(it, leaf, status, index=1, device=None, **more):
    return it.post(f"/api/v1/devices/{device or it.net.address()}/interfaces/{index}/{leaf}-status",
                   {"status": status, **more})


def test_link_and_administrator(it):
    said = post(it, "oper", "DOWN")
    assert said.status == 202 and said.json == {
        "link": "DOWN", "oper_status": "DOWN", "admin_status": "UP", "masked": False}
    assert read(it, f"{ADMIN}.1", f"{OPER}.1") == ["1", "2"]
    changed = read(it, f"{CHANGED}.1")
    said = post(it, "admin", "TESTING").json
    assert said == {"link": "DOWN", "oper_status": "TESTING", "admin_status": "TESTING",
                    "masked": True}
    assert read(it, f"{CHANGED}.1") > changed
    # Masked: nothing moves.
    before = read(it, f"{ADMIN}.1", f"{OPER}.1", f"{CHANGED}.1", f"{OCTETS}.1", f"{IFX}.6.1")
    assert post(it, "oper", "UP").json["masked"] is True
    assert read(it, f"{ADMIN}.1", f"{OPER}.1", f"{CHANGED}.1", f"{OCTETS}.1", f"{IFX}.6.1") == before
    assert post(it, "admin", "UP").json["oper_status"] == "UP"
    assert read(it, f"{ADMIN}.1", f"{OPER}.1") == ["1", "1"]
    # By the device's id as well, and SNMP has the last word as REST has.
    device = it.get("/api/v1/devices?limit=1").data[0]["id"]
    assert post(it, "admin", "DOWN", device=device).status == 202
    assert write(it, f"{ADMIN}.1", "i", "1") == ("", "") and read(it, f"{OPER}.1") == ["1"]


def test_for_a_while(it):
    assert post(it, "oper", "DOWN", duration="1s").status == 202
    assert read(it, f"{OPER}.1") == ["2"]
    until(20, lambda: read(it, f"{OPER}.1") == ["1"], "the link")
    # A later one takes the place of the first, and what comes back is what was before both.
    assert post(it, "oper", "DOWN", duration="1h").status == 202
    assert post(it, "oper", "TESTING", duration="1s").status == 202
    assert read(it, f"{OPER}.1") == ["3"]
    until(20, lambda: read(it, f"{OPER}.1") == ["1"], "the link")
    # One for good ends the waiting.
    assert post(it, "oper", "TESTING", duration="500ms").status == 202
    assert post(it, "oper", "DOWN").status == 202
    assert post(it, "oper", "DOWN", index=2, duration="800ms").status == 202
    until(20, lambda: read(it, f"{OPER}.2") == ["1"], "the other link")
    assert read(it, f"{OPER}.1") == ["2"]


def test_what_is_refused(it, net):
    for body in ({"status": "up"}, {"status": ""}, {}, {"status": 1}, {"status": "UP", "more": 1},
                 {"status": "UP", "duration": "25h"}, {"status": "UP", "duration": "0s"},
                 {"status": "UP", "duration": 30}, {"status": "UP", "duration": "30"},
                 {"status": "UP", "duration": "-1s"}):
        reply = it.post(f"/api/v1/devices/{net.address()}/interfaces/1/oper-status", body)
        assert reply.status == 400 and reply.json["success"] is False, body
    assert post(it, "oper", "DOWN", index=99).json == {"error": "unknown ifIndex",
                                                       "validIfIndexes": [1, 2, 3, 4]}
    assert post(it, "oper", "DOWN", index="x").status == 400
    assert post(it, "oper", "DOWN", device=net.address(77)).status == 404
    assert read(it, f"{OPER}.1") == ["1"]


def test_a_hundred_may_wait(nl6, net, tmp_path):
    import json
    (tmp_path / "wide.json").write_text(json.dumps({
        "name": "Wide", "label": "Wide", "category": "Other", "doc_category": "Lab",
        "profile": "core", "system": {"descr": "d", "object_id": "1.3.6.1.4.1.32473.7",
                                      "contact": "", "services": 4},
        "interfaces": [{"name": "te{n}", "first": 1, "count": 110, "index": 1,
                        "speed_bps": 1000000000}]}))
    it = nl6("-devices", str(tmp_path), "-auto-start-ip", net.address(), "-auto-count", "1",
             "-auto-type", "wide")
    for i in range(1, 101):
        assert post(it, "oper", "DOWN", index=i, duration="1h").status == 202
    reply = post(it, "oper", "DOWN", index=101, duration="1h")
    assert reply.status == 429 and "100" in reply.json["message"]
    assert read(it, f"{OPER}.101") == ["1"]
    # One that waits already may wait again, and one for good always works.
    assert post(it, "oper", "TESTING", index=5, duration="1h").status == 202
    assert post(it, "oper", "DOWN", index=101).status == 202
    assert post(it, "oper", "UP", index=5).status == 202
    assert post(it, "oper", "DOWN", index=102, duration="1h").status == 202


def test_a_random_walk(it):
    """Against a model: states, times of change and counters of all interfaces agree."""
    rng = random.Random(7)
    name = {number: status for status, number in NUMBER.items()}
    admin = dict.fromkeys(range(1, 5), "UP")
    link = {i: name[read(it, f"{OPER}.{i}")[0]] for i in admin}

    def oper(i):
        return link[i] if admin[i] == "UP" else admin[i]
    seen = {i: read(it, f"{CHANGED}.{i}", f"{IFX}.6.{i}") for i in admin}
    for step in range(120):
        i, status = rng.randint(1, 4), rng.choice(["UP", "DOWN", "TESTING"])
        before = oper(i)
        if rng.random() < 0.3:
            link[i] = status
            assert post(it, "oper", status, index=i).status == 202
        elif rng.random() < 0.5:
            admin[i] = status
            assert post(it, "admin", status, index=i).status == 202
        else:
            admin[i] = status
            assert write(it, f"{ADMIN}.{i}", "i", NUMBER[status]) == ("", "")
        for k in admin:
            got = read(it, f"{ADMIN}.{k}", f"{OPER}.{k}", f"{CHANGED}.{k}", f"{IFX}.6.{k}",
                       f"{OCTETS}.{k}")
            assert got[:2] == [NUMBER[admin[k]], NUMBER[oper(k)]], step
            assert (got[2] == seen[k][0]) == (k != i or oper(k) == before)
            assert int(got[3]) >= int(seen[k][1]) and int(got[3]) % 2**32 == int(got[4])
            if oper(k) != "UP" and (k != i or oper(k) == before):
                assert got[3] == seen[k][1]
            seen[k] = got[2], got[3]


@pytest.mark.parametrize("flags, want", [
    (["-if-scenario", "1"], {"2 2"}), (["-if-scenario", "2"], {"1 1", "1 2", "2 2"}),
    (["-if-scenario", "3"], {"1 2"}), (["-if-scenario", "4", "-if-failure-pct", "3"], None)])
def test_how_interfaces_boot(nl6, net, flags, want):
    it = nl6("-auto-start-ip", net.address(), "-auto-count", "1", "-auto-type", "cisco_ios", *flags)
    it.create(1, first=2, resource_file="cisco_ios.json")
    for device in net.address(1), net.address(2):
        got = [" ".join(read(it, f"{ADMIN}.{i}", f"{OPER}.{i}", address=device))
               for i in range(1, 5)]
        if want is None:  # ifIndex modulo 100 below 3
            assert got[:2] == ["1 2", "1 2"] and {one[0] for one in got} == {"1"}
        else:
            assert set(got) <= want
        assert read(it, f"{CHANGED}.1", address=device) == ["0:0:00:00.00"]
    # A link that failed at the start can come back.
    if flags[1] == "3":
        assert post(it, "oper", "UP").json["oper_status"] == "UP"


def test_errors_and_discards(nl6, net):
    columns = [f"{IF}.{n}.1" for n in (13, 14, 19, 20, 15)]
    it = nl6("-auto-start-ip", net.address(), "-auto-count", "1", "-auto-type", "cisco_ios",
             "-if-error-scenario", "failing")
    it.create(1, first=2, resource_file="cisco_ios.json", if_error_scenario=" Failing ")
    it.create(1, first=3, resource_file="cisco_ios.json", if_error_scenario="")
    for device in net.address(1), net.address(2):
        until(60, lambda: int(read(it, columns[1], address=device)[0]) > 0, "errors")
    assert set(read(it, *columns, address=net.address(3))) == {"0"}
    assert read(it, columns[4]) == ["0"]
    assert it.post("/api/v1/devices", {"start_ip": net.address(9), "device_count": 1,
                                       "if_error_scenario": "bad"}).status == 400


def test_what_was_set_is_listed_and_put_back(it, net):
    url = f"/api/v1/devices/{net.address()}/sets"
    name, place = read(it, NAME, PLACE)
    assert it.get(url).data == []
    assert write(it, PLACE, "s", 'a "b" \\', NAME, "s", "n", f"{IFX}.14.2", "i", "2") == ("", "")
    listed = it.get(url).data
    assert all(0 <= one.pop("age_seconds") < 60 for one in listed)
    assert listed == [
        {"oid": NAME, "name": "sysName", "type": "string", "value": "n"},
        {"oid": PLACE, "name": "sysLocation", "type": "string", "value": 'a "b" \\'},
        {"oid": f"{IFX}.14.2", "name": "ifLinkUpDownTrapEnable", "type": "integer", "value": 2}]
    assert it.delete(f"{url}?oid={PLACE}").status == 200 and read(it, NAME, PLACE) == ['"n"', place]
    assert it.delete(f"{url}?oid={PLACE}").status == 404
    assert it.delete(f"{url}?oid=x").status == 400
    assert it.delete(url).status == 200 and read(it, NAME, PLACE) == [name, place]
    assert it.get(url).data == [] and it.delete(url).status == 200
    assert it.get(f"/api/v1/devices/{net.address(77)}/sets").status == 404
    assert it.delete(f"/api/v1/devices/{net.address(77)}/sets").status == 404
    # A device that is made again has nothing of the one before.
    assert write(it, NAME, "s", "n") == ("", "")
    assert it.delete(f"/api/v1/devices/{net.address()}").status == 200
    it.create(1, resource_file="cisco_ios.json")
    assert read(it, NAME) == [name] and it.get(url).data == []
