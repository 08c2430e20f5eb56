"""Profiles of real programs, and broken copies of them, through the bridge into a file."""

import base64
import gzip
import json
import struct

import pytest

from bridge import FIXTURES, LINK, exports, peak_bytes, run, sums, unpacked, written
from pprof_judge import LABEL, PROFILE, decode
from pprof_make import Maker, encode, field, make, varint
from program import FULL

T, S = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
REAL = sorted(p.name for p in FIXTURES.glob("*.gz"))
PLAIN = b"".join(field(6, s, "") for s in (b"",))


def pprof(path):
    return decode(unpacked(path), PROFILE)


def text(raw, i):
    return raw.string_table[i].decode()


@pytest.mark.parametrize("name", REAL)
def test_real_profiles_come_out_whole(name, tmp_path):
    raw = pprof(FIXTURES / name)
    done = run("-file", FIXTURES / name, "-out", tmp_path / "out")
    assert done.returncode == 0, done.log
    found = written(tmp_path / "out")
    types = [f"{text(raw, t.type)}/{text(raw, t.unit)}" for t in raw.sample_type]
    assert sums(found) == {t: sum(s.value[i] for s in raw.sample) for i, t in enumerate(types)}
    assert sum(len(p.samples) for p in found) == sum(v != 0 for s in raw.sample for v in s.value)
    ids = {loc.id: loc for loc in raw.location}
    functions = {f.id: text(raw, f.name) for f in raw.function}
    first = [p for p in found if p.type == types[0]]
    stacks = [tuple(functions[line.function_id] for at in s.location_id for line in ids[at].line)
              for s in raw.sample if s.value[0]]
    assert [s.stack for p in first for s in p.samples] == stacks
    assert {p.time_ns for p in found} == {raw.time_nanos}
    assert {p.period for p in found} == {raw.period}
    assert {p.resource["service.name"] for p in found} == {"unknown_service"}


def test_go_labels_become_links(tmp_path):
    raw = pprof(FIXTURES / "go-cpu.pb.gz")
    want = set()
    for s in raw.sample:
        labels = {text(raw, x.key): text(raw, x.str) for x in s.label}
        if "otel.profile.span_id" in labels:
            want.add((labels["otel.profile.trace_id"], labels["otel.profile.span_id"]))
    assert len(want) == 3
    run("-file", FIXTURES / "go-cpu.pb.gz", "-out", tmp_path / "out", "-service-name", "shop",
        "-resource", "service.version=1.2,host.name=h")
    for p in written(tmp_path / "out"):
        assert p.links == want
        assert all(s.attributes.keys() <= {"otel.profile.span_name"} for s in p.samples)
        assert p.resource == {"service.name": "shop", "service.version": "1.2", "host.name": "h"}
        assert any("main.divides" in s.stack for s in p.samples)
    run("-file", FIXTURES / "go-cpu.pb.gz", "-out", tmp_path / "out", "-keep-ids")
    kept = {(s.attributes.get("otel.profile.trace_id"), s.attributes.get("otel.profile.span_id"))
            for p in written(tmp_path / "out") for s in p.samples if s.link}
    assert kept == want


@pytest.mark.parametrize("labels, link, kept, count", [
    ({"trace_id": T, "span_id": S}, (T, S), set(), "linked 1"),
    ({"trace_id": T.upper(), "span_id": S}, (T, S), set(), "linked 1"),
    ({"otel.profile.trace_id": T, "otel.profile.span_id": S, "trace_id": "f" * 32,
      "span_id": "f" * 16}, (T, S), set(), "linked 1"),
    ({"trace_id": T}, None, {"trace_id"}, "half an id 1"),
    ({"span_id": S}, None, {"span_id"}, "half an id 1"),
    ({"trace_id": T[1:], "span_id": S}, None, {"trace_id", "span_id"}, "invalid one 1"),
    ({"trace_id": "0" * 32, "span_id": S}, None, {"trace_id", "span_id"}, "invalid one 1"),
    ({"trace_id": "g" * 32, "span_id": S}, None, {"trace_id", "span_id"}, "invalid one 1"),
    ({"who": "me"}, None, {"who"}, "without an id 1"),
])
def test_ids(labels, link, kept, count, tmp_path):
    m = Maker().add(["work", "main"], [1, 10_000_000], **labels)
    (tmp_path / "in").write_bytes(m.bytes())
    done = run("-file", tmp_path / "in", "-out", tmp_path / "out")
    assert count in done.log
    for p in written(tmp_path / "out"):
        assert [s.link for s in p.samples] == [link]
        assert set(p.samples[0].attributes) == kept


def test_names_of_labels_are_settings(tmp_path):
    m = Maker().add(["f"], [1, 1], **{"span id": S, "trace id": T, "trace_id": "x"})
    (tmp_path / "in").write_bytes(m.bytes())
    run("-file", tmp_path / "in", "-out", tmp_path / "out", "-trace-label", "trace id",
        "-span-label", "span id")
    assert {s.link for p in written(tmp_path / "out") for s in p.samples} == {(T, S)}


