"""What variables that are meant for other programs do to a push over TLS: nothing."""

import ssl

import pytest

from http_peer import Authority
from pyroscope_peer import Pyroscope

OFF = {"enabled": False}


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def peer(authority):
    """Over TLS 1.2 at most: its key has nothing to do with RSA."""
    context = authority.server()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    it = Pyroscope(tls=context)
    yield it
    it.close()


def settings(folder):
    """OpenSSL's, which leave a server without RSA no cipher of TLS 1.2."""
    path = folder / "openssl.cnf"
    path.write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n"
                    "[c]\nCipherString = kRSA\n")
    return path


@pytest.mark.parametrize("name", ["SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_MODULES",
                                  "OPENSSL_ENGINES", "SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_variable_of_others_changes_nothing(nl6, peer, authority, tmp_path, name):
    value = settings(tmp_path) if name == "OPENSSL_CONF" else tmp_path / "none"
    it = nl6("-profiling-pyroscope", peer.url, "-profiling-pyroscope-ca",
             str(authority.certificate), env={name: str(value)})
    status = it.get("/api/v1/profiling").data
    assert it.post("/api/v1/profiling", OFF).status == 200
    assert status["pushing"] and peer.uploads and peer.failed_connections == 0
    assert not (tmp_path / "none").exists()


def test_authorities_of_the_environment_are_not_trusted(nl6, peer, authority):
    peer.expect_faults = True
    it = nl6(env={"SSL_CERT_FILE": str(authority.certificate),
                  "SSL_CERT_DIR": str(authority.folder),
                  "CURL_CA_BUNDLE": str(authority.certificate)})
    on = {"enabled": True, "server_address": peer.url}
    assert it.post("/api/v1/profiling", on).data["pushing"] is True
    assert it.post("/api/v1/profiling", OFF).status == 200
    assert peer.requests == [] and peer.failed_connections > 0
    assert "failing: upload profile: do http request: " in it.stderr
    assert "certificate" in it.stderr
