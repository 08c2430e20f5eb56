"""Hosts of the tests' own (network and mount namespaces) and the driver of lab_driver.c in them."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
NL6 = pathlib.Path(os.environ.get("TEST_NL6", ROOT / "build/nl6")).resolve()
# The tests' own programs: with an LTO build of nl6 alone they come from another build folder.
TOOLS = pathlib.Path(os.environ.get("TEST_TOOLS", NL6.parent)).resolve() / "tests/functional/lab"
DRIVER, KILL_AT = TOOLS / "lab_driver", TOOLS / "kill_at"
SLOW = float(os.environ.get("TEST_SLOW", "1"))
FULL = os.environ.get("TEST_FULL") == "1"

# What must be as before: everything of the network that can be listed, and names in /run.
SNAPSHOT = r"""
ip -o link | sed 's/ qdisc.*//'; ip -o addr | sed 's/ valid_lft.*//'
ip -4 route show table all; ip -6 route show table all | sed 's/ expires [^ ]*//'; ip rule
find /run -mindepth 1 ! -path /run/nl6 | sort
grep -rs . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf |
    grep -v -e stable_secret -e /mtu: | sort
"""

ECHO = r"""
import socket, sys
family, address, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
s = socket.socket(family, socket.SOCK_DGRAM)
s.settimeout(float(sys.argv[4]))
s.sendto(b"who?", (address, port))
data, peer = s.recvfrom(100)
print(data.decode(), peer[0], peer[1])
"""


class Host:
    """A machine as far as the network goes: it lives until close(). Made by root, or by a plain user
    as root of a user namespace, which further hosts share with the first."""

    def __init__(self, first=None):
        plain = os.geteuid() != 0
        user = ["-U", "--preserve-credentials"] if plain else []
        where = ["nsenter", "-t", str(first.process.pid), *user] if plain and first else []
        how = "-nm" if first or not plain else "-Urnm"
        self.process = subprocess.Popen(
            [*where, "unshare", how, "sh", "-c", "mount -t tmpfs -o mode=755 run /run && "
             "ip link set lo up && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.enter = ["nsenter", "-t", str(self.process.pid), *user, "-n", "-m"]
        self.drivers = []

    def close(self):
        for driver in self.drivers:
            driver.kill()
        self.process.stdin.close()
        self.process.wait(30)

    def run(self, *command, check=True, **more):
        done = subprocess.run([*self.enter, *command], capture_output=True, text=True, timeout=120,
                              **more)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done

    def sh(self, script, **more):
        return self.run("sh", "-ec", script, **more).stdout

    def json(self, *command):
        return json.loads(self.run(*command).stdout or "[]")

    def snapshot(self):
        return self.run("sh", "-c", SNAPSHOT).stdout.splitlines()

    def sysctl(self, name, value=None):
        """Reads "net/ipv4/ip_forward", or sets it."""
        if value is not None:
            self.sh(f"echo {value} >/proc/sys/{name}")
        return self.sh(f"cat /proc/sys/{name}").strip()

    def connect(self, other, here, there, v6=None, name="eth0"):
        """A cable to another host, with an IPv4 /24 address at each end and, if told, IPv6."""
        self.sh(f"ip link add {name} type veth peer name {name} netns {other.process.pid}")
        for host, address, last in ((self, here, 1), (other, there, 2)):
            host.sh(f"ip link set {name} addrgenmode none; ip addr add {address}/24 dev {name};"
                    + (f"ip addr add {v6}::{last}/64 dev {name} nodad;" if v6 else "")
                    + f"ip link set {name} up")
        until(5, lambda: "LOWER_UP" in self.sh(f"ip link show {name}"), "carrier")

    def ask(self, address, port, seconds=2, check=True, namespace=None):
        """Sends "who?" to a socket of a driver; the address the answer comes from, or None."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        where = ["ip", "netns", "exec", namespace] if namespace else []
        done = self.run(*where, "/usr/bin/python3", "-c", ECHO, str(int(family)), address,
                        str(port), str(seconds * SLOW if check else 0.3), check=False)
        if done.returncode != 0:
            assert not check, done.stderr
            return None
        data, peer, peer_port = done.stdout.split()
        assert (data, int(peer_port)) == ("who?", port)
        return peer

    def driver(self, name="nl6sim", net="10.254.0.0/30", **more):
        return Driver(self, name, net, **more)


def until(seconds, ask, what):
    """Polls ask() until it returns something true, and returns that."""
    end = time.monotonic() + seconds * SLOW
    while True:
        found = ask()
        if found:
            return found
        assert time.monotonic() < end, f"no {what} within {seconds * SLOW:.0f} s"
        time.sleep(0.02)


class Refused(Exception):
    def __init__(self, line):
        code, rest = line.split(" ", 1)
        self.errno = int(code)
        self.field, self.text, self.allowed = rest.split("|")
        super().__init__(line)


class Driver:
    """One process with a lab network."""

    def __init__(self, host, name, net, no_namespace=False, prefix=(), env=None):
        self.name = name
        self.process = subprocess.Popen(
            [*host.enter, *prefix, str(DRIVER), name, net,
             *(["no-namespace"] if no_namespace else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | (env or {}))
        host.drivers.append(self)
        assert self.answer() == "started"

    def answer(self):
        ready = select.select([self.process.stdout], [], [], 60 * SLOW)[0]
        line = self.process.stdout.readline().rstrip("\n") if ready else ""
        word, _, rest = line.partition(" ")
        if word == "error":
            raise Refused(rest)
        assert word == "ok", (line, self.process.poll(), self.process.stderr.read())
        return rest

    def __call__(self, *words):
        self.process.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()
        return self.answer()

    @property
    def status(self):
        return json.loads(self("status"))

    def echo(self, address, port=0):
        return int(self("echo", address, port))

    def stop(self):
        """Ends it in order; what it logged."""
        self.process.stdin.close()
        log = self.process.stderr.read()
        assert self.process.wait(60 * SLOW) == 0, log
        return log

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
