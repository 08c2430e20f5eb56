"""Messages of SNMPv3 that no honest manager sends, and what RFC 3412 and RFC 3414 have them be."""

import hmac

import pytest

from asker import GET, GETBULK, INFORM, REPORT, RESPONSE, SET, TRAP, binding, pdu, tlv
from asker_v3 import AUTH, PRIV, REPORTABLE, AskerV3, build, localized

SYS = "1.3.6.1.2.1.1."
USM, MPD = "1.3.6.1.6.3.15.1.1.", "1.3.6.1.6.3.11.2.1."
UNKNOWN_CONTEXTS = "1.3.6.1.6.3.12.1.5.0"


@pytest.fixture
def asker(fleet, net):
    made = []

    def start(*flags, **more):
        program = fleet(1, "-snmpv3", *flags)
        made.append(AskerV3(net.address(), program.snmp_port, **more))
        return made[-1]

    yield start
    for it in made:
        it.close()


def count(it, name):
    got = it.exchange(it.make(pdu(GET, [binding(name)])))
    assert got.tag == RESPONSE
    return int.from_bytes(got.bindings[0].value, "big")


def is_report(got, name, request):
    assert got.tag == REPORT and [b.name for b in got.bindings] == [name], got
    assert got.request == request
    return True


def test_discovery(asker):
    it = asker()
    got = it.discovery
    assert is_report(got, USM + "4.0", 9) and got.flags == 0 and not got.signed
    assert 5 <= len(got.engine) <= 32 and got.user == b""
    # The second step of discovery (RFC 3414 4): signed, with boots and time of 0.
    got = it.exchange(it.make(pdu(GET, [], id=10), boots=0, time=0))
    assert is_report(got, USM + "2.0", 10) and got.flags == AUTH and len(got.signed) == 12
    assert got.boots == it.boots and got.time >= it.time


def test_the_report_of_a_wrong_time_is_signed(asker):
    for hash in "md5", "sha512":
        it = asker("-snmpv3-auth", hash, hash=hash)
        it.socket.send(it.make(pdu(GET, [], id=5), time=it.time + 151))
        data = it.socket.recv(65535)
        mac = len(it.exchange(it.make(pdu(GET, []))).signed)
        found = [i for i in range(len(data) - mac) if hmac.new(
            it.key, data[:i] + bytes(mac) + data[i + mac:], hash).digest()[:mac] ==
            data[i:i + mac]]
        assert len(found) == 1
        it.close()


def test_the_window(asker):
    it = asker()
    for boots, time, inside in ((0, 150, True), (0, -1000, False), (0, 151 + 60, False),
                                (1, 0, False), (-1, 0, False)):
        got = it.exchange(it.make(pdu(GET, [], id=6), boots=it.boots + boots,
                                  time=max(it.time + time, 0)))
        if time < 0 and it.time < 850:
            continue  # the engine is too young to be asked in its past
        assert (got.tag == RESPONSE) == inside, (boots, time)
    # Boots at their end are never in time (RFC 3414 2.2.2).
    got = it.exchange(it.make(pdu(GET, []), boots=0x7fffffff))
    assert got.tag == REPORT


def test_faults_get_their_reports(asker):
    it = asker()
    content = pdu(GET, [binding(SYS + "5.0")], id=77)
    other = localized("md5", "not the password", it.engine)
    for more, name in (({"engine": b""}, USM + "4.0"), ({"engine": b"\x80" * 12}, USM + "4.0"),
                       ({"user": b"nobody"}, USM + "3.0"), ({"user": b""}, USM + "3.0"),
                       ({"key": other}, USM + "5.0"),
                       ({"key": None, "mac": b"", "flags": AUTH | REPORTABLE}, USM + "5.0"),
                       ({"key": None, "mac": bytes(11), "flags": 5}, USM + "5.0")):
        before = count(it, name)
        got = it.exchange(it.make(content, **more))
        assert is_report(got, name, 77) and got.flags == 0
        assert int.from_bytes(got.bindings[0].value, "big") == before + 1 == count(it, name)