def test_all_else_is_kept(tmp_path):
    """What the profile tells besides, each in the place that the semantic conventions give it."""
    m = Maker().add(["f"], [-(1 << 63), (1 << 63) - 1], a="b")
    raw = m.raw
    raw.drop_frames, raw.keep_frames = m.string("dropped"), m.string("kept")
    raw.comment = [m.string("one"), m.string("two")]
    raw.default_sample_type = m.string("cpu")
    raw.sample[0].label.append(make(LABEL, key=m.string("bytes"), num=-7, num_unit=m.string("By")))
    raw.sample[0].label.append(make(LABEL, key=m.string("a"), str=m.string("c")))
    url = m.string("http://doc")
    (tmp_path / "in").write_bytes(encode(raw) + field(15, url, "u"))
    done = run("-file", tmp_path / "in", "-out", tmp_path / "out", "-format", "json")
    assert done.returncode == 0, done.log
    (line,) = (tmp_path / "out").read_text().splitlines()
    out = json.loads(line)
    d, scope = out["dictionary"], out["resourceProfiles"][0]["scopeProfiles"][0]
    strings = d["stringTable"]

    def attributes(indices):
        return {strings[a["keyStrindex"]]: (a["value"], strings[a.get("unitStrindex", 0)])
                for a in (d["attributeTable"][i] for i in indices)}

    def array(*values):
        return {"arrayValue": {"values": [{"stringValue": v} for v in values]}}
    for p, value in zip(scope["profiles"], (str(-(1 << 63)), str((1 << 63) - 1)), strict=True):
        assert attributes(p["attributeIndices"]) == {
            "pprof.profile.drop_frames": ({"stringValue": "dropped"}, ""),
            "pprof.profile.keep_frames": ({"stringValue": "kept"}, ""),
            "pprof.profile.doc_url": ({"stringValue": "http://doc"}, ""),
            "pprof.profile.comment": (array("one", "two"), "")}
        (sample,) = p["samples"]
        assert sample["values"] == [value]
        assert attributes(sample["attributeIndices"]) == {
            "a": (array("b", "c"), ""), "bytes": ({"intValue": "-7"}, "By")}
    assert scope["scope"]["attributes"] == [
        {"key": "pprof.scope.default_sample_type", "value": {"stringValue": "cpu"}}]
    build_id = attributes(d["mappingTable"][1]["attributeIndices"])
    assert build_id["process.executable.build_id.gnu"] == ({"stringValue": "abcd"}, "")
    assert d["linkTable"] == [{"traceId": "0" * 32, "spanId": "0" * 16}]


def test_json_is_what_protobuf_is(tmp_path):
    """Read by Google's decoder, with the ids turned into the base64 that it expects."""
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
        ExportProfilesServiceRequest)
    for name in REAL:
        run("-file", FIXTURES / name, "-out", tmp_path / "pb")
        run("-file", FIXTURES / name, "-out", tmp_path / "json", "-format", "json")
        (body,) = exports((tmp_path / "pb").read_bytes())
        out = json.loads((tmp_path / "json").read_text())
        for link in out["dictionary"]["linkTable"]:
            for key in link:
                link[key] = base64.b64encode(bytes.fromhex(link[key])).decode()
        assert Parse(json.dumps(out), ExportProfilesServiceRequest()) == \
            ExportProfilesServiceRequest.FromString(body)


def test_standard_input_and_output():
    done = run("-file", "-", "-out", "-", input=(FIXTURES / "go-cpu.pb.gz").read_bytes())
    assert done.returncode == 0 and sums(written(done.stdout))["samples/count"] > 0


CPU_WORDS = struct.pack("<5Q", 0, 3, 0, 10000, 0)


@pytest.mark.parametrize("bytes_, says", [
    (b"", "byte 0: no profile: it is empty"),
    (b"hello", "byte 2: "),
    (CPU_WORDS, "gperftools' legacy binary format"),
    (b"heap profile:    3:   30 [  9:  99] @ heap_v2/524288\n", "gperftools' legacy text format"),
    (b"<html>502</html>", "this is HTML"),
    (PLAIN + field(2, b"\x0a\x01\x07", ""), "byte 6: no such location"),
    (gzip.compress(b"\0" * (80 << 20)), "more than the allowed size"),
    ((FIXTURES / "go-cpu.pb.gz").read_bytes()[:-9], "the gzip is cut off"),
    (unpacked(FIXTURES / "go-cpu.pb.gz")[:-3], "cut off"),
    (PLAIN + varint(9 << 3) + b"\xff" * 10 + b"\1", "byte 2: "),
])
def test_malformed_is_told_and_nothing_is_written(bytes_, says, tmp_path):
    (tmp_path / "in").write_bytes(bytes_)
    done = run("-file", tmp_path / "in", "-out", tmp_path / "out")
    assert done.returncode == 1
    assert says in done.log.splitlines()[-1], done.log
    assert (tmp_path / "out").read_bytes() == b""


