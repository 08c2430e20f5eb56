"""SET by net-snmp's snmpset: what can be set, what is refused by which error, and what follows."""

import re
import socket
import subprocess

import pytest

from program import SLOW, snmp_env, until

SECRET = "let me write"
IF, IFX = "1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31.1.1.1"
NAME, CONTACT, PLACE = (f"1.3.6.1.2.1.1.{n}.0" for n in (5, 4, 6))
REASON = re.compile(r"Reason: \(?(\w+)")


@pytest.fixture
def it(nl6, net):
    program = nl6("-auto-start-ip", net.address(), "-auto-count", "3", "-auto-type", "cisco_ios",
                  "-snmp-write-community", SECRET)
    return program


def tool(it, name, *arguments, version="2c", community=SECRET, address=None):
    """One of net-snmp's, without MIBs: nothing is judged before it is sent."""
    return subprocess.run(
        [name, f"-v{version}", "-c", community, "-t", str(2 * SLOW), "-r", "1", "-On", "-OQ",
         f"{address or it.net.address()}:{it.snmp_port}", *map(str, arguments)],
        capture_output=True, text=True, env=snmp_env() | {"MIBS": "", "MIBDIRS": ""})


def write(it, *bindings, **more):
    """"" or the reason why not, and the name that failed."""
    done = tool(it, "snmpset", *bindings, **more)
    if done.returncode == 0:
        return "", ""
    failed = re.search(r"Failed object: \.?([\d.]+)", done.stderr)
    reason = REASON.search(done.stderr)
    return reason[1] if reason else done.stderr, failed[1] if failed else ""


def read(it, *names, community="public", **more):
    done = tool(it, "snmpget", *names, community=community, **more)
    assert done.returncode == 0, done.stderr
    return [line.partition(" = ")[2] for line in done.stdout.splitlines()]


def tlv(tag, content):
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


def counters(it, owner):
    return it.get("/api/v1/status").data["counters"][owner]


def test_what_is_set_is_there(it, net):
    assert write(it, NAME, "s", "core-1", PLACE, "s", "", f"{IFX}.18.2", "s", "to core-2") == ("", "")
    assert read(it, NAME, PLACE, f"{IFX}.18.2") == ['"core-1"', '""', '"to core-2"']
    walk = tool(it, "snmpbulkwalk", "1.3.6.1.2.1.1").stdout
    assert '.1.3.6.1.2.1.1.5.0 = "core-1"' in walk
    # Only on this device.
    assert read(it, NAME, address=net.address(2)) != ['"core-1"']
    assert write(it, NAME, "s", "core-2") == ("", "") and read(it, NAME) == ['"core-2"']


@pytest.mark.parametrize("binding, v2, v1", [
    # 3 of the contract: type before value, value before instance.
    (("1.3.6.1.2.1.1.1.0", "s", "x"), "notWritable", "noSuchName"),
    (("1.3.6.1.4.1.99.1", "i", "1"), "notWritable", "noSuchName"),
    ((f"{IF}.7.1", "s", "up"), "wrongType", "badValue"),
    ((f"{IF}.7.1", "u", "1"), "wrongType", "badValue"),
    ((f"{IF}.7.1", "i", "0"), "wrongValue", "badValue"),
    ((f"{IF}.7.1", "i", "4"), "wrongValue", "badValue"),
    ((f"{IF}.7.999", "i", "7"), "wrongValue", "badValue"),
    ((f"{IF}.7.999", "i", "1"), "noCreation", "noSuchName"),
    ((f"{IF}.7", "i", "1"), "noCreation", "noSuchName"),
    ((f"{IF}.7.1.2", "i", "1"), "noCreation", "noSuchName"),
    ((f"{IF}.8.1", "i", "1"), "notWritable", "noSuchName"),
    ((CONTACT, "i", "1"), "wrongType", "badValue"),
    ((CONTACT, "s", "x" * 256), "wrongLength", "badValue"),
    ((CONTACT, "x", "ff"), "wrongValue", "badValue"),
    ((f"{IFX}.18.1", "s", "x" * 65), "wrongLength", "badValue"),
    (("1.3.6.1.2.1.1.5.1", "s", "x"), "noCreation", "noSuchName"),
])
def test_each_refusal_has_its_error(it, binding, v2, v1):
    before = read(it, CONTACT, f"{IF}.7.1", f"{IFX}.18.1", PLACE)
    assert write(it, *binding) == (v2, binding[0])
    assert write(it, *binding, version="1") == (v1, binding[0])
    # All or nothing, and the index is that of the one at fault.
    assert write(it, PLACE, "s", "elsewhere", *binding, CONTACT, "s", "me") == (v2, binding[0])
    assert read(it, CONTACT, f"{IF}.7.1", f"{IFX}.18.1", PLACE) == before


