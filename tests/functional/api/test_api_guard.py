"""Who may ask: token, hosts, origins."""

import os
import pathlib
import subprocess

from program import run_once
from raw import ask

TOKEN = "0123456789abcdefghij"


def with_host(it, host, more=""):
    return ask(it, f"GET /api/v1/version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n")


def test_token(nl6, tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    it = nl6("-api-token-file", str(path), wait=True)
    it.spec = False  # the document needs the token, too
    it.check_reply = lambda *_: None
    for guarded in ("/api/v1/version", "/api/v1/openapi.json", "/metrics", "/debug/pprof/heap",
                    "/api/nothing", "/%61pi/v1/version"):
        for headers in ({}, {"Authorization": TOKEN}, {"Authorization": "Bearer x"},
                        {"Authorization": f"Basic {TOKEN}"}, {"Authorization": f"Bearer {TOKEN}x"}):
            reply = it.get(guarded, headers=headers)
            assert reply.status == 401
            assert reply.headers["WWW-Authenticate"].startswith("Bearer ")
            assert TOKEN not in reply.text
        right = it.get(guarded, headers={"Authorization": f"Bearer {TOKEN}"})
        assert right.status in (200, 404, 503)  # 503: the profiler is closed
    for free in ("/health", "/", "/ui", "/web/index.html"):
        assert it.get(free).status == 200
    assert TOKEN not in it.stderr


def test_a_bad_token_is_refused_at_start(tmp_path):
    path = tmp_path / "token"
    for text in ("", "short", "with blanks in between", "x" * 600):
        path.write_text(text)
        done = run_once("-port", "0", "-snmp-port", "0", "-api-token-file", str(path))
        assert done.returncode != 0 and "token" in done.stderr
        assert not text or text not in done.stderr
    done = run_once("-port", "0", "-snmp-port", "0", "-api-token-file", str(tmp_path / "none"))
    assert done.returncode != 0 and "none" in done.stderr


def test_hosts(nl6):
    it = nl6("-allowed-host", "lab.example", "-allowed-host", "other")
    own = os.uname().nodename
    for host in ("127.0.0.1", f"127.0.0.1:{it.api_port}", "[::1]", "localhost", "LOCALHOST:80",
                 "lab.example", "other:8080", own, "192.0.2.7"):
        assert with_host(it, host)[0] == 200, host
    for host in ("evil.example", "lab.example.evil", "xlab.example", "127.0.0.1.evil.example",
                 "localhost@evil"):
        status, _, body = with_host(it, host)
        assert status == 403 and b"no name of this server" in body, host
    # The host of an absolute target is the one that counts.
    assert ask(it, "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n"
                   "Connection: close\r\n\r\n")[0] == 403


def test_origins(nl6, net):
    it = nl6()
    own = f"127.0.0.1:{it.api_port}"
    for more, status in [
        (f"Origin: http://{own}\r\nSec-Fetch-Site: same-origin\r\n", 200),
        ("Sec-Fetch-Site: none\r\n", 200),
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
        (f"Origin: http://{own}0\r\n", 403),
        ("Origin: http://127.0.0.1\r\n", 403),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
        (f"Origin: http://{own}\r\nContent-Type: text/plain\r\n", 415),
    ]:
        assert with_host(it, own, more)[0] == status, more
    # The console's page is no exception: it must not be framed or opened from elsewhere.
    assert ask(it, f"GET / HTTP/1.1\r\nHost: {own}\r\nSec-Fetch-Site: cross-site\r\n"
                   "Connection: close\r\n\r\n")[0] == 403
    # curl -d sends a form type and no Origin.
    body = (f'{{"start_ip":"{net.address()}","device_count":1,"snmp_port":{it.snmp_port}}}')
    done = subprocess.run(["curl", "-sS", "-d", body, f"{it.url}/api/v1/devices"],
                          capture_output=True, text=True, timeout=60)
    assert '"created":1' in done.stdout, done


def test_security_headers(nl6):
    it = nl6()
    for path, csp in (("/api/v1/version", "default-src 'none'"), ("/", "default-src 'self'"),
                      ("/web/index.html", "default-src 'self'"), ("/nothing", "default-src 'none'"),
                      ("/health", "default-src 'none'")):
        headers = it.get(path).headers
        assert headers["Content-Security-Policy"].startswith(csp)
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Access-Control-Allow-Origin"] is None
        assert headers["Cache-Control"]


def test_listens_where_it_is_told(nl6):
    it = nl6()
    inodes = {os.readlink(f) for f in pathlib.Path(f"/proc/{it.process.pid}/fd").iterdir()}
    listening = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = {row[1] for row in listening if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}
    assert mine == {f"0100007F:{it.api_port:04X}"}
    everywhere = nl6("-listen", "::")
    assert everywhere.get("/health").status == 200
