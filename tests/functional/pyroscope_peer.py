"""A Pyroscope server on 127.0.0.1, as strict as the real one and stricter where that is silent."""

import json

from http_peer import Handler, Peer
from program import until
from pyroscope_rules import Bucket, Refused, Store, ingest


class Ingest(Handler):
    def receive(self):
        """What Pyroscope does."""
        try:
            self.check_request()
            with self.peer.lock:
                upload = ingest(self.noted.query, self.headers["Content-Type"] or "",
                                self.noted.body, self.peer.bucket, judged=self.peer.judges)
        except Refused as e:
            self.noted.why = e.why
            body = json.dumps({"code": "invalid", "message": e.why}).encode()
            self.reply(e.status, body, {"Content-Type": "application/json"})
            return
        self.noted.upload = upload
        if upload.stored:
            self.peer.store.profiles.append(upload.stored)
        self.reply(200)

    def check_request(self):
        peer, noted = self.peer, self.noted
        if noted.path != peer.base + "/ingest":
            raise Refused(404, f"no route {noted.path}")
        if noted.method != "POST":
            raise Refused(405, noted.method)
        if "Content-Length" not in self.headers:
            raise Refused(411, "no Content-Length")
        if peer.basic and noted.authorization != peer.basic:
            raise Refused(401, "wrong user or password")
        if peer.tenants is not None and noted.tenant not in peer.tenants:
            raise Refused(401, "no org id" if not noted.tenant else "wrong org id")


class Pyroscope(Peer):
    """tenants: those it knows, None: no tenants."""

    handler = Ingest

    def __init__(self, tenants=None, **more):
        self.tenants, self.store = tenants, Store()
        self.bucket, self.judges = Bucket(), True
        super().__init__(**more)

    @property
    def uploads(self):
        """Those that were accepted, in order of arrival."""
        return [r.upload for r in list(self.requests) if r.upload]

    def named(self, name):
        """The accepted uploads of a metric name: process_cpu, memory, ..."""
        return [u for u in self.uploads if u.stored and u.name == name]

    def wait_uploads(self, n=1, name=None, seconds=30):
        ask = (lambda: self.named(name)) if name else (lambda: self.uploads)
        return until(seconds, lambda: len(ask()) >= n and ask(), f"{n} uploads of {name}")

    def query(self, type_id, labels=None, **more):
        return self.store.query(type_id, labels, **more)

    def faults(self):
        out = super().faults()
        for n, r in enumerate(list(self.requests)):
            if r.upload:
                out += [f"request {n}: {what}" for what in r.upload.lost + r.upload.faults]
        return out
