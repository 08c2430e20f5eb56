"""Boot, toggles, new addresses, timed turns, reverts and closings in random order, against a model
of the contract: the state, each body, and what arrives at which server."""

import copy
import os
import random
import signal
import time
from dataclasses import dataclass

import pytest

from program import FULL, SLOW, until
from test_gate import GATE, KEYS, turn
from test_push import ALWAYS

STEPS = 10_000 if FULL else 300
SOON, LATE = "80ms", "1h"
BAD = [{"enabled": True, "server_address": "http://u:p@h"}, {"enabled": True, "duration": "25h"},
       {"enabled": False, "server_address": ""}, {"server_address": ""},
       {"enabled": True, "duration": "-1s"}, {"enabled": True, "more": 1}]


@dataclass(frozen=True)
class Pair:
    enabled: bool
    address: str = ""


class Model:
    """The contract. pushes: the addresses of all pushes that began, in order."""

    def __init__(self, flag):
        self.flag, self.pushes, self.revert = flag, [], None
        self.now = Pair(False)
        if flag:
            self.go(Pair(True, flag))

    def go(self, to):
        if to.address and to != self.now:
            self.pushes.append(to.address)
        self.now = to

    def __eq__(self, other):
        return vars(self) == vars(other)

    def turn(self, enabled, address=None, duration=None):
        was = self.now
        if enabled and address is None:
            address = was.address or self.flag
        self.go(Pair(enabled, address if enabled else ""))
        in_chain = self.revert and self.revert[1] == enabled
        self.revert = duration and (self.revert[0] if in_chain else was, enabled)

    def fire(self):
        self.go(self.revert[0])
        self.revert = None

    def body(self):
        out = {"enabled": self.now.enabled, "startup_flag": self.flag,
               "server_address": self.now.address, "pushing": bool(self.now.address),
               "pprof_path": "/debug/pprof/", "revert_pending": bool(self.revert)}
        if self.revert:
            out["revert_to"] = self.revert[0].enabled
            if self.revert[0].address:
                out["revert_to_address"] = self.revert[0].address
        return out


