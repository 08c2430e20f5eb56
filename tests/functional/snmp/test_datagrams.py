"""Single datagrams: sizes, errors, exceptions, and what has no answer."""

import re

import pytest

from asker import (END_OF_MIB_VIEW, GET, GETBULK, GETNEXT, INFORM, NO_SUCH_INSTANCE,
                   NO_SUCH_OBJECT, NULL, REPORT, RESPONSE, SET, TRAP, V1, V2C, binding, integer,
                   message, oid, pdu, tlv)
from program import until

DESCR, UPTIME = "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.3.0"
MTU_PAYLOAD = 1500 - 28


def metrics(program):
    text = program.get("/metrics").text
    found = {}
    for line in text.splitlines():
        if at := re.match(r"(nl6_\w+?)(?:_total)?(?:\{.*\})? (\S+)$", line):
            found[at[1]] = found.get(at[1], 0) + float(at[2])
    return found


def test_exceptions_name_what_was_asked(fleet, asker):
    ask = asker(fleet(1))
    names = ["1.3.6.1.2.1.1.1", "1.3.6.1.2.1.1.1.1", "1.3.6.1.2.1.2.2.1.2.999999",
             "1.3.6.1.2.1.2.2.1.2", "1.3.6.1.2.1.2.2.1.99.1", "1.3.6.1.4.1.99999.1", "2.999", DESCR]
    got = ask.ask(GET, *names)
    assert got.error == 0 and [b.name for b in got.bindings] == names
    assert [b.tag for b in got.bindings] == [NO_SUCH_INSTANCE] * 4 + [NO_SUCH_OBJECT] * 3 + [4]
    past = ask.ask(GETNEXT, "2.999", UPTIME)
    assert (past.bindings[0].name, past.bindings[0].tag) == ("2.999", END_OF_MIB_VIEW)
    assert past.bindings[1].tag != END_OF_MIB_VIEW


def test_bulk_fills_the_datagram_and_pads_at_the_end(fleet, asker):
    ask = asker(fleet(1))
    full = ask.ask(GETBULK, "1.3.6.1.2.1.2.2.1.10", b=2000)
    assert full.error == 0 and MTU_PAYLOAD - 40 < full.bytes <= MTU_PAYLOAD
    last = ask.walk(repetitions=500)[-1].name
    end = ask.ask(GETBULK, last, "1.3.6.1.2.1.1.1", b=3)
    assert [b.name for b in end.bindings[::2]] == [last] * 3
    assert {b.tag for b in end.bindings[::2]} == {END_OF_MIB_VIEW}
    assert len(ask.ask(GETBULK, last, "2.999", b=50).bindings) == 2
    assert ask.ask(GETBULK, DESCR, b=0).bindings == []
    assert len(ask.ask(GETBULK, DESCR, UPTIME, a=1, b=0).bindings) == 1
    assert len(ask.ask(GETBULK, DESCR, UPTIME, a=-5, b=1).bindings) == 2
    assert ask.ask(GETBULK, DESCR, a=0, b=-1).bindings == []


@pytest.mark.parametrize("mtu", [576, 1500, 9000, 65535])
def test_the_longest_answer(nl6, net, asker, mtu):
    program = nl6("-auto-start-ip", net.address(), "-auto-count", "1", "-datagram-mtu", str(mtu))
    ask = asker(program)
    full = ask.ask(GETBULK, "1.3.6.1.2.1.2.2.1", b=100000)
    assert full.error == 0 and full.bytes <= mtu - 28
    assert full.bytes > min(mtu - 28 - 60, 20000)


def test_what_cannot_fit(fleet, asker):
    ask = asker(fleet(1))
    many = [DESCR] * 100
    assert ask.ask(GET, *many)[3:6] == (1, 0, [])
    assert ask.ask(GETNEXT, *["1.3.6.1.2.1.1.1"] * 100)[3:6] == (1, 0, [])
    # v1 sends the request's own bindings back (RFC 1157 4.1.2), if they fit.
    old = ask.ask(GET, *many[:40], version=V1)
    assert (old.error, old.index, len(old.bindings)) == (1, 0, 40)
    assert {b.value for b in old.bindings} == {b""}


def test_a_request_of_64_kib_is_taken_whole(fleet, asker):
    program = fleet(1)
    ask = asker(program)
    got = ask.ask(GETBULK, *["1.3.6.1.2.1.1.3"] * 3500, b=1)
    assert got.error == 0 and got.bytes <= MTU_PAYLOAD and len(got.bindings) > 80
    assert ask.ask(GET, *[UPTIME] * 3500).error == 1
    assert metrics(program)["nl6_agent_worker_cut_datagrams"] == 0


def test_a_set_that_is_refused_changes_nothing_and_says_so(fleet, asker):
    ask = asker(fleet(1, "-snmp-write-community", "public"))
    value = tlv(4, b"me")
    got = ask.ask(SET, "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.1.0", value=value)
    assert (got.error, got.index) == (17, 2) and {b.value for b in got.bindings} == {b"me"}
    got = ask.ask(SET, "1.3.6.1.2.1.1.1.0", version=V1, value=value)
    assert (got.error, got.index) == (2, 1)
    assert b"me" not in [b.value for b in ask.ask(GET, "1.3.6.1.2.1.1.5.0").bindings]