def test_every_flipped_byte_is_survived(tmp_path):
    raw = bytearray(unpacked(FIXTURES / "go-goroutine.pb.gz"))
    for at in range(0, len(raw), len(raw) // 40):
        broken = bytearray(raw)
        broken[at] ^= 0xff
        done = run("-file", "-", "-out", "-", input=bytes(broken))
        assert done.returncode in (0, 1), done.log
        assert done.returncode == 0 or done.stdout == b""


def large(spans, megabytes):
    """A profile of about so many megabytes: distinct stacks, of spans. Bytes, values' sum."""
    strings = ["", "samples", "count", "cpu", "nanoseconds", "trace_id", "span_id"]
    fixed = b"".join(field(n, v, "") for n, v in (
        (1, b"\x08\x01\x10\x02"), (11, b"\x08\x03\x10\x04"), (12, 10_000_000),
        (9, 1_700_000_000 * 10**9)))
    functions = b""
    for i in range(1, 20001):
        strings.append(f"package/of/a/name/function_{i}")
        functions += field(5, varint(8) + varint(i) + varint(16) + varint(len(strings) - 1), "")
        functions += field(4, varint(8) + varint(i) + varint(24) + varint(i * 16) + field(
            4, varint(8) + varint(i) + varint(16) + varint(i % 500), ""), "")
    ids = []
    for i in range(1, spans + 1):
        ids.append((len(strings), len(strings) + 1))
        strings += [f"{i:032x}", f"{i:016x}"]
    table = b"".join(field(6, s.encode(), "") for s in strings)
    out, total, n = [fixed, functions, table], 0, 0
    have, want = sum(map(len, out)), int(megabytes * (1 << 20)) - 400
    while have < want:
        stack = b"".join(varint((n * 7 + k * k * 31) % 20000 + 1) for k in range(40))
        labels = b""
        if ids:
            t, s = ids[n % len(ids)]
            labels = field(3, varint(8) + varint(5) + varint(16) + varint(t), "") + field(
                3, varint(8) + varint(6) + varint(16) + varint(s), "")
        one = field(2, field(1, stack, "") + field(2, varint(n % 9 + 1), "") + labels, "")
        out.append(one)
        total, n, have = total + n % 9 + 1, n + 1, have + len(one)
    return b"".join(out), total, n


def test_a_large_profile_is_cut_into_exports_and_memory_is_bounded(tmp_path):
    raw, total, n = large(200, 64 if FULL else 6)
    (tmp_path / "in").write_bytes(raw)
    sanitized = b"__asan_init" in LINK.read_bytes() or b"__tsan_init" in LINK.read_bytes()
    if sanitized:
        assert run("-file", tmp_path / "in", "-out", tmp_path / "out").returncode == 0
    else:
        idle = peak_bytes("-version")
        peak = peak_bytes("-file", tmp_path / "in", "-out", tmp_path / "out")
        assert peak - idle <= 3 * len(raw), f"{peak / len(raw):.2f} of the input"
        (tmp_path / "gz").write_bytes(gzip.compress(raw, 1))
        peak = peak_bytes("-file", tmp_path / "gz", "-out", tmp_path / "gz-out")
        assert peak - idle <= 3 * len(raw), f"{peak / len(raw):.2f} of the input"
        assert (tmp_path / "gz-out").read_bytes() == (tmp_path / "out").read_bytes()
    found = written(tmp_path / "out")
    assert len(found) > 3
    assert sums(found) == {"samples/count": total}
    assert sum(len(p.samples) for p in found) == n
    assert len(set().union(*(p.links for p in found))) == 200


def test_usage_is_judged():
    for flags, says in [((), "-url: it takes one input"),
                        (("-file", "x"), "-send: it takes one output"),
                        (("-file", "x", "-listen", "127.0.0.1:0"), "not several"),
                        (("-url", "ftp://x", "-out", "-"), "no URL of HTTP"),
                        (("-file", "x", "-send", "http://127.0.0.1:1", "-format", "json"),
                         "json is for -out"),
                        (("-file", "x", "-out", "-", "-resource", "service.name=a"),
                         "service.name has a flag of its own"),
                        (("-file", "x", "-out", "-", "-resource", b"a=\xff"), "in UTF-8"),
                        (("-file", "x", "-out", "-", "-service-name", b"a\xff"), "in UTF-8"),
                        (("-file", "x", "-out", "-", "-interval", "5s"), "makes no sense")]:
        done = run(*flags)
        assert done.returncode == 2 and says in done.log, done.log
    assert run("-help").returncode == 0 and b"-trace-label" in run("-help").stdout
    assert run("-file", "/nowhere", "-out", "-").returncode == 1