class Walk:
    def __init__(self, it, peers, dead, flag, seed):
        self.it, self.peers, self.dead = it, {p.url: p for p in peers}, dead
        self.random, self.models = random.Random(seed), [Model(flag)]
        self.sessions = {p.url: {} for p in peers}
        self.duration, self.trail, self.begun = None, [], time.monotonic()

    def soon(self):
        """Is a revert due at any moment?"""
        return self.duration == SOON and any(m.revert for m in self.models)

    def sessions_of(self, peer):
        """Session to its uploads, of those that have come; their content is let go."""
        sessions = self.sessions[peer.url]
        while peer.requests and (peer.requests[0].upload or peer.requests[0].status):
            r = peer.requests.pop(0)
            assert r.upload and not r.upload.lost + r.upload.faults, (r.status, r.why, r.upload)
            sessions.setdefault(r.upload.stored.session, []).append(
                (r.at, r.upload.name, *r.upload.span))
            peer.store.profiles.clear()
        return sessions

    def missing(self, model, duration):
        """Whose pushes that are over have not come to it, or others have; None is right."""
        for url, peer in self.peers.items():
            sessions = len(self.sessions_of(peer))
            over = model.pushes.count(url) - (model.now.address == url)
            running = model.now.address == url and (
                model.revert and duration == SOON or time.monotonic() - self.begun > 10)
            if not over <= sessions <= over + bool(running):
                return f"{sessions} pushes at {url} instead of {over}"
        return None

    def settle(self, data, **asked):
        """Goes on with the models that the status and the servers agree with: a revert that was due
        came before, or it did not. asked: the turn that was answered with it."""
        duration = asked.get("duration") if asked else self.duration
        got = {k: v for k, v in data.items() if k in KEYS and k not in
               ("sampler", "revert_at", "sdk_errors", "last_error")}
        tried, fit, longest = [], [], max(len(m.pushes) for m in self.models)
        for old in self.models:
            for is_over in (False, True) if old.revert and self.duration == SOON else (False,):
                model = copy.deepcopy(old)
                if is_over:
                    model.fire()
                if asked:
                    model.turn(asked["enabled"], asked.get("server_address"), duration)
                missing = self.missing(model, duration)
                tried.append((model.body(), model.pushes[-5:], missing))
                if model.body() == got and not missing and model not in fit:
                    fit.append(model)
        assert fit, f"{got} is none of {tried} after {self.trail}"
        if max(len(m.pushes) for m in fit) > longest:
            self.begun = time.monotonic()
        self.models, self.duration = fit, duration
        assert list(data) == [k for k in [*KEYS, "push"] if k in data], self.trail
        assert ("revert_at" in data) == data["revert_pending"]
        assert ("sampler" in data) == data["enabled"] and ("push" in data) == data["pushing"]
        if data["server_address"] != self.dead:
            assert "sdk_errors" not in data and "last_error" not in data, (data, self.trail)

    def get(self):
        return self.it.request("GET", GATE).data

    def ask(self, **body):
        reply = turn(self.it, **body)
        assert reply.status == 200, (reply.text, self.trail)
        self.settle(reply.data, **body)

    def wait_revert(self):
        until(30, lambda: not self.get()["revert_pending"], "revert")
        self.settle(self.get())
        assert not any(m.revert for m in self.models)

    def step(self):
        roll = self.random.random()
        duration = self.random.choice([None, None, LATE, SOON])
        more = {"duration": duration} if duration else {}
        if self.soon() and roll < 0.5:
            self.trail.append("wait")
            self.wait_revert()
        elif roll < 0.1:
            body = self.random.choice(BAD)
            self.trail.append(body)
            assert turn(self.it, **body).status == 400
        elif roll < 0.2:
            self.trail.append("pull")
            got = self.it.get("/debug/pprof/goroutine").status
            assert self.soon() or got == (200 if self.models[0].now.enabled else 503), self.trail
        elif roll < 0.45:
            self.trail.append(f"off {duration}")
            self.ask(enabled=False, **more)
        else:
            address = self.random.choice([None, "", *self.peers, *self.peers, self.dead])
            self.trail.append(f"on {address} {duration}")
            if address is not None:
                more["server_address"] = address
            self.ask(enabled=True, **more)
        self.settle(self.get())
        if self.soon() and self.random.random() < 0.3:
            time.sleep(self.random.random() * 0.16)
        del self.trail[:-30]

    def check_uploads(self):
        """Each push's at the address in force then, whole, one push after the other."""
        for url, peer in self.peers.items():
            sessions, last = self.sessions_of(peer), 0
            assert peer.requests == []
            assert len(sessions) in {m.pushes.count(url) for m in self.models}
            for uploads in sessions.values():
                kinds = [name for _, name, *_ in uploads]
                assert {*kinds} == ALWAYS and len(kinds) % 3 == 0
                assert last < uploads[0][0]
                last = uploads[-1][0]
                for _, _, from_s, until_s in uploads:
                    assert from_s < until_s < from_s + 20 * SLOW


@pytest.mark.parametrize("has_flag", [True, False], ids=["flag", "no-flag"])
def test_walk(nl6, pyroscope, has_flag):
    seed = int(os.environ.get("TEST_SEED", random.randrange(1 << 32)))
    print(f"TEST_SEED={seed}")
    peers = pyroscope(), pyroscope()
    for p in peers:
        p.bucket, p.judges = None, not FULL  # thousands of profiles, one like the other
    gone = pyroscope()
    gone.kill()
    flag = peers[0].url if has_flag else ""
    it = nl6(*(["-profiling-pyroscope", flag] if flag else []))
    walk = Walk(it, peers, gone.url, flag, seed)
    walk.settle(walk.get())
    for _ in range(STEPS // 2):
        walk.step()
    if walk.soon():
        walk.wait_revert()
    it.signal(signal.SIGTERM)
    assert it.wait() == 0
    walk.check_uploads()