def test_an_interface_that_is_shut(it):
    """Tables agree; counters stand still while it is down and go on from there."""
    columns = [f"{IF}.7.1", f"{IF}.8.1", f"{IF}.9.1", f"{IF}.10.1", f"{IF}.16.1", f"{IFX}.6.1"]
    other = f"{IF}.10.2"
    until(20, lambda: int(read(it, other)[0]) > 0, "traffic")
    assert read(it, *columns)[:3] == ["1", "1", "0:0:00:00.00"]
    before = read(it, "1.3.6.1.2.1.1.3.0")[0]
    assert write(it, f"{IF}.7.1", "i", "2") == ("", "")
    down = read(it, *columns, other)
    assert down[:2] == ["2", "2"] and before <= down[2] <= read(it, "1.3.6.1.2.1.1.3.0")[0]
    assert int(down[3]) == int(down[5]) % 2**32
    until(20, lambda: int(read(it, other)[0]) > int(down[6]), "traffic of the other")
    assert read(it, *columns) == down[:6]
    # The same again changes nothing, not even the time.
    assert write(it, f"{IF}.7.1", "i", "2") == ("", "") and read(it, *columns) == down[:6]
    assert write(it, f"{IF}.7.1", "i", "3") == ("", "") and read(it, *columns)[:2] == ["3", "3"]
    assert write(it, f"{IF}.7.1", "i", "1") == ("", "")
    up = read(it, *columns)
    assert up[:2] == ["1", "1"] and up[2] > down[2] and int(up[5]) >= int(down[5])
    until(20, lambda: int(read(it, columns[5])[0]) > int(down[5]), "traffic again")
    shown = it.get(f"/api/v1/devices/{it.net.address()}").data["detail"]["interfaces"][0]
    assert (shown["admin_status"], shown["oper_status"]) == (1, 1)


def test_who_may_write(it, nl6, net):
    it.create(1, first=5)
    it.create(1, first=6, write_community="other")
    assert "Timeout" in write(it, NAME, "s", "x", community="public")[0]
    assert "Timeout" in write(it, NAME, "s", "x", address=net.address(5))[0]
    assert "Timeout" in write(it, NAME, "s", "x", address=net.address(6))[0]
    assert write(it, NAME, "s", "x", address=net.address(6), community="other") == ("", "")
    # That community reads as any does, where none is asked for.
    assert read(it, NAME, address=net.address(6), community="other") == ['"x"']
    # snmpInBadCommunityUses, of the first device: a try and its repetition.
    assert read(it, "1.3.6.1.2.1.11.5.0") == ["2"]
    text = it.get("/api/v1/devices?limit=100").text + it.get("/metrics").text
    assert SECRET not in text + it.stderr and "other" not in it.get(
        f"/api/v1/devices/{net.address(6)}").text
    assert it.post("/api/v1/devices", {"start_ip": net.address(7), "device_count": 1,
                                       "write_community": "x" * 256}).status == 400


def test_reading_by_one_community_and_writing_by_another(nl6, net):
    it = nl6("-auto-start-ip", net.address(), "-auto-count", "1", "-snmp-community", "reader",
             "-snmp-write-community", SECRET)
    assert write(it, NAME, "s", "x") == ("", "")
    assert read(it, NAME, community="reader") == ['"x"']
    assert tool(it, "snmpget", NAME).returncode != 0
    assert "Timeout" in write(it, NAME, "s", "y", community="reader")[0]


def test_a_retransmission_is_answered_once(it, net):
    """The same datagram sent many times at once: each answer is the same, and fewer are carried out
    than were sent or the ones between were over."""
    sent, name = 50, bytes([43, 6, 1, 2, 1, 1, 5, 0])
    pairs = tlv(0x30, tlv(0x30, tlv(6, name) + tlv(4, b"again")))
    pdu = tlv(0xa3, tlv(2, b"\7") + tlv(2, b"\0") + tlv(2, b"\0") + pairs)
    message = tlv(0x30, tlv(2, b"\1") + tlv(4, SECRET.encode()) + pdu)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((net.address(9), 0))
        s.connect((net.address(), it.snmp_port))
        for _ in range(sent):
            s.send(message)
        s.settimeout(5 * SLOW)
        answers = {s.recv(4096)}
        until(10, lambda: counters(it, "set_queue")["taken_requests"] + counters(
            it, "set_queue")["repeated_requests"] == sent, "all of them")
    assert len(answers) == 1 and read(it, NAME) == ['"again"']
    queue = counters(it, "set_queue")
    assert queue["committed_requests"] == queue["taken_requests"] == queue["sent_answers"]


def test_sets_of_many_devices_at_once(nl6, net):
    """From several managers; each device has what it was told last."""
    import concurrent.futures
    it = nl6("-auto-start-ip", net.address(), "-auto-count", "40", "-snmp-write-community", SECRET)

    def work(i):
        for k in range(5):
            assert write(it, NAME, "s", f"d{i}-{k}", address=net.address(i)) == ("", "")
        return read(it, NAME, address=net.address(i))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(1, 41))) == [[f'"d{i}-4"'] for i in range(1, 41)]
    assert counters(it, "set_queue")["committed_requests"] == 200


def test_counters_of_the_snmp_group(it):
    write(it, NAME, "s", "a", PLACE, "s", "b")
    write(it, f"{IF}.7.999", "i", "1")
    # In SET requests, variables set, and responses with noSuchName to version 1.
    assert read(it, "1.3.6.1.2.1.11.17.0", "1.3.6.1.2.1.11.14.0") == ["2", "2"]
    write(it, f"{IF}.7.999", "i", "1", version="1")
    assert read(it, "1.3.6.1.2.1.11.17.0", "1.3.6.1.2.1.11.21.0") == ["3", "1"]
