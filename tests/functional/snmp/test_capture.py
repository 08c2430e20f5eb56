"""What tshark finds in a captured walk: nothing malformed, no wrong checksum, an answer each."""

import pathlib
import subprocess
import sys

from program import NL6, SLOW, snmp_env


def tshark(capture, port, filter):
    done = subprocess.run(
        ["tshark", "-r", str(capture), "-d", f"udp.port=={port},snmp", "-o",
         "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter, "-T", "fields",
         "-e", "frame.number"], capture_output=True, text=True, check=True,
        env=snmp_env() | {"HOME": str(capture.parent)})
    return len(done.stdout.splitlines())


def test_tshark_finds_no_fault_in_walks_over_a_veth(tmp_path):
    capture = tmp_path / "walk.pcapng"
    capture.touch()
    inside = pathlib.Path(__file__).with_name("captured.py")
    done = subprocess.run(
        ["unshare", "-Urnm", sys.executable, str(inside), str(NL6), str(capture)],
        capture_output=True, text=True, env=snmp_env(), timeout=120 * SLOW)
    assert done.returncode == 0, done.stderr
    port = int(done.stdout)
    requests = tshark(capture, port, f"snmp && udp.dstport=={port}")
    answers = tshark(capture, port, f"snmp.get_response_element && udp.srcport=={port}")
    assert requests == answers > 500
    assert tshark(capture, port, "ipv6 && snmp") > 10
    assert tshark(capture, port, "_ws.malformed || _ws.expert.severity >= \"Warning\"") == 0
    assert tshark(capture, port, "udp.checksum.status == \"Good\"") == requests + answers
    assert tshark(capture, port, "ip.checksum.status == \"Bad\"") == 0
