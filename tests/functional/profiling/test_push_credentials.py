"""Whom the push trusts and who gets its credentials: the server of the flag, and nobody else."""

import re
import time

import pytest

from http_peer import Authority, redirect
from program import run_once, until
from proxy_peer import Proxy
from test_gate import GATE, pull_only, turn
from test_push import ALWAYS, metrics, names, off, push_to, status

SECRET, TENANT = "hun:ter2-geheim", "tenant-geheim"
AUTH = "-profiling-pyroscope-basic-auth"
ORG = "-profiling-pyroscope-tenant"
WITHHELD = "credentials withheld: address differs from -profiling-pyroscope"
FOREIGN = "PYROSCOPE_ADHOC_SERVER_ADDRESS"


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def foreign(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("foreign"), "foreign")


def told(it):
    """All that the program tells anybody."""
    return "".join([it.stderr, it.get(GATE).text, it.get("/metrics").text,
                    it.get("/api/v1/status").text])


def keeps_secrets(it, *secrets):
    text = told(it)
    for secret in secrets or (SECRET, TENANT, "ter2", "YWxpY2U6"):
        assert secret not in text


def given(tmp_path, way):
    """Flags and environment that give the credentials in one of the ways."""
    values = {AUTH: "alice:" + SECRET, ORG: TENANT}
    if way == "flag":
        return [x for pair in values.items() for x in pair], {}
    if way == "flag=":
        return [f"-{k}={v}" for k, v in values.items()], {}
    if way == "env":
        return [], {"NL6_" + k[1:].upper().replace("-", "_"): v for k, v in values.items()}
    flags, env = [], {}
    for k, v in values.items():
        path = tmp_path / k[1:]
        path.write_text(v + "\n")
        flags += [k + "-file", str(path)]
    if way == "env of file":
        env = {"NL6_" + k[1:].upper().replace("-", "_"): v
               for k, v in zip(flags[::2], flags[1::2])}
        flags = []
    return flags, env


@pytest.mark.parametrize("way", ["flag", "flag=", "env", "file", "env of file"])
def test_they_come_to_the_server_and_nowhere_else(nl6, pyroscope, tmp_path, way):
    peer = pyroscope(basic="alice:" + SECRET, tenants={TENANT})
    flags, env = given(tmp_path, way)
    it = nl6("-profiling-pyroscope", peer.url, *flags, env=env)
    keeps_secrets(it)
    for name in "cmdline", "environ":
        content = open(f"/proc/{it.process.pid}/{name}", "rb").read()
        assert SECRET.encode() not in content and TENANT.encode() not in content, name
    assert b"nl6" in open(f"/proc/{it.process.pid}/cmdline", "rb").read()
    off(it)
    assert names(peer.uploads) == sorted(ALWAYS)
    keeps_secrets(it)


def test_a_wrong_one_is_told_without_it(nl6, pyroscope):
    peer = pyroscope(basic="alice:other", tenants={"x"})
    peer.expect_faults = True
    it = nl6("-profiling-pyroscope", peer.url, AUTH, "alice:" + SECRET, ORG, TENANT)
    pull_only(it)
    assert [r.status for r in peer.requests] == [401] * 3 and "401" in it.stderr
    assert {r.authorization for r in peer.requests} == {"alice:" + SECRET}
    keeps_secrets(it)


def test_one_without_the_other(nl6, pyroscope):
    for flags, basic, tenants in (((AUTH, "a:b"), "a:b", None), ((ORG, "t"), None, {"t"})):
        peer = pyroscope(basic=basic, tenants=tenants)
        it = nl6("-profiling-pyroscope", peer.url, *flags)
        off(it)
        assert len(peer.uploads) == 3
        for r in peer.requests:
            assert (r.authorization is None) == (basic is None)
            assert (r.tenant is None) == (tenants is None)


@pytest.mark.parametrize("flags, words", [
    ([AUTH, "a:b"], "-profiling-pyroscope"), ([ORG, "t"], "-profiling-pyroscope"),
    (["-profiling-pyroscope-cert", "/dev/null"], "-profiling-pyroscope"),
    *((["-profiling-pyroscope", "http://127.0.0.1:1", AUTH, bad], "both" if bad else "empty")
      for bad in ("geheim:", ":geheim", "geheim", "", ":")),
])
def test_what_is_refused(tmp_path, flags, words):
    done = run_once(*flags)
    assert done.returncode == 2 and flags[-2] in done.stderr and words in done.stderr
    assert "geheim" not in done.stderr + done.stdout
    if flags[-2] in (AUTH, ORG):
        path = tmp_path / "secret"
        path.write_text(flags[-1] + "\n")
        done = run_once(*flags[:-2], flags[-2] + "-file", str(path))
        assert done.returncode == 2 and "geheim" not in done.stderr
        variable = "NL6_" + flags[-2][1:].upper().replace("-", "_")
        done = run_once(*flags[:-2], env={variable: flags[-1]})
        assert done.returncode == 2 and "geheim" not in done.stderr


