"""A small SNMP v1 and v2c client that can also say what no honest client would."""

import collections
import os
import socket

SLOW = float(os.environ.get("TEST_SLOW", "1"))
V1, V2C = 0, 1
GET, GETNEXT, RESPONSE, SET, TRAP_V1, GETBULK, INFORM, TRAP, REPORT = range(0xa0, 0xa9)
NULL = b"\x05\x00"
INTEGER, STRING, OID, IPADDRESS, COUNTER32, GAUGE32, TIMETICKS, COUNTER64 = (
    2, 4, 6, 0x40, 0x41, 0x42, 0x43, 0x46)
NO_SUCH_OBJECT, NO_SUCH_INSTANCE, END_OF_MIB_VIEW = 0x80, 0x81, 0x82

Binding = collections.namedtuple("Binding", "name tag value")
Response = collections.namedtuple("Response", "version community id error index bindings bytes")


def tlv(tag, content):
    n = len(content)
    if n < 0x80:
        length = bytes([n])
    else:
        octets = n.to_bytes((n.bit_length() + 7) // 8, "big")
        length = bytes([0x80 | len(octets)]) + octets
    return bytes([tag]) + length + content


def integer(v):
    n = 1
    while not -(1 << (8 * n - 1)) <= v < 1 << (8 * n - 1):
        n += 1
    return tlv(INTEGER, v.to_bytes(n, "big", signed=True))


def arcs(text):
    return tuple(int(arc) for arc in text.strip(".").split("."))


def oid(name):
    a, b, *rest = arcs(name)
    content = b""
    for v in (40 * a + b, *rest):
        octets = [v & 0x7f]
        while v := v >> 7:
            octets.append(0x80 | v & 0x7f)
        content += bytes(reversed(octets))
    return tlv(OID, content)


def binding(name, value=NULL):
    return tlv(0x30, oid(name) + value)


def pdu(tag, bindings, id=1, a=0, b=0):
    return tlv(tag, integer(id) + integer(a) + integer(b) + tlv(0x30, b"".join(bindings)))


def message(content, version=V2C, community=b"public"):
    return tlv(0x30, integer(version) + tlv(STRING, community) + content)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, want=None):
        """The next TLV: its tag and content. Lengths must be as short as can be, as DER has it."""
        tag, n, at = self.data[0], self.data[1], 2
        if n & 0x80:
            at += n & 0x7f
            n = int.from_bytes(self.data[2:at], "big")
            assert n >= 1 << 8 * (at - 3) and n >= 0x80, "a length longer than needed"
        assert want in (None, tag), f"tag {tag:#x} instead of {want:#x}"
        content, self.data = self.data[at:at + n], self.data[at + n:]
        assert len(content) == n
        return tag, content

    def integer(self):
        return int.from_bytes(self.take(INTEGER)[1], "big", signed=True)


def name_of(content):
    values, v = [], 0
    for octet in content:
        v = v << 7 | octet & 0x7f
        if octet < 0x80:
            values.append(v)
            v = 0
    a = min(values[0] // 40, 2)
    return ".".join(map(str, (a, values[0] - 40 * a, *values[1:])))


def read_response(data):
    whole = Reader(data)
    body = Reader(whole.take(0x30)[1])
    assert not whole.data, "bytes behind the message"
    version, community = body.integer(), body.take(STRING)[1]
    inner = Reader(body.take(RESPONSE)[1])
    assert not body.data
    id, error, index = inner.integer(), inner.integer(), inner.integer()
    items = Reader(inner.take(0x30)[1])
    assert not inner.data
    bindings = []
    while items.data:
        pair = Reader(items.take(0x30)[1])
        name = name_of(pair.take(OID)[1])
        tag, value = pair.take()
        assert not pair.data
        bindings.append(Binding(name, tag, value))
    return Response(version, community, id, error, index, bindings, len(data))


class Asker:
    """Asks one device; hears only what comes from the address and port it asks."""

    def __init__(self, address, port):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.connect((address, port))
        self.id = 0

    def raw(self, datagram, timeout=5.0):
        """The response to the datagram; None when there is none."""
        self.socket.settimeout(timeout * SLOW)
        self.socket.send(datagram)
        try:
            return read_response(self.socket.recv(65535))
        except TimeoutError:
            return None

    def ask(self, tag, *names, version=V2C, community=b"public", a=0, b=0, value=NULL):
        self.id += 1
        sent = message(pdu(tag, [binding(n, value) for n in names], self.id, a, b), version,
                       community)
        got = self.raw(sent)
        assert got, f"no answer to {tag:#x} {names[:3]}"
        assert (got.id, got.version, got.community) == (self.id, version, community)
        return got

    def silent(self, datagram):
        """Has the datagram no answer, while a good one behind it has?"""
        self.socket.send(datagram)
        self.id += 1
        good = message(pdu(GET, [binding("1.3.6.1.2.1.1.3.0")], self.id))
        got = self.raw(good)
        return got is not None and got.id == self.id

    def walk(self, root="1.3", version=V2C, repetitions=0):
        """Every object below root; by GETBULK when repetitions > 0, else by GETNEXT."""
        found, at = [], root
        while True:
            if repetitions:
                got = self.ask(GETBULK, at, b=repetitions)
            else:
                got = self.ask(GETNEXT, at, version=version)
            if version == V1 and got.error == 2:
                return found
            assert got.error == 0 and got.bindings
            for one in got.bindings:
                if one.tag == END_OF_MIB_VIEW or not below(one.name, root):
                    return found
                assert arcs(one.name) > arcs(at), f"{one.name} after {at}"
                found.append(one)
                at = one.name

    def close(self):
        self.socket.close()


def below(name, root):
    return arcs(name)[:len(arcs(root))] == arcs(root)
