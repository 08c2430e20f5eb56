"""Foreign judges on the profiles of a running program under load: our own strict one, protoc and
`go tool pprof`."""

import concurrent.futures
import contextlib
import gzip
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pprof_judge  # noqa: E402
from pprof_judge import judge  # noqa: E402
from program import SLOW, until  # noqa: E402

GO = next((g for g in ("/usr/lib/go-1.19/bin/go", "/usr/bin/go") if pathlib.Path(g).exists()),
          shutil.which("go"))
KINDS = {"heap": "heap", "allocs": "allocs", "goroutine": "goroutine",
         "threadcreate": "threadcreate", "mutex": "mutex", "block": "block",
         "delta_heap": "heap", "delta_mutex": "mutex", "delta_block": "block"}


def go(*arguments, **more):
    """Runs `go tool pprof`, with no settings of the user's and no network."""
    done = subprocess.run([GO, "tool", "pprof", *map(str, arguments)], capture_output=True,
                          text=True, timeout=120 * SLOW, **more)
    assert done.returncode == 0, f"{done.args}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture
def go_env(tmp_path):
    return {"env": {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GOFLAGS": "-mod=mod",
                    "PPROF_TMPDIR": str(tmp_path), "GOCACHE": str(tmp_path / "cache"),
                    "GONOSUMDB": "*", "GOPROXY": "off", "TMPDIR": str(tmp_path)},
            "cwd": tmp_path}


@contextlib.contextmanager
def load(it):
    """SNMP walks by net-snmp's tools and API lists, until the block ends."""
    over = threading.Event()

    def walk():
        while not over.is_set():
            it.snmp("snmpbulkwalk", "-Cr50", "-On", "1.3", address=it.net.address(1))

    def ask():
        while not over.is_set():
            assert it.get("/api/v1/devices?limit=100").status == 200

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(walk), pool.submit(walk), pool.submit(ask)]
        try:
            yield
        finally:
            over.set()
            for job in jobs:
                job.result()


def open_gate(it):
    assert it.post("/api/v1/profiling", {"enabled": True, "server_address": ""}).status == 200


def pull(it, path, kind=None):
    """A profile that passes the judge, and its bytes."""
    reply = it.get("/debug/pprof/" + path)
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    return judge(reply.body, kind), reply.body


@pytest.fixture
def loaded(fleet):
    it = fleet(50, "-profiling-mutex-fraction", "1", "-profiling-block-rate", "1",
               "-profiling-cpu-rate", "500", "-profiling-heap-rate", "4096")
    open_gate(it)
    with load(it):
        yield it


def test_every_kind_passes_the_judge_under_load(loaded):
    for name, kind in KINDS.items():
        profile, _ = pull(loaded, name, kind)
        assert profile.samples or kind in ("mutex",), name
    for name in ("heap", "goroutine", "mutex", "block"):
        profile, _ = pull(loaded, name + "?seconds=1", name)
        assert profile.duration_ns >= 9e8, name
    for name, kind in (("profile", "cpu"), ("offcpu", "offcpu")):
        profile, _ = pull(loaded, name + "?seconds=2", kind)
        assert profile.samples and 1.9e9 < profile.duration_ns < 10e9 * SLOW


