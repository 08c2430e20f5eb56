"""Runs nl6-pprof-link, and decodes what it writes by opentelemetry-proto."""

import gzip
import pathlib
import signal
import struct
import subprocess
import sys

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest)

from otlp_profile_rules import judge_profiles
from program import NL6, REPORTS, SLOW

LINK = NL6.parent / "nl6-pprof-link"
FIXTURES = pathlib.Path(__file__).parent / "fixtures"
MAX_SAMPLES, MAX_BYTES = 15_000, 2 << 20
CLEAN = {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "detect_leaks=1"}


def run(*flags, input=None, seconds=60):
    """Its status, output and log."""
    done = subprocess.run([LINK, *(f if isinstance(f, bytes) else str(f) for f in flags)],
                          input=input, capture_output=True, env=CLEAN, timeout=seconds * SLOW)
    done.log = done.stderr.decode()
    assert not REPORTS.search(done.log), done.log
    return done


def start(*flags, **more):
    return subprocess.Popen([LINK, *map(str, flags)], env=CLEAN, stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, **more)


def stop(process, seconds=20):
    """Its status and log after SIGTERM."""
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=seconds * SLOW)
    assert not REPORTS.search(log), log
    return process.returncode, log


def peak_bytes(*flags):
    """Of the memory of a run, which has to end well. A child is charged for what its parent had when
    it was made: so a small one makes it."""
    script = ("import resource, subprocess, sys; "
              "subprocess.run(sys.argv[1:], check=True, stdout=2); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-S", "-c", script, LINK, *map(str, flags)], env=CLEAN,
                          capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def exports(raw):
    """The bodies of a file of exports."""
    out = []
    while raw:
        (n,) = struct.unpack(">I", raw[:4])
        assert len(raw) >= 4 + n
        out.append(raw[4:4 + n])
        raw = raw[4 + n:]
    return out


def written(path_or_raw):
    """All profiles of a file of exports, each export judged to be right and within its bounds."""
    raw = path_or_raw if isinstance(path_or_raw, bytes) else path_or_raw.read_bytes()
    found = []
    for body in exports(raw):
        request = ExportProfilesServiceRequest.FromString(body)
        samples = sum(len(p.samples) for r in request.resource_profiles
                      for s in r.scope_profiles for p in s.profiles)
        assert samples <= MAX_SAMPLES and len(body) <= MAX_BYTES
        now = max(p.time_unix_nano for r in request.resource_profiles
                  for s in r.scope_profiles for p in s.profiles)
        profiles, faults = judge_profiles(body, any_kind=True, keeps_ids=True, now=now)
        assert not faults, faults[:5]
        found += profiles
    return found


def sums(profiles):
    """Type to the sum of its samples' values."""
    out = {}
    for p in profiles:
        out[p.type] = out.get(p.type, 0) + sum(s.value for s in p.samples)
    return out


def unpacked(path):
    return gzip.decompress(path.read_bytes())