def test_an_empty_list_has_an_empty_answer(fleet, asker):
    ask = asker(fleet(1, "-snmp-write-community", "public"))
    for version in V1, V2C:
        for tag in GET, GETNEXT, SET:
            assert ask.ask(tag, version=version)[3:6] == (0, 0, [])
    assert ask.ask(GETBULK, b=9)[3:6] == (0, 0, [])


def test_any_community_comes_back(fleet, asker):
    ask = asker(fleet(1))
    for community in b"", b"\0\xff", b"x" * 127, b"x" * 128, b"y" * 1000:
        assert ask.ask(GET, UPTIME, community=community).error == 0


def good(**more):
    return pdu(GET, [binding(UPTIME)], **more)


FIELDS = integer(1) + integer(0) + integer(0)
MALFORMED = {
    "message": [b"", b"\x30", b"\x30\x80", message(good())[:-1], message(good()) + b"\0",
                tlv(0x30, integer(1) + tlv(4, b"public") + good() + NULL)],
    "version": [tlv(0x30, tlv(2, b"") + tlv(4, b"public") + good()),
                tlv(0x30, tlv(4, b"\1") + tlv(4, b"public") + good())],
    "community": [tlv(0x30, integer(1) + tlv(2, b"public") + good())],
    "pdu_type": [message(pdu(GETBULK, [binding(UPTIME)]), V1), message(pdu(0xa4, []), V2C),
                 message(tlv(0xa9, FIELDS)), message(tlv(0x30, FIELDS))],
    "pdu": [message(tlv(GET, integer(2**31) + integer(0) + integer(0) + tlv(0x30, b""))),
            message(tlv(GET, FIELDS + tlv(0x30, binding(UPTIME)) + NULL))],
    "list": [message(tlv(GET, FIELDS)), message(tlv(GET, FIELDS + tlv(0x31, b""))),
             message(tlv(GET, FIELDS + tlv(0x30, NULL)))],
    "name": [message(tlv(GET, FIELDS + tlv(0x30, tlv(0x30, tlv(6, name) + NULL))))
             for name in (b"", b"\x2b\x80\x01", b"\x2b\x86", b"\x2b\x90\x80\x80\x80\x00",
                          b"\x2b" + b"\x01" * 127)],
    "value": [message(tlv(GET, FIELDS + tlv(0x30, tlv(0x30, oid(UPTIME) + value))))
              for value in (b"", NULL + NULL, b"\x05\x01", b"\x04")],
}


def test_malformed_datagrams_are_dropped_and_counted_by_kind(fleet, asker):
    program = fleet(1)
    ask = asker(program)
    for kind, datagrams in MALFORMED.items():
        for datagram in datagrams:
            assert ask.silent(datagram), (kind, datagram)
    counted = metrics(program)
    for kind, datagrams in MALFORMED.items():
        assert counted[f"nl6_responder_malformed_{kind}_datagrams"] == len(datagrams), kind
    total = sum(map(len, MALFORMED.values()))
    asn = int.from_bytes(ask.ask(GET, "1.3.6.1.2.1.11.6.0").bindings[0].value, "big")
    assert asn == total


def test_other_versions_and_pdus_are_dropped_and_counted(fleet, asker):
    program = fleet(1)
    ask = asker(program)
    for version in 2, 3, -1, 2**31 - 1:
        assert ask.silent(message(good(), version))
    for tag in RESPONSE, INFORM, TRAP, REPORT:
        assert ask.silent(message(pdu(tag, [binding(UPTIME)])))
    counted = metrics(program)
    assert counted["nl6_responder_bad_version_datagrams"] == 4
    assert counted["nl6_responder_foreign_pdus"] == 4
    bad = ask.ask(GET, "1.3.6.1.2.1.11.3.0").bindings[0]
    assert int.from_bytes(bad.value, "big") == 4


def test_padded_numbers_are_taken_by_value(fleet, asker):
    ask = asker(fleet(1))
    padded = tlv(0x30, tlv(2, b"\0\0\1") + tlv(4, b"public") + tlv(
        GET, tlv(2, b"\0" * 8 + b"\7") + integer(0) + integer(0) + tlv(0x30, binding(UPTIME))))
    got = ask.raw(padded)
    assert (got.version, got.id, got.error) == (V2C, 7, 0)


def test_a_device_has_one_port(nl6, net, asker):
    program = nl6()
    assert program.create(1, 1).status in (200, 201)
    ask = asker(program)
    assert ask.ask(GET, UPTIME).error == 0
    other = asker(program, 2)
    assert other.raw(message(good()), timeout=0.3) is None
    until(10, lambda: metrics(program)["nl6_agent_worker_unknown_device_datagrams"] == 1,
          "count of the unknown device")


def test_the_snmp_group_counts(fleet, asker):
    ask = asker(fleet(1, "-snmp-write-community", "public"))
    group = [f"1.3.6.1.2.1.11.{i}.0" for i in (1, 2, 13, 15, 16, 17, 28)]

    def read():
        return [int.from_bytes(b.value, "big") for b in ask.ask(GET, *group).bindings]

    before = read()
    ask.ask(GETNEXT, UPTIME)
    ask.ask(SET, UPTIME)
    after = read()
    # In and out packets, objects read, GETs, GETNEXTs, SETs, responses; those of the reads, too.
    assert [b - a for a, b in zip(before, after)] == [3, 3, 8, 1, 1, 1, 3]
