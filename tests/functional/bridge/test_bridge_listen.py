"""OTLP in, OTLP out: attributes that tell a span become links, the rest passes as it came."""

import gzip
import http.client
import select
import socket
import time

import pytest
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest, ExportProfilesServiceResponse)

from bridge import exports, start, stop
from http_peer import silence
from otlp_rules import status_message
from program import SLOW, until

T, S = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PATH, PROTOBUF = "/v1development/profiles", "application/x-protobuf"


@pytest.fixture
def bridge(tmp_path):
    """bridge(*flags): a bridge that listens; .port, .out."""
    running = []

    def make(*flags):
        out = tmp_path / "out"
        flags = [*flags] if "-send" in flags else [*flags, "-out", out]
        it = start("-listen", "127.0.0.1:0", *flags)
        running.append(it)
        assert select.select([it.stdout], [], [], 20 * SLOW)[0]
        line = it.stdout.readline()
        assert line.startswith("ready otlp=127.0.0.1:"), line
        it.port, it.out = int(line.rpartition(":")[2]), out
        return it
    yield make
    for it in running:
        if it.poll() is None:
            assert stop(it)[0] == 0


def post(it, body, path=PATH, method="POST", **headers):
    """Status, body and headers of the answer."""
    headers = {"Content-Type": PROTOBUF, **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection = http.client.HTTPConnection("127.0.0.1", it.port, timeout=30 * SLOW)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def request(samples=3, form="string", links=True):
    """One as the Collector makes it: labels as attributes, the sentinel as the only link."""
    r = ExportProfilesServiceRequest()
    d = r.dictionary
    for table in (d.mapping_table, d.location_table, d.function_table, d.attribute_table,
                  d.stack_table):
        table.add()
    if links:
        d.link_table.add(trace_id=bytes(16), span_id=bytes(8))
    d.string_table.extend(["", "trace_id", "span_id", "samples", "count", T, S, "who"])
    for key, value in ((1, T), (2, S), (7, "me")):
        a = d.attribute_table.add(key_strindex=key)
        if form == "string" or key == 7:
            a.value.string_value = value
        elif form == "array":
            a.value.array_value.values.add(string_value=value)
        else:
            a.value.string_value_strindex = list(d.string_table).index(value)
    d.function_table.add(name_strindex=3)
    d.location_table.add().lines.add(function_index=1)
    d.stack_table.add(location_indices=[1])
    of = r.resource_profiles.add(schema_url="s")
    of.resource.attributes.add(key="service.name").value.string_value = "shop"
    of.resource.attributes.add(key="a.bool").value.bool_value = True
    scope = of.scope_profiles.add(schema_url="u")
    scope.scope.name = "x"
    p = scope.profiles.add(time_unix_nano=5, profile_id=b"i" * 16, original_payload_format="jfr",
                           original_payload=b"raw")
    p.sample_type.type_strindex, p.sample_type.unit_strindex = 3, 4
    for i in range(samples):
        p.samples.add(stack_index=1, attribute_indices=[3, 1, 2] if i else [3],
                      values=[i + 1], timestamps_unix_nano=[i + 5])
    return r


def passed(it, n=1):
    def read():
        raw = it.out.read_bytes()
        try:
            bodies = exports(raw)
        except (AssertionError, Exception):
            return None
        return len(bodies) >= n and [ExportProfilesServiceRequest.FromString(b) for b in bodies]
    return until(20, read, "export")


@pytest.mark.parametrize("form", ["string", "array", "strindex"])
@pytest.mark.parametrize("links", [True, False])
def test_attributes_become_links_and_the_rest_is_kept(bridge, form, links):
    it, sent = bridge(), request(form=form, links=links)
    body = sent.SerializeToString()
    status, answer, headers = post(it, gzip.compress(body), Content_Encoding="gzip")
    assert (status, headers["Content-Type"]) == (200, PROTOBUF)
    assert ExportProfilesServiceResponse.FromString(answer) == ExportProfilesServiceResponse()
    (got,) = passed(it)
    want = ExportProfilesServiceRequest.FromString(body)
    if not links:
        want.dictionary.link_table.add(trace_id=bytes(16), span_id=bytes(8))
    want.dictionary.link_table.add(trace_id=bytes.fromhex(T), span_id=bytes.fromhex(S))
    for sample in want.resource_profiles[0].scope_profiles[0].profiles[0].samples[1:]:
        sample.attribute_indices[:] = [3]
        sample.link_index = 1
    assert got == want


def test_links_that_are_there_stay_and_are_shared(bridge):
    it, sent = bridge("-keep-ids", "-service-name", "mine", "-resource", "x=y"), request()
    sent.dictionary.link_table.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    sent.dictionary.link_table.add(trace_id=bytes.fromhex(T), span_id=bytes.fromhex(S))
    samples = sent.resource_profiles[0].scope_profiles[0].profiles[0].samples
    samples[1].link_index = 1
    assert post(it, sent.SerializeToString())[0] == 200
    (got,) = passed(it)
    assert got.dictionary == sent.dictionary
    samples = got.resource_profiles[0].scope_profiles[0].profiles[0].samples
    assert [s.link_index for s in samples] == [0, 1, 2]
    assert list(samples[2].attribute_indices) == [3, 1, 2]
    of = got.resource_profiles[0].resource
    assert {a.key: a.value.string_value or a.value.bool_value for a in of.attributes} == {
        "a.bool": True, "service.name": "mine", "x": "y"}
    assert sum(a.key == "service.name" for a in of.attributes) == 1


def test_fields_that_nobody_knows_pass(bridge):
    it, body = bridge(), request(1).SerializeToString() + bytes([0x9a, 0x3f, 2, 1, 2])
    assert post(it, body)[0] == 200
    passed(it)
    (got,) = exports(it.out.read_bytes())
    assert bytes([0x9a, 0x3f, 2, 1, 2]) in got


def test_a_large_request_is_cut(bridge):
    it, sent = bridge(), request(40_000)
    assert post(it, sent.SerializeToString())[0] == 200
    found = passed(it, 3)
    samples = [list(s.values) for r in found
               for s in r.resource_profiles[0].scope_profiles[0].profiles[0].samples]
    assert samples == [[i + 1] for i in range(40_000)]
    assert all(len(r.resource_profiles[0].scope_profiles[0].profiles[0].samples) <= 15_000 and
               r.ByteSize() <= 2 << 20 for r in found)


def test_what_is_not_right_is_refused_by_status(bridge):
    it, good = bridge("-max-size", "200000"), request().SerializeToString()
    assert post(it, good, Content_Type="application/json")[0] == 415
    assert post(it, good, Content_Type=PROTOBUF + "; charset=x")[0] == 415
    assert post(it, good, Content_Encoding="zstd")[0] == 415
    assert post(it, good, path="/v1/traces")[0] == 404
    status, _, headers = post(it, None, method="GET")
    assert status == 405 and headers["Allow"] == "POST"
    assert post(it, bytes(300_000))[0] == 413
    assert post(it, gzip.compress(bytes(300_000)), Content_Encoding="gzip")[0] == 413
    wrong_attribute, wrong_link = request(), request()
    profile = wrong_attribute.resource_profiles[0].scope_profiles[0].profiles[0]
    profile.samples[0].attribute_indices.append(77)
    wrong_link.resource_profiles[0].scope_profiles[0].profiles[0].samples[0].link_index = 9
    for body, says in ((good[:-1], "byte"), (b"hello", "byte"),
                       (wrong_attribute.SerializeToString(), "no such attribute"),
                       (wrong_link.SerializeToString(), "no such link")):
        status, answer, _ = post(it, body)
        assert status == 400 and says in answer.decode("latin1") and answer[:2] == b"\x08\x03"
    assert post(it, gzip.compress(good)[:-5], Content_Encoding="gzip")[0] == 400
    assert post(it, b"")[0] == 200
    assert it.out.read_bytes() == b""


def test_a_queue_that_is_full_answers_503(bridge, otlp):
    sink = otlp(any_kind=True)
    sink.behave = silence
    it, body = bridge("-send", sink.url), request(1).SerializeToString()
    answers = [post(it, body) for _ in range(40)]
    assert [a[0] for a in answers[:10]] == [200] * 10
    status, answer, headers = answers[-1]
    assert status == 503 and headers["Retry-After"] == "5"
    assert answer == status_message(14, "what came before has not been sent yet")
    began = time.monotonic()
    assert stop(it)[0] == 0 and time.monotonic() - began < 8


def test_clients_that_leave_make_room(bridge):
    """More of them than there may be connections, each within its body."""
    it = bridge()
    head = (f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\n"
            f"Content-Length: 100000\r\n\r\n").encode()
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", it.port), timeout=20 * SLOW) as client:
            client.sendall(head)
            time.sleep(0.02)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            client.sendall(b"\x12\x00")  # together with the end
    begun = time.monotonic()
    assert post(it, request().SerializeToString())[0] == 200
    assert time.monotonic() - begun < 10 * SLOW