@pytest.mark.parametrize("flag", ["ca", "cert", "key"])
def test_files_that_cannot_be_read_or_are_none(flag, tmp_path):
    name = "-profiling-pyroscope-" + flag
    more = ["-profiling-pyroscope-cert", "/dev/null"] if flag == "key" else []
    done = run_once("-profiling-pyroscope", "https://127.0.0.1:1", *more, name,
                    str(tmp_path / "nowhere"))
    assert done.returncode == 2 and name in done.stderr
    done = run_once("-profiling-pyroscope", "https://127.0.0.1:1",
                    "-profiling-pyroscope-key", "/dev/null")
    assert done.returncode == 2 and "-profiling-pyroscope-cert" in done.stderr


def test_another_address_gets_none(nl6, pyroscope):
    ours = pyroscope(basic="alice:" + SECRET, tenants={TENANT})
    other, below = pyroscope(), pyroscope(base="/p")
    it = nl6("-profiling-pyroscope", ours.url, AUTH, "alice:" + SECRET, ORG, TENANT)
    assert WITHHELD not in it.stderr
    push_to(it, other.url)
    assert it.stderr.count(WITHHELD) == 1
    push_to(it, below.url)
    off(it)
    for peer in other, below:
        assert len(peer.uploads) == 3
        assert all(r.authorization is None and r.tenant is None for r in peer.requests)
    # Back at the flag's address, also by default, they are used again.
    assert turn(it, enabled=True).data["server_address"] == ours.url
    off(it)
    assert len(ours.uploads) == 6
    # The path belongs to the address.
    ours.expect_faults = True
    push_to(it, ours.url + "/more")
    off(it)
    assert {(r.path, r.authorization, r.tenant) for r in ours.requests[6:]} == \
        {("/more/ingest", None, None)}
    keeps_secrets(it)


def test_a_revert_judges_the_address_anew(nl6, pyroscope):
    ours, other = pyroscope(basic="alice:" + SECRET), pyroscope()
    it = nl6("-profiling-pyroscope", ours.url, AUTH, "alice:" + SECRET)
    push_to(it, other.url, duration="200ms")
    until(20, lambda: status(it)["server_address"] == ours.url, "revert")
    off(it)
    assert len(ours.uploads) == 6 and len(other.uploads) == 3
    assert {r.authorization for r in other.requests} == {None}
    assert it.stderr.count(WITHHELD) == 1


@pytest.mark.parametrize("spelling", ["{0}/", "HTTP://127.0.0.1:{1}", "Http://127.0.0.1:{1}/"])
def test_other_spellings_of_the_address_get_them(nl6, pyroscope, spelling):
    peer = pyroscope(basic="a:b")
    it = nl6("-profiling-pyroscope", peer.url, AUTH, "a:b")
    off(it)
    reply = turn(it, enabled=True, server_address=spelling.format(peer.url, peer.port))
    assert reply.status == 200
    off(it)
    assert len(peer.uploads) == 6 and WITHHELD not in it.stderr


def test_a_redirect_gets_none(nl6, pyroscope):
    other = pyroscope()
    peer = pyroscope()
    peer.behave = redirect(other.url + "/ingest", 307)
    it = nl6("-profiling-pyroscope", peer.url, AUTH, "alice:" + SECRET, ORG, TENANT)
    off(it)
    assert len(peer.requests) == 3 and other.all_connections == 0
    keeps_secrets(it)


# --- TLS ----------------------------------------------------------------------------------------

def test_a_private_authority(nl6, pyroscope, authority):
    peer = pyroscope(tls=authority.server())
    it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-ca", authority.certificate)
    off(it)
    assert names(peer.uploads) == sorted(ALWAYS)
    # It is no credential: other addresses are verified by it as well.
    other = pyroscope(tls=authority.server("second"))
    push_to(it, other.url)
    off(it)
    assert len(other.uploads) == 3 and WITHHELD not in it.stderr