def test_levels(asker):
    it = asker()
    # No key for privacy: the level is judged before anything is opened.
    got = it.exchange(it.make(b"", flags=AUTH | PRIV | REPORTABLE, salt=bytes(8),
                              scoped=tlv(4, bytes(40))))
    assert is_report(got, USM + "1.0", 0) and got.flags == 0
    # Privacy without authentication is no level.
    before = count(it, MPD + "2.0")
    assert it.is_silent(it.make(pdu(GET, []), key=None, flags=PRIV | REPORTABLE))
    assert count(it, MPD + "2.0") == before + 1
    # The user may ask without his key, but is not answered as if he had used it.
    got = it.exchange(it.make(pdu(GET, [binding(SYS + "5.0")]), key=None, flags=REPORTABLE))
    assert got.tag == RESPONSE and got.flags == 0 and not got.signed


def test_reports_only_where_they_may_be(asker):
    it = asker()
    for tag in GET, 0xa1, GETBULK, SET, INFORM:
        # The class of the PDU decides where it can be read, whatever the flag says.
        for flags in 0, REPORTABLE:
            got = it.exchange(it.make(pdu(tag, [], id=3), user=b"nobody", key=None, flags=flags))
            assert is_report(got, USM + "3.0", 3)
    for tag in RESPONSE, TRAP, REPORT:
        assert it.is_silent(it.make(pdu(tag, [], id=3), user=b"nobody", key=None))
    # Where it cannot, the flag does.
    secret = {"scoped": tlv(4, bytes(24)), "salt": bytes(8), "key": None, "user": b"nobody"}
    assert is_report(it.exchange(it.make(b"", flags=AUTH | PRIV | REPORTABLE, **secret)),
                     USM + "3.0", 0)
    assert it.is_silent(it.make(b"", flags=AUTH | PRIV, **secret))


def test_models_engines_contexts_and_handlers(asker):
    it = asker()
    content = pdu(GET, [], id=8)
    before = count(it, MPD + "1.0")
    assert it.is_silent(it.make(content, model=2))
    assert count(it, MPD + "1.0") == before + 1
    got = it.exchange(it.make(content, context_engine=b"\x80\0\0\0\1\2"))
    assert is_report(got, MPD + "3.0", 8) and got.flags == AUTH and got.signed
    got = it.exchange(it.make(content, context=b"nowhere"))
    assert is_report(got, UNKNOWN_CONTEXTS, 8) and got.flags == AUTH
    assert is_report(it.exchange(it.make(pdu(INFORM, [], id=8))), MPD + "3.0", 8)
    before = count(it, MPD + "3.0")
    for tag in RESPONSE, TRAP, REPORT:
        assert it.is_silent(it.make(pdu(tag, [], id=8)))
    assert count(it, MPD + "3.0") == before + 3


def test_what_is_malformed_is_dropped_and_counted(asker):
    it = asker()
    errors = "1.3.6.1.2.1.11.6.0"
    good = it.make(pdu(GET, [], id=8))
    plain = {"key": None, "flags": REPORTABLE}
    bad = [good[:-1], good + b"\0", it.make(pdu(GET, []), size=483, **plain),
           it.make(pdu(GET, []), user=b"u" * 33, **plain), it.make(pdu(0xa4, []), **plain),
           it.make(b"\x05\x00", **plain), it.make(b"", **plain),
           it.make(pdu(GET, []) + b"\x05\x00", **plain),
           it.make(b"", scoped=b"\x05\x00", **plain),
           it.make(pdu(GET, [b"\x30\x03\x06\x01\x80"]), **plain), build(pdu(GET, []), id=-1)]
    before = count(it, errors)
    for datagram in bad:
        assert it.is_silent(datagram), datagram.hex()
    assert count(it, errors) == before + len(bad)


@pytest.mark.parametrize("size", [484, 700, 1200, 65507])
def test_no_answer_is_longer_than_the_manager_takes(asker, size):
    it = asker()
    names = [binding("1.3.6.1.2.1.2.2.1.2")]
    got = it.exchange(it.make(pdu(GETBULK, names, b=500), size=size))
    limit = min(size, 1472)
    assert got.error == 0 and len(got.bindings) >= 3 and limit - 160 < got.bytes <= limit
    # A GET that does not fit is told so.
    many = [binding(SYS + "1.0")] * 40
    got = it.exchange(it.make(pdu(GET, many, id=2), size=size))
    assert got.error == 1 and not got.bindings and got.bytes <= size


def test_an_empty_list_is_answered_with_one(asker):
    it = asker()
    for tag in GET, 0xa1, GETBULK:
        got = it.exchange(it.make(pdu(tag, [], id=11)))
        assert (got.tag, got.request, got.error, got.bindings) == (RESPONSE, 11, 0, [])
