"""A small SNMPv3 client (MD5 to SHA-512, no privacy) that can also say what no honest client would."""

import collections
import hashlib
import hmac

from asker import (INTEGER, OID, SLOW, STRING, Asker, Binding, Reader, integer, name_of, pdu,
                   tlv)

AUTH, PRIV, REPORTABLE = 1, 2, 4
MAC_BYTES = {"md5": 12, "sha1": 12, "sha224": 16, "sha256": 24, "sha384": 32, "sha512": 48}
Message = collections.namedtuple(
    "Message", "id flags engine boots time user signed context tag request error index bindings "
               "bytes")


def localized(hash, password, engine):
    """RFC 3414 A.2."""
    many = (password.encode() * (1048576 // len(password) + 1))[:1048576]
    ku = hashlib.new(hash, many).digest()
    return hashlib.new(hash, ku + engine + ku).digest()


def build(content, id=1, size=65507, flags=REPORTABLE, model=3, engine=b"", boots=0, time=0,
          user=b"", mac=b"", salt=b"", context_engine=None, context=b"", key=None, hash="md5",
          scoped=None):
    """content: the PDU. With a key the message is signed."""
    if key:
        mac = bytes(MAC_BYTES[hash])
    if scoped is None:
        scoped = tlv(0x30, tlv(STRING, engine if context_engine is None else context_engine) +
                     tlv(STRING, context) + content)
    params = tlv(0x30, tlv(STRING, engine) + integer(boots) + integer(time) + tlv(STRING, user) +
                 tlv(STRING, mac) + tlv(STRING, salt))
    head = tlv(0x30, integer(id) + integer(size) + tlv(STRING, bytes([flags])) + integer(model))
    whole = tlv(0x30, integer(3) + head + tlv(STRING, params) + scoped)
    if not key:
        return whole
    at = len(whole) - len(scoped) - len(tlv(STRING, salt)) - len(mac)
    digest = hmac.new(key, whole, hash).digest()[:len(mac)]
    return whole[:at] + digest + whole[at + len(mac):]


def read(data):
    whole = Reader(data)
    body = Reader(whole.take(0x30)[1])
    assert not whole.data and body.integer() == 3
    head = Reader(body.take(0x30)[1])
    id, _size, flags, model = (head.integer(), head.integer(), head.take(STRING)[1][0],
                               head.integer())
    assert model == 3
    params = Reader(Reader(body.take(STRING)[1]).take(0x30)[1])
    engine, boots, time = params.take(STRING)[1], params.integer(), params.integer()
    user, mac = params.take(STRING)[1], params.take(STRING)[1]
    scoped = Reader(body.take(0x30)[1])
    assert not body.data and scoped.take(STRING)[1] == engine
    context = scoped.take(STRING)[1]
    tag, content = scoped.take()
    inner = Reader(content)
    request, error, index = inner.integer(), inner.integer(), inner.integer()
    items, bindings = Reader(inner.take(0x30)[1]), []
    while items.data:
        pair = Reader(items.take(0x30)[1])
        bindings.append(Binding(name_of(pair.take(OID)[1]), *pair.take()))
    return Message(id, flags, engine, boots, time, user, mac, context, tag, request, error, index,
                   bindings, len(data))


class AskerV3(Asker):
    """Asks one device as a user with a key, or without."""

    def __init__(self, address, port, user=b"simadmin", password="simadmin", hash="md5"):
        super().__init__(address, port)
        self.user, self.hash, self.key = user, hash, None
        found = self.exchange(build(pdu(0xa0, [], id=9)))
        self.engine, self.boots, self.time = found.engine, found.boots, found.time
        self.discovery = found
        if password:
            self.key = localized(hash, password, self.engine)

    def exchange(self, datagram, timeout=5.0):
        self.socket.settimeout(timeout * SLOW)
        self.socket.send(datagram)
        return read(self.socket.recv(65535))

    def make(self, content, **more):
        """A message that is right but for what more says."""
        given = {"engine": self.engine, "boots": self.boots, "time": self.time, "user": self.user,
                 "key": self.key, "hash": self.hash,
                 "flags": REPORTABLE | (AUTH if self.key else 0)} | more
        return build(content, **given)

    def is_silent(self, datagram):
        """Is there no answer to it? What is asked next is answered next: one worker has both."""
        self.socket.send(datagram)
        return self.exchange(self.make(pdu(0xa0, [], id=4242), id=4242)).id == 4242


__all__ = ["INTEGER", "AUTH", "PRIV", "REPORTABLE", "AskerV3", "build", "localized", "read"]