@pytest.mark.parametrize("wrong", ["unknown", "foreign", "name", "expired", "plain"])
def test_certificates_that_are_wrong(nl6, pyroscope, authority, foreign, wrong):
    context = {"unknown": lambda: authority.server("unknown"),
               "foreign": lambda: foreign.server("foreign-server"),
               "name": lambda: authority.server("named", san="DNS:elsewhere.example"),
               "expired": lambda: authority.server("old", days=-1), "plain": lambda: None}[wrong]()
    peer = pyroscope(tls=context)
    flags = [] if wrong == "unknown" else ["-profiling-pyroscope-ca", authority.certificate]
    url = peer.url.replace("http:", "https:")
    it = nl6("-profiling-pyroscope", url, *flags, AUTH, "alice:" + SECRET)
    pull_only(it)
    assert peer.requests == [] and metrics(it)["nl6_push_errors_total"] == 3
    line = next(x for x in it.stderr.splitlines() if f"push to {url} failing: " in x)
    assert wrong == "plain" or re.search("certificate|SSL|issuer", line), line
    keeps_secrets(it)


def test_a_client_certificate(nl6, pyroscope, authority):
    cert, key = authority.issue("client")
    both = cert.with_name("both.pem")
    both.write_text(cert.read_text() + key.read_text())
    for flags in ([cert, "-profiling-pyroscope-key", key], [both]):
        peer = pyroscope(tls=authority.server(clients=authority))
        it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-ca",
                 authority.certificate, "-profiling-pyroscope-cert", *flags)
        off(it)
        assert names(peer.uploads) == sorted(ALWAYS)
    # It is one of the credentials.
    other = pyroscope(tls=authority.server(clients=authority))
    push_to(it, other.url)
    assert WITHHELD in it.stderr
    off(it)
    assert other.requests == [] and other.failed_connections >= 1
    assert metrics(it)["nl6_push_errors_total"] == 3


# --- proxies ------------------------------------------------------------------------------------

@pytest.fixture
def proxy():
    it = Proxy()
    yield it
    it.close()


def test_a_proxy_of_the_flag(nl6, pyroscope, proxy, authority):
    for tls in None, authority.server():
        peer = pyroscope(tls=tls, basic="alice:" + SECRET)
        before = len(proxy.asked)
        it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-proxy", proxy.url,
                 "-profiling-pyroscope-ca", authority.certificate, AUTH, "alice:" + SECRET)
        off(it)
        assert len(peer.uploads) == 3
        asked = proxy.asked[before:]
        assert asked and {m for m, _, _ in asked} == {"CONNECT" if tls else "POST"}
        if tls:
            assert {path for _, path, _ in asked} == {f"127.0.0.1:{peer.port}"}
            assert not any(h["Authorization"] or h["Proxy-Authorization"] for _, _, h in asked)
        else:
            assert len(asked) == 3 and all(p.startswith(peer.url) for _, p, _ in asked)


def test_a_proxy_that_is_down_or_refused(nl6, pyroscope):
    peer = pyroscope()
    it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-proxy", "http://127.0.0.1:1")
    off(it)
    assert peer.all_connections == 0 and metrics(it)["nl6_push_errors_total"] == 3
    for bad in "127.0.0.1:8080", "http://u:geheim@127.0.0.1", "http://":
        done = run_once("-profiling-pyroscope", peer.url, "-profiling-pyroscope-proxy", bad)
        assert done.returncode == 2 and "geheim" not in done.stderr
        assert "-profiling-pyroscope-proxy" in done.stderr


def test_no_proxy_of_the_environment_is_used(nl6, pyroscope, proxy, authority):
    variables = {v: proxy.url for n in ("http_proxy", "https_proxy", "all_proxy")
                 for v in (n, n.upper())} | {"no_proxy": "", "NO_PROXY": ""}
    for tls in None, authority.server():
        peer = pyroscope(tls=tls)
        it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-ca",
                 authority.certificate, env=variables)
        off(it)
        assert len(peer.uploads) == 3
    assert proxy.asked == []
    # Nor is one of the flag kept from being used.
    peer = pyroscope()
    it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-proxy", proxy.url,
             env={"no_proxy": "*", "NO_PROXY": "127.0.0.1"})
    off(it)
    assert len(proxy.asked) == 3 == len(peer.uploads)


# --- the variable of other clients --------------------------------------------------------------

@pytest.mark.parametrize("value", ["", "http://127.0.0.1:2"])
def test_the_foreign_variable(nl6, pyroscope, value):
    peer = pyroscope()
    done = run_once("-profiling-pyroscope", peer.url, env={FOREIGN: value})
    assert done.returncode == 2 and FOREIGN in done.stderr
    it = nl6(env={FOREIGN: value})
    reply = turn(it, enabled=True, server_address=peer.url)
    assert reply.status == 500 and reply.json["success"] is False
    data = reply.json["data"]
    assert data["enabled"] is True and data["pushing"] is False and FOREIGN in data["last_error"]
    assert sum(FOREIGN in x for x in it.stderr.splitlines()) == 1
    assert it.get("/debug/pprof/heap").status == 200
    assert "last_error" not in pull_only(it)
    time.sleep(0.5)
    assert peer.all_connections == 0
