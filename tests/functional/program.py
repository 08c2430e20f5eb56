"""Runs the program under test, and foreign tools against it."""

import fcntl
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from openapi import Spec

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
# The program, set by ./test; sanitized builds are slower.
NL6 = pathlib.Path(os.environ.get("TEST_NL6", ROOT / "build/nl6")).resolve()
SLOW = float(os.environ.get("TEST_SLOW", "1"))
FULL = os.environ.get("TEST_FULL") == "1"
REPORTS = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|Sanitizer:")


@functools.cache
def has_a_watcher():
    """Is the program built with the thread sanitizer, which adds a thread of its own?"""
    return b"__tsan_init" in NL6.read_bytes()


def until(seconds, ask, what):
    """Polls ask() until it returns something true, and returns that."""
    end = time.monotonic() + seconds * SLOW
    while True:
        found = ask()
        if found:
            return found
        assert time.monotonic() < end, f"no {what} within {seconds * SLOW:.0f} s"
        time.sleep(0.02)


class Net:
    """A 127.N of the test's own, held by a lock on a file that goes with the process."""

    def __init__(self):
        folder = pathlib.Path(f"/tmp/nl6-test-nets-{os.getuid()}")
        folder.mkdir(exist_ok=True)
        for n in range(20, 250):
            self.lock = open(folder / str(n), "w")
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.prefix = f"127.{n}"
                return
            except BlockingIOError:
                self.lock.close()
        raise RuntimeError("every 127.N is taken")

    def address(self, i=1):
        """The i-th address: 1 is 127.N.0.1."""
        return f"{self.prefix}.{i >> 8}.{i & 255}"

    def close(self):
        self.lock.close()


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def data(self):
        """The data of a successful envelope."""
        body = self.json
        assert body["success"] is True, body
        return body.get("data")


class Program:
    """One nl6. Made by the fixture nl6, which stops it and checks how it ended."""

    def __init__(self, net, folder, flags, env=None, binary=NL6, prefix=(), wait=True):
        self.net, self.folder = net, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.stderr_path = folder / "stderr"
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith("NL6_") and k != "NOTIFY_SOCKET"}
        clean.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
        clean.setdefault("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1")
        self.command = [*prefix, str(binary), *flags]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=open(self.stderr_path, "wb"), env=clean | (env or {}), cwd=folder)
        self.stdout = b""
        self.url = self.snmp_port = None
        if wait:
            self.wait_ready()

    @property
    def stderr(self):
        return self.stderr_path.read_text(encoding="utf-8", errors="replace")

    def read_line(self, seconds):
        end = time.monotonic() + seconds * SLOW
        while b"\n" not in self.stdout:
            left = end - time.monotonic()
            assert left > 0, f"no line within {seconds * SLOW:.0f} s: {self.stderr}"
            if select.select([self.process.stdout], [], [], left)[0]:
                got = os.read(self.process.stdout.fileno(), 4096)
                assert got, f"ended with {self.process.wait()}: {self.stderr}"
                self.stdout += got
        line, _, self.stdout = self.stdout.partition(b"\n")
        return line.decode()

    def wait_ready(self, seconds=60):
        line = self.read_line(seconds)
        found = re.fullmatch(r"ready api=(\S+):(\d+) snmp=(\d+)", line)
        assert found, line
        host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(found[1], found[1])
        self.url, self.snmp_port = f"http://{host}:{found[2]}", int(found[3])
        self.api_port = int(found[2])
        return self

    def request(self, method, path, body=None, headers=None, timeout=60):
        """One request; the reply whatever its status. A dict or list is sent as JSON."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        elif isinstance(body, str):
            body = body.encode()
        ask = urllib.request.Request(self.url + path, data=body, headers=headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)
        try:
            with opener.open(ask, timeout=timeout * SLOW) as got:
                reply = Reply(got.status, got.headers, got.read())
        except urllib.error.HTTPError as e:
            reply = Reply(e.code, e.headers, e.read())
        self.check_reply(method, path, reply)
        return reply

    def check_reply(self, method, path, reply):
        """Every answer fits docs/openapi.json, which a test keeps equal to what is served."""
        Spec.of_docs().check(method, path, reply)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def create(self, count=1, first=1, **more):
        """Creates devices first.. of the test's network on the agents' port of this program."""
        body = {"start_ip": self.net.address(first), "device_count": count,
                "snmp_port": self.snmp_port} | more
        return self.post("/api/v1/devices", body)

    def tasks(self):
        """Folders in /proc of its threads, but for a sanitizer's: it is the first that blocks
        even the profiler's signal, as no thread of the program's does for long."""
        tasks = sorted(pathlib.Path(f"/proc/{self.process.pid}/task").iterdir(),
                       key=lambda task: int(task.name))
        if has_a_watcher():
            tasks.remove(next(task for task in tasks if blocks(task, signal.SIGPROF)))
        return tasks

    def snmp(self, tool, *arguments, address=None, version="2c", community="public", check=True):
        """Runs one of net-snmp's tools against a device; its lines, values without types."""
        target = address or self.net.address()
        if ":" in target:
            target = f"udp6:[{target}]"
        options = ["-v" + version, "-c", community, "-t", str(5 * SLOW), "-r", "1"]
        if tool not in ("snmptable", "snmpdf"):
            options += ["-OQ"]
        done = subprocess.run([tool, *options, f"{target}:{self.snmp_port}", *arguments],
                              capture_output=True, text=True, env=snmp_env(), timeout=600 * SLOW)
        if check:
            assert done.returncode == 0, f"{done.args}: {done.stdout}{done.stderr}"
        return done

    def get_snmp(self, *names, **more):
        """Values of objects by name, as text."""
        lines = self.snmp("snmpget", *names, **more).stdout.splitlines()
        return [line.partition(" = ")[2] for line in lines]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=30):
        """Waits for the end; the exit status."""
        try:
            return self.process.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"did not end within {seconds * SLOW:.0f} s: {self.stderr}")

    def stop(self):
        """Ends it as a user would, unless it has ended; it must end well and report nothing."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            status = self.wait()
            assert status == 0, f"ended with {status}: {self.stderr}"
        self.process.stdout.close()
        assert not REPORTS.search(self.stderr), self.stderr


def blocks(task, number):
    """Does a thread block that signal? task: its folder in /proc."""
    try:
        mask = re.search(r"^SigBlk:\s+(\w+)", (task / "status").read_text(), re.M)[1]
    except OSError:  # it has ended
        return False
    return bool(int(mask, 16) >> (number - 1) & 1)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def snmp_env():
    """The net-snmp tools with our modules, and no files of the user's or the system's."""
    state = pathlib.Path(f"/tmp/nl6-test-snmp-{os.getuid()}-{os.getpid()}")
    state.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MIBDIRS": str(HERE / "mibs"),
            "MIBS": "ALL", "SNMPCONFPATH": str(state), "SNMP_PERSISTENT_DIR": str(state),
            "HOME": str(state)}


def forget_snmp_env():
    shutil.rmtree(f"/tmp/nl6-test-snmp-{os.getuid()}-{os.getpid()}", ignore_errors=True)


def run_once(*flags, env=None, seconds=30, **more):
    """Runs nl6 to its end: for -help, and for what it refuses."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NL6_")}
    return subprocess.run([str(NL6), *flags], capture_output=True, text=True,
                          env=clean | (env or {}), timeout=seconds * SLOW,
                          stdin=subprocess.DEVNULL, **more)