def test_samples_are_labelled_and_reach_their_threads_entry(loaded):
    profile, _ = pull(loaded, "profile?seconds=5", "cpu")
    shares = profile.by_label("subsystem", "samples")
    unlabelled = [s.stack for s in profile.samples
                  if "subsystem" not in s.labels and not s.is_said]
    assert unlabelled == [] and {"snmp", "api"} <= set(shares), shares
    total = profile.total("samples")
    assert total > 20, shares
    short = profile.truncated()
    if SLOW == 1:  # a sanitizer's run-time has code that cannot be walked out of
        assert sum(short.values()) <= max(2, total // 100), short
    workers = [s for s in profile.samples if s.labels.get("subsystem") == "snmp"]
    assert any("worker_run" in s.stack for s in workers)
    for name in ("heap", "goroutine", "threadcreate", "block"):
        profile, _ = pull(loaded, name)
        assert [s.stack for s in profile.samples
                if "subsystem" not in s.labels and not s.is_said] == [], name


def test_protoc_decodes_every_profile(loaded, tmp_path):
    proto = HERE.parent / "profile.proto"
    for name in [*KINDS, "profile?seconds=1", "offcpu?seconds=1"]:
        profile, data = pull(loaded, name)
        done = subprocess.run(["protoc", "--decode", "perftools.profiles.Profile", "-I",
                               str(proto.parent), str(proto)], input=profile.raw,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()
        assert len(re.findall(r"^sample \{", text, re.M)) == len(profile.samples)
        assert not re.search(r"^\d+: ", text, re.M), "a field that the message does not have"


def raw_samples(text):
    """Number of samples in the output of -raw."""
    return len(re.findall(r"^ +\d[\d ]*: [\d ]+ *$", text.partition("Locations")[0], re.M))


def test_go_tool_pprof_reads_every_kind(loaded, go_env, tmp_path):
    for name in [*KINDS, "profile?seconds=1", "offcpu?seconds=1"]:
        profile, data = pull(loaded, name)
        path = tmp_path / re.sub(r"\W.*", "", name)
        path.write_bytes(data)
        for report in ("-top", "-traces", "-tags", "-raw"):
            done = go(report, path, **go_env)
            assert "unrecognized" not in done.stderr and "no answer" not in done.stderr
            if report == "-raw":
                assert raw_samples(done.stdout) == len(profile.samples), name
            if report == "-tags" and profile.samples:
                assert "subsystem" in done.stdout, name
            if report == "-traces":
                assert "?? " not in done.stdout


def test_go_tool_pprof_fetches_and_differs(loaded, go_env, tmp_path):
    """From the address itself, symbols asked for or not; and one profile less another."""
    url = loaded.url + "/debug/pprof/"
    patience = ("-timeout", str(int(60 * SLOW)))
    done = go("-top", *patience, "-seconds", "2", url + "profile", **go_env)
    assert "Type: cpu" in done.stdout and "Duration: 2" in done.stdout
    done = go("-traces", *patience, "-symbolize=remote", url + "goroutine", **go_env)
    assert "worker_run" in done.stdout
    first, second = (tmp_path / n for n in ("first", "second"))
    first.write_bytes(pull(loaded, "allocs")[1])
    second.write_bytes(pull(loaded, "allocs")[1])
    done = go("-top", "-diff_base", first, second, **go_env)
    assert "Type: alloc_space" in done.stdout
    assert not re.search(r"^ +-\d", done.stdout, re.M), "alloc values went down"


def test_symbol_names_what_the_profile_names(loaded):
    profile, _ = pull(loaded, "goroutine")
    assert loaded.get("/debug/pprof/symbol").text.splitlines()[0] == "num_symbols: 1"
    last = {}  # of each address the function that has the code
    for s in profile.samples:
        for f in s.frames:
            if not f.inlined and f.address >= 0x10000:
                last[f.address] = f.name
    asked = "+".join(hex(a) for a in last)
    for reply in (loaded.post("/debug/pprof/symbol", asked,
                              headers={"Content-Type": "application/octet-stream"}),
                  loaded.get("/debug/pprof/symbol?" + asked)):
        lines = reply.text.splitlines()
        assert lines[0] == "num_symbols: 1"
        named = dict(re.fullmatch(r"(0x[0-9a-f]+) (.+)", line).groups() for line in lines[1:])
        known = {hex(a): n for a, n in last.items() if "!0x" not in n}
        assert known and {a: named.get(a) for a in known} == known
    for odd in ("", "x", "0x", "-1", "0x1+", "99999999999999999999999", "+", "%00", "0x1+zz"):
        assert loaded.get("/debug/pprof/symbol?" + odd).status in (200, 400), odd


def test_names_come_from_no_network(fleet):
    """A server of debug information that is named in the environment is not asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        it = fleet(10, env={"DEBUGINFOD_URLS": url, "DEBUGINFOD_VERBOSE": "1",
                            "http_proxy": url, "all_proxy": url})
        open_gate(it)
        for name in ("goroutine", "heap", "goroutine?debug=2", "profile?seconds=1"):
            assert it.get("/debug/pprof/" + name).status == 200
        with pytest.raises(BlockingIOError):
            server.accept()


def test_profiles_of_threads_disturb_nobody(loaded):
    """Each interrupts every wait there is, whatever SA_RESTART says."""
    before = loaded.stderr
    for _ in range(100):
        assert loaded.get("/debug/pprof/goroutine?debug=1").status == 200
    loaded.create(3, first=300)
    until(30, lambda: loaded.get("/health").status == 200, "health")
    loud = [line for line in loaded.stderr[len(before):].splitlines()
            if " error " in line or "EINTR" in line]
    assert loud == []


def test_every_thread_is_in_the_goroutine_profile(loaded):
    def agree():
        before = len(loaded.tasks())
        profile, _ = pull(loaded, "goroutine")
        after = len(loaded.tasks())
        return min(before, after) <= profile.total() <= max(before, after)
    until(20, agree, "moment in which no thread comes or goes")


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def test_the_judge_refuses_what_is_wrong(loaded):
    """A judge that finds nothing is none: each kind of fault, put into a good profile, is found."""
    profile, data = pull(loaded, "goroutine")
    raw = profile.raw
    good = gzip.compress(raw, 1, mtime=0)
    judge(good)
    two = gzip.compress(raw[:9], 1, mtime=0) + gzip.compress(raw[9:], 1, mtime=0)
    size = good[:-4] + b"\0\0\0\0"

    def plus(field, message):  # one more message of the profile's
        return gzip.compress(raw + varint(field << 3 | 2) + varint(len(message)) + message, 1,
                             mtime=0)
    text = profile.types[0].partition("/")[0].encode()
    at = raw.index(text)
    wrong = {
        "two members": two, "a wrong size": size, "a cut stream": good[:-9], "raw": raw,
        "bytes behind": good + b"\0", "an unknown field": plus(99, b""),
        "an equal string": plus(6, text), "not UTF-8": plus(6, b"\xff"),
        "a name of Go's": plus(6, b"main.go"), "a sample of nothing": plus(2, b""),
        "a location without a mapping": plus(4, b"\x08\xff\x7f"),
        "an id of 0": plus(5, b""), "a mapping of nothing": plus(3, b"\x08\x63"),
        "a '-' in a type": gzip.compress(raw[:at] + b"-" + raw[at + 1:], 1, mtime=0),
        "a sample type more": plus(1, b"\x08\x01\x10\x02"),
    }
    for what, bytes_ in wrong.items():
        with pytest.raises(pprof_judge.Bad):
            judge(bytes_)
            pytest.fail(f"{what} passes")
    with pytest.raises(pprof_judge.Bad):
        judge(good, now=time.time() + 7200)
    with pytest.raises(pprof_judge.Bad):
        judge(good, kind="heap")
