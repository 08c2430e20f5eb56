"""A receiver of OTLP/HTTP traces and profiles, stricter than any, which can also be told to be
slow, rude or dead: http_peer has what it can be told."""

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceResponse)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from http_peer import Handler, Peer, answer
from otlp_profile_rules import judge_profiles
from otlp_rules import (PROTOBUF, Refused, judge_family, judge_traces, orphans, status_message,
                        unpack)
from program import until

TRACES, PROFILES = "/v1/traces", "/v1development/profiles"


# --- what it can be told to do with a request, besides http_peer's ------------------------------

def error(status, message="no", retry_after=None):
    """Answers an error as OTLP has it; retry_after: seconds, or a date as HTTP writes it."""
    headers = {"Content-Type": PROTOBUF}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return answer(status, headers, status_message(3 if status == 400 else 14, message))


def partial(rejected, message=""):
    """Takes the request and says that it dropped some of it; 0 with a message is a warning."""
    def act(handler):
        traces = handler.noted.path.endswith(TRACES)
        it = ExportTraceServiceResponse() if traces else ExportProfilesServiceResponse()
        it.partial_success.error_message = message
        setattr(it.partial_success, "rejected_spans" if traces else "rejected_profiles", rejected)
        handler.receive(it.SerializeToString())
    return act


def later(seconds, then=None):
    """Waits before it does that, or what it would have done."""
    def act(handler):
        if not handler.wait_for_end(seconds):
            then(handler) if then else handler.receive()
    return act


def cut_body(n):
    """Ends the connection when n bytes of an answer that announces more are sent."""
    def act(handler):
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {PROTOBUF}\r\n"
                            f"Content-Length: {n + 10}\r\n\r\n".encode() + bytes(n))
        handler.close_connection = True
    return act


class Receiver(Handler):
    def receive(self, body=b""):
        """What a receiver does: 200 with this body."""
        noted = self.noted
        try:
            self.check_request()
            found = self.judge(unpack(noted.body, self.headers["Content-Encoding"]))
        except Refused as e:
            noted.why = e.why
            self.reply(e.status, status_message(3, e.why), {"Content-Type": PROTOBUF})
            return
        noted.upload, noted.faults = found
        self.reply(200, body, {"Content-Type": PROTOBUF})

    def judge(self, raw):
        if self.noted.path.endswith(TRACES):
            return judge_traces(raw)
        peer = self.peer
        return judge_profiles(raw, peer.any_kind, peer.keeps_ids, peer.passed_on)

    def check_request(self):
        peer, noted = self.peer, self.noted
        if noted.path not in (peer.base + TRACES, peer.base + PROFILES) or noted.query:
            raise Refused(404, f"no route {self.path}")
        if noted.method != "POST":
            raise Refused(405, noted.method)
        if "Content-Length" not in self.headers:
            raise Refused(411, "no Content-Length")
        if len(noted.body) != int(self.headers["Content-Length"]):
            raise Refused(400, "the body is cut")
        if self.headers.get_all("Content-Type") != [PROTOBUF]:
            raise Refused(415, f"Content-Type {self.headers.get_all('Content-Type')}")
        # Of the profiles' wire, while it may change: none is 1.
        version = self.headers.get_all("OTLP-Profiles-Development-Version") or ["1"]
        if noted.path.endswith(PROFILES) and version != ["1"]:
            raise Refused(400, f"development version {version}")
        if peer.basic and noted.authorization != peer.basic:
            raise Refused(401, "wrong user or password")
        for name, value in peer.wants.items():
            if self.headers[name] != value:
                raise Refused(401, f"{name}: {self.headers[name]!r}")


class Otlp(Peer):
    """any_kind: are profiles of other things than CPU time right, too? keeps_ids: are trace and
    span ids as attributes of samples? passed_on: is it somebody else's that came through a program
    of ours? wants: headers with the values that it asks for."""

    handler = Receiver

    def __init__(self, any_kind=False, keeps_ids=False, passed_on=False, wants=None, **more):
        self.any_kind, self.keeps_ids, self.passed_on = any_kind, keeps_ids, passed_on
        self.wants = wants or {}
        super().__init__(**more)

    def accepted(self, path):
        return [r for r in list(self.requests) if r.path.endswith(path) and r.upload is not None]

    @property
    def spans(self):
        """Those of all accepted requests, in order of arrival."""
        return [s for r in self.accepted(TRACES) for s in r.upload]

    @property
    def profiles(self):
        return [p for r in self.accepted(PROFILES) for p in r.upload]

    def find(self, **which):
        """Spans by their fields: name="GET /x", trace=..., parent=..."""
        return [s for s in self.spans if all(getattr(s, k) == v for k, v in which.items())]

    def wait_spans(self, n=1, seconds=30, **which):
        return until(seconds, lambda: len(self.find(**which)) >= n and self.find(**which),
                     f"{n} spans with {which}")

    def wait_profiles(self, n=1, seconds=30):
        return until(seconds, lambda: len(self.profiles) >= n and self.profiles, f"{n} profiles")

    def wait_link(self, seconds=60, **which):
        """A profile with samples as Profile.find() finds them."""
        return until(seconds, lambda: next((p for p in self.profiles if p.find(**which)), None),
                     f"samples with {which}")

    def orphans(self):
        return orphans(self.spans)

    def faults(self):
        out = super().faults()
        for n, r in enumerate(list(self.requests)):
            if r.upload is not None:
                out += [f"request {n}: {what}" for what in r.faults]
        # What is wrong between the spans of one request was said with it.
        within = {what for r in self.accepted(TRACES) for what in judge_family(r.upload)}
        return out + [what for what in judge_family(self.spans) if what not in within]
