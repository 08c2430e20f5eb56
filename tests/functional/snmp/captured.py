"""Run inside namespaces of its own (unshare -Urnm): devices behind a veth pair, walked over IPv4 and
IPv6 while dumpcap listens on the host's end. Arguments: nl6, the capture file to write."""

import ctypes
import fcntl
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.request

SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17
CLONE_NEWNET = 0x40000000
SLOW = float(os.environ.get("TEST_SLOW", "1"))
NAME = "nl6cap"


def sum_in_software(dev):
    """Frames on a veth leave without a checksum unless the sender computes it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_STXCSUM, 0))
        fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sQ", dev.encode(), ctypes.addressof(value)))


def in_namespace(fn):
    if (pid := os.fork()) == 0:
        with open(f"/run/netns/{NAME}") as ns:
            assert ctypes.CDLL(None, use_errno=True).setns(ns.fileno(), CLONE_NEWNET) == 0
        fn()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def devices():
    listed = subprocess.run(["ip", "-j", "link"], check=True, capture_output=True, text=True)
    return [it["ifname"] for it in json.loads(listed.stdout) if it["ifname"] != "lo"]


def walk(address, port, version, tool):
    subprocess.run([tool, "-v" + version, "-c", "public", "-t", str(5 * SLOW), "-On",
                    f"{address}:{port}", ".1.3"], check=True, stdout=subprocess.DEVNULL)


def main(nl6, capture):
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    program = subprocess.Popen(
        [nl6, "-auto-start-ip", "10.42.0.1", "-auto-netmask", "24", "-auto-count", "3",
         "-snmp-port", "0", "-port", "0", "-namespace", NAME], stdout=subprocess.PIPE, text=True)
    api, port = re.fullmatch(r"ready api=(\S+) snmp=(\d+)\n", program.stdout.readline()).groups()
    body = json.dumps({"start_ip": "fd42::1", "device_count": 3, "snmp_port": int(port)}).encode()
    urllib.request.urlopen(urllib.request.Request(
        f"http://{api}/api/v1/devices", body, {"Content-Type": "application/json"})).read()
    [host_end] = devices()
    sum_in_software(host_end)
    in_namespace(lambda: [sum_in_software(dev) for dev in devices()])
    dumpcap = subprocess.Popen(["dumpcap", "-q", "-i", host_end, "-f", f"udp port {port}", "-w",
                                capture], stderr=subprocess.PIPE, text=True)
    while "File:" not in (line := dumpcap.stderr.readline()):
        assert line, "dumpcap ended"
    walk("10.42.0.2", port, "2c", "snmpbulkwalk")
    walk("10.42.0.2", port, "1", "snmpwalk")
    walk("udp6:[fd42::2]", port, "2c", "snmpbulkwalk")
    size, end = -1, time.monotonic() + 10 * SLOW
    while pathlib.Path(capture).stat().st_size != size and time.monotonic() < end:
        size = pathlib.Path(capture).stat().st_size
        time.sleep(0.3)
    dumpcap.terminate()
    dumpcap.wait()
    program.terminate()
    assert program.wait() == 0
    print(port)


main(*sys.argv[1:])
