"""What a request of OTLP/HTTP has to be, and what its spans have to be, by the protocol, the
specification and W3C Trace Context, and stricter where those only advise: Refused is raised for
what a receiver refuses; the rest is a list of faults, for tests to fail on."""

import re
import time
import zlib
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from pprof_make import field as encoded

PROTOBUF = "application/x-protobuf"
MAX_BODY = 64 << 20  # as it comes, and unpacked
MAX_ATTRIBUTES = 24  # of a resource: Pyroscope adds its own to a series, and takes 30
HOUR, SKEW = 3600 * 10**9, 10 * 10**9
SAMPLED, W3C_FLAGS, KNOWS_REMOTE, IS_REMOTE = 1, 3, 0x100, 0x200
KINDS = range(1, 6)
MAX_MEMBERS = 32
KEY = r"[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}"
VALUE = r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
MEMBER = re.compile(f"(?:{KEY})={VALUE}")


class Refused(Exception):
    def __init__(self, status, why):
        super().__init__(f"{status} {why}")
        self.status, self.why = status, why


def status_message(code, message):
    """A google.rpc.Status: the body of an answer that is an error."""
    return encoded(1, code, "u") + encoded(2, message.encode(), "s")


# --- the request --------------------------------------------------------------------------------

def unpack(body, encoding):
    """The message of a body; encoding: what Content-Encoding says, None: nothing."""
    if len(body) > MAX_BODY:
        raise Refused(413, f"a body of {len(body)} bytes")
    if encoding is None:
        return body
    if encoding != "gzip":
        raise Refused(415, f"Content-Encoding {encoding!r}")
    inflater = zlib.decompressobj(31)
    try:
        raw = inflater.decompress(body, MAX_BODY + 1)
    except zlib.error as e:
        raise Refused(400, f"gzip: {e}") from None
    if len(raw) > MAX_BODY:
        raise Refused(413, f"over {MAX_BODY} bytes unpacked")
    if not inflater.eof or inflater.unused_data:
        raise Refused(400, "gzip: the stream is cut, or something follows it")
    return raw


def parse(raw, kind):
    """A message of that kind; its strings are UTF-8."""
    message = kind()
    try:
        message.ParseFromString(raw)
    except DecodeError as e:
        raise Refused(400, f"malformed: {e}") from None
    return message


def foreign(message, faults, at=""):
    """Tells fields that the message's definition does not have, at any depth."""
    where = at or message.DESCRIPTOR.name
    faults += [f"{where}: no field {f.field_number} is known" for f in UnknownFieldSet(message)]
    for described, value in message.ListFields():
        if described.type == described.TYPE_MESSAGE:
            several = value if described.is_repeated else [value]
            for one in several:
                foreign(one, faults, f"{where}.{described.name}")


# --- attributes ---------------------------------------------------------------------------------

def plain(value, at, faults):
    """The value of an AnyValue, as Python has it."""
    kind = value.WhichOneof("value")
    if kind is None:
        faults.append(f"{at}: no value")
    elif kind == "string_value_strindex":
        faults.append(f"{at}: a string by its index, which some receivers skip")
    elif kind == "array_value":
        return [plain(v, at, faults) for v in value.array_value.values]
    elif kind == "kvlist_value":
        return attributes(value.kvlist_value.values, at, faults)
    else:
        return getattr(value, kind)
    return None


def attributes(pairs, at, faults):
    """Key to value, of KeyValues."""
    found = {}
    for pair in pairs:
        if pair.key_strindex:
            faults.append(f"{at}: a key by its index, which some receivers skip")
        if not pair.key:
            faults.append(f"{at}: an empty key")
        if pair.key in found:
            faults.append(f"{at}: {pair.key} twice")
        found[pair.key] = plain(pair.value, f"{at}: {pair.key}", faults)
    return found


def resource_of(envelope, at, faults):
    """The attributes of what sent it."""
    found = attributes(envelope.resource.attributes, f"{at}.resource", faults)
    name = found.get("service.name")
    if not isinstance(name, str) or not name:
        faults.append(f"{at}.resource: service.name {name!r}")
    if len(found) > MAX_ATTRIBUTES:
        faults.append(f"{at}.resource: {len(found)} attributes")
    return found


def scope_of(envelope, at, faults):
    if not envelope.scope.name:
        faults.append(f"{at}: a scope without a name")
    attributes(envelope.scope.attributes, f"{at}.scope", faults)
    return envelope.scope.name


def scopes(envelopes, within, at, faults):
    """Each scope's envelope of a request, with the attributes of its resource and a name for it.
    within: what the envelopes of a resource have them in. Empty envelopes are faults."""
    if not envelopes:
        faults.append("an empty request")
    for i, envelope in enumerate(envelopes):
        where = f"{at}[{i}]"
        resource = resource_of(envelope, where, faults)
        if not getattr(envelope, within):
            faults.append(f"{where}: an empty envelope")
        for j, inner in enumerate(getattr(envelope, within)):
            scope_of(inner, f"{where}.{within}[{j}]", faults)
            yield inner, resource, f"{where}.{within}[{j}]"


# --- spans --------------------------------------------------------------------------------------

@dataclass
class Span:
    trace: str  # ids in hex
    id: str
    parent: str  # "": a root
    name: str
    kind: int
    start: int  # nanoseconds since 1970
    end: int
    flags: int
    state: str
    attributes: dict
    status: int
    message: str
    events: list  # (nanoseconds, name, attributes)
    links: list  # (trace, span)
    resource: dict = field(repr=False)
    scope: str = ""

    @property
    def is_remote(self):
        """Is its parent in another process?"""
        return bool(self.flags & IS_REMOTE)


