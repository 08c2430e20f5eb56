"""Flags and variables of exports: what is refused by name, how secrets are given, proxies."""

import pytest

from http_peer import Authority
from program import run_once
from proxy_peer import Proxy
from test_export_faults import SECRET, TENANT, counted, grpc_peer, has_span, span, traced

HERE = "http://127.0.0.1:1"
FLAGS = {"-otlp-basic-auth": "alice:" + SECRET, "-otlp-tenant": TENANT,
         "-otlp-header": "X-Key: key, geheim"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def proxy():
    it = Proxy()
    yield it
    it.close()


@pytest.mark.parametrize("flags, words", [
    (("-otlp-endpoint", HERE, "-otlp-protocol", "http/json"), ("-otlp-protocol", "http/json")),
    (("-otlp-endpoint", "127.0.0.1:4318"), ("-otlp-endpoint", "http://")),
    (("-otlp-endpoint", HERE + "/v1/traces", "-otlp-protocol", "grpc"), ("-otlp-endpoint", "path")),
    (("-otlp-profiles", "http://u:geheim@h"), ("-otlp-profiles", "-otlp-basic-auth")),
    (("-otlp-header", "a: geheim"), ("-otlp-header", "requires -otlp-endpoint or -otlp-profiles")),
    (("-otlp-timeout", "1s"), ("-otlp-timeout", "requires")),
    (("-otlp-endpoint", HERE, "-otlp-header", "geheim"), ("-otlp-header", "not a header")),
    (("-otlp-endpoint", HERE, "-otlp-header", "Content-Type: geheim"), ("-otlp-header", "Type")),
    (("-otlp-endpoint", HERE, "-otlp-ca", "/nowhere"), ("-otlp-ca", "/nowhere")),
    (("-otlp-endpoint", HERE, "-otlp-resource", "a"), ("-otlp-resource", "not an attribute")),
    (("-otlp-endpoint", HERE, "-otlp-compression", "zstd"), ("-otlp-compression", "gzip, none")),
])
def test_a_flag_is_refused_by_name(flags, words):
    done = run_once(*flags)
    assert done.returncode == 2 and all(w in done.stderr for w in words), done.stderr
    assert "geheim" not in done.stderr and "nl6 -help" in done.stderr


@pytest.mark.parametrize("name, value, word", [
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "http/json"),
    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "http/json"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "geheim", "key=value"),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "1s", "milliseconds"),
    ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "gzip, none"),
    ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere", "/nowhere"),
    ("OTEL_RESOURCE_ATTRIBUTES", "a", "key=value"),
])
def test_a_variable_is_refused_by_name(name, value, word):
    done = run_once("-otlp-endpoint", HERE, env={name: value})
    assert done.returncode == 2 and f"{name}: " in done.stderr and word in done.stderr
    assert "geheim" not in done.stderr


def given(tmp_path, way):
    """Flags and environment that give the secrets in one of the ways."""
    if way == "flag":
        return [x for pair in FLAGS.items() for x in pair], {}
    if way == "flag=":
        return [f"-{k}={v}" for k, v in FLAGS.items()], {}
    if way == "env":
        return [], {"NL6_" + k[1:].upper().replace("-", "_"): v for k, v in FLAGS.items()}
    flags = []
    for k, v in FLAGS.items():
        (tmp_path / k[1:]).write_text(v + "\n")
        flags += [k + "-file", tmp_path / k[1:]]
    return flags, {}


@pytest.mark.parametrize("way", ["flag", "flag=", "env", "file"])
def test_secrets_come_to_the_receiver_alone(nl6, otlp, tmp_path, way):
    peer = otlp(basic="alice:" + SECRET, wants={"X-Key": "key, geheim", "X-Scope-OrgID": TENANT})
    flags, env = given(tmp_path, way)
    it = traced(nl6, peer, *flags, env=env)
    has_span(peer, span(it))
    for name in "cmdline", "environ":
        content = open(f"/proc/{it.process.pid}/{name}", "rb").read()
        assert b"geheim" not in content, name
    assert counted(it)["accepted"] >= 1 and "geheim" not in it.stderr


def test_several_headers_of_one_file(nl6, otlp, tmp_path):
    (tmp_path / "headers").write_text("X-A: 1\nx-b: two, three\n\n")
    peer = otlp(wants={"X-A": "1", "X-B": "two, three", "X-C": "4"})
    it = traced(nl6, peer, "-otlp-header-file", tmp_path / "headers", "-otlp-header", "X-C: 4")
    has_span(peer, span(it))


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_a_proxy_of_the_flag(nl6, otlp, proxy, authority, tls):
    peer = otlp(tls=authority.server() if tls else None, basic="alice:" + SECRET)
    it = traced(nl6, peer, "-otlp-proxy", proxy.url, "-otlp-ca", authority.certificate,
                "-otlp-basic-auth", "alice:" + SECRET, env={"no_proxy": "*"})
    has_span(peer, span(it))
    assert {method for method, _, _ in proxy.asked} == {"CONNECT" if tls else "POST"}
    if tls:
        assert not any("Authorization" in headers for _, _, headers in proxy.asked)


def test_grpc_through_a_proxy(nl6, grpc_peer, proxy):
    peer = grpc_peer()
    it = traced(nl6, peer, "-otlp-protocol", "grpc", "-otlp-proxy", proxy.url,
                "-otlp-header", "x-key: geheim")
    has_span(peer, span(it))
    assert {method for method, _, _ in proxy.asked} == {"CONNECT"}
    assert not any("x-key" in headers for _, _, headers in proxy.asked)


def test_no_proxy_is_taken_from_the_environment(nl6, otlp, proxy):
    peer = otlp()
    it = traced(nl6, peer, env={"http_proxy": proxy.url, "all_proxy": proxy.url,
                                "ALL_PROXY": proxy.url})
    has_span(peer, span(it))
    assert proxy.asked == []
