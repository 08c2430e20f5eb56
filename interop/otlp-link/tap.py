"""What stands between a sender of OTLP/HTTP and the server: it passes every request on, as it came,
and judges it as the tests' strict receiver does."""

import http.client
import pathlib
import sys
from urllib.parse import urlsplit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/functional"))

from otlp_peer import PROFILES, TRACES, Otlp, Receiver  # noqa: E402
from otlp_rules import Refused, unpack  # noqa: E402

PASSED = ("Content-Type", "Content-Encoding", "OTLP-Profiles-Development-Version")


class Through(Receiver):
    def receive(self, body=b""):
        noted = self.noted
        try:
            self.check_request()
            noted.upload, noted.faults = self.judge(
                unpack(noted.body, self.headers["Content-Encoding"]))
        except Refused as e:
            noted.why = e.why
        status, answer = self.peer.pass_on(noted)
        if status >= 300 and not noted.why:
            noted.why = f"the server answered {status}: {answer[:200]}"
        self.reply(status, answer, {"Content-Type": "application/x-protobuf"})


class Tap(Otlp):
    """traces, profiles: URLs of the servers, without a path."""

    handler = Through

    def __init__(self, traces, profiles, **more):
        self.to = {TRACES: urlsplit(traces), PROFILES: urlsplit(profiles)}
        super().__init__(**more)

    def pass_on(self, noted):
        """Status and body of the server's answer."""
        url = self.to.get(noted.path)
        if not url:
            return 404, b""
        onward = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        try:
            onward.request("POST", noted.path, noted.body,
                           {k: noted.headers[k] for k in PASSED if k in noted.headers})
            got = onward.getresponse()
            return got.status, got.read()
        except (OSError, http.client.HTTPException) as e:
            return 502, str(e).encode()
        finally:
            onward.close()

    def linked(self, trace, span):
        """Samples of that span in all profiles of samples that passed."""
        return [s for p in self.profiles if p.type == "samples/count"
                for s in p.find(trace=trace, span=span)]