def check_id(id, length, what, at, faults):
    if len(id) != length or not any(id):
        faults.append(f"{at}: {what} {id.hex() or 'empty'}")


def check_flags(flags, at, faults):
    low = flags & 0xff
    if flags & ~0x3ff or low & ~W3C_FLAGS or flags & IS_REMOTE and not flags & KNOWS_REMOTE:
        faults.append(f"{at}: flags {flags:#x}")


def check_state(text, at, faults):
    """A tracestate."""
    members = [m.strip(" \t") for m in text.split(",")] if text else []
    wrong = [m for m in members if m and not MEMBER.fullmatch(m)]
    keys = [m.partition("=")[0] for m in members if m]
    if wrong or len(members) > MAX_MEMBERS or len(set(keys)) < len(keys):
        faults.append(f"{at}: tracestate {text[:80]!r}")


def check_span(raw, at, now, faults):
    check_id(raw.trace_id, 16, "trace id", at, faults)
    check_id(raw.span_id, 8, "span id", at, faults)
    if raw.parent_span_id:
        check_id(raw.parent_span_id, 8, "parent id", at, faults)
        if raw.parent_span_id == raw.span_id:
            faults.append(f"{at}: its own parent")
    elif raw.flags & IS_REMOTE:
        faults.append(f"{at}: a remote parent that is not there")
    check_flags(raw.flags, at, faults)
    if not raw.flags & SAMPLED:
        faults.append(f"{at}: exported, though not sampled")
    check_state(raw.trace_state, at, faults)
    if not raw.name:
        faults.append(f"{at}: no name")
    if raw.kind not in KINDS:
        faults.append(f"{at}: kind {raw.kind}")
    start, end = raw.start_time_unix_nano, raw.end_time_unix_nano
    if not 0 < start <= end or not now - HOUR < end < now + SKEW:
        faults.append(f"{at}: from {start} to {end} at {now}")
    if raw.status.code not in (0, 1, 2) or raw.status.message and raw.status.code != 2:
        faults.append(f"{at}: status {raw.status.code} {raw.status.message!r}")


def read_events(raw, at, faults):
    found = []
    for i, event in enumerate(raw.events):
        where = f"{at}.events[{i}]"
        if not event.name:
            faults.append(f"{where}: no name")
        if not raw.start_time_unix_nano <= event.time_unix_nano <= raw.end_time_unix_nano:
            faults.append(f"{where}: at {event.time_unix_nano}, not within its span")
        found.append((event.time_unix_nano, event.name,
                      attributes(event.attributes, where, faults)))
    return found


def read_links(raw, at, faults):
    for i, link in enumerate(raw.links):
        where = f"{at}.links[{i}]"
        check_id(link.trace_id, 16, "trace id", where, faults)
        check_id(link.span_id, 8, "span id", where, faults)
        check_flags(link.flags, where, faults)
        check_state(link.trace_state, where, faults)
        attributes(link.attributes, where, faults)
    return [(link.trace_id.hex(), link.span_id.hex()) for link in raw.links]


def read_span(raw, resource, scope, at, now, faults):
    check_span(raw, at, now, faults)
    return Span(raw.trace_id.hex(), raw.span_id.hex(), raw.parent_span_id.hex(), raw.name, raw.kind,
                raw.start_time_unix_nano, raw.end_time_unix_nano, raw.flags, raw.trace_state,
                attributes(raw.attributes, at, faults), raw.status.code, raw.status.message,
                read_events(raw, at, faults), read_links(raw, at, faults), resource, scope)


def judge_traces(raw, now=None, faults=None):
    """The spans of an encoded request, and what is wrong with it; Refused if it is none."""
    faults = [] if faults is None else faults
    now = time.time_ns() if now is None else now
    request = parse(raw, ExportTraceServiceRequest)
    foreign(request, faults)
    spans = []
    for inner, resource, at in scopes(request.resource_spans, "scope_spans", "resource_spans",
                                      faults):
        if not inner.spans:
            faults.append(f"{at}: an empty envelope")
        spans += [read_span(s, resource, inner.scope.name, f"{at}.spans[{i}]", now, faults)
                  for i, s in enumerate(inner.spans)]
    return spans, faults + judge_family(spans)


def judge_family(spans):
    """What is wrong between spans: the same one twice, a child before its parent, a circle."""
    known, faults = {}, []
    for s in spans:
        if (s.trace, s.id) in known:
            faults.append(f"span {s.id} {s.name!r} twice")
        known[s.trace, s.id] = s
    for s in spans:
        parent = known.get((s.trace, s.parent))
        if parent and s.start < parent.start and not s.is_remote:
            faults.append(f"span {s.id} {s.name!r} begins before its parent")
        seen = {s.id}
        while parent and parent.id not in seen:
            seen.add(parent.id)
            parent = known.get((s.trace, parent.parent))
        if parent and s.parent != s.id:
            faults.append(f"span {s.id} {s.name!r}: its ancestors go round in a circle")
    return faults


def orphans(spans):
    """Spans whose parent, of this process, never came: for when all has been sent."""
    known = {(s.trace, s.id) for s in spans}
    return [s for s in spans if s.parent and not s.is_remote and (s.trace, s.parent) not in known]
