"""The program as a process: settings, the ready line, signals, errors of the start."""

import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest
from program import NL6, ROOT, Program, run_once, until

VERSION = (ROOT / "VERSION").read_text().strip()


def test_help_and_version_stand_alone():
    done = run_once("-help", env={"NL6_PORT": "junk", "NL6_CONFIG": "/nowhere"})
    assert (done.returncode, done.stderr) == (0, "")
    for title in ("Fleet at start:", "SNMP agents:", "API and console:", "Lab network:", "Log:"):
        assert f"\n{title}\n" in done.stdout
    assert "  -auto-netmask N\n" in done.stdout and "(default 8080)" in done.stdout
    assert run_once("-h").stdout == done.stdout == run_once("--help").stdout
    done = run_once("-version")
    assert (done.returncode, done.stdout) == (0, f"v{VERSION}\n")


@pytest.mark.parametrize("flags, message", [
    (["-prot", "1"], "nl6: -prot: unknown flag, did you mean -port?"),
    (["-port", "http"], 'nl6: -port: "http" is not a valid value (allowed: 0..65535)'),
    (["-snmp-port=70000"], 'nl6: -snmp-port: "70000" is out of range (allowed: 0..65535)'),
    (["-log-level", "loud"],
     'nl6: -log-level: "loud" is not a valid value (allowed: error, warn, info, debug)'),
    (["-trap-collector", "127.0.0.1:162"], "nl6: -trap-collector: not in this build"),
    (["-gnmi-port=9339"], "nl6: -gnmi-port: not in this build"),
    (["-no-namespace", "true"],
     "nl6: true: stray argument, a boolean flag takes its value as -flag=false"),
    (["-auto-type", "asr9k", "-auto-round-robin"],
     "nl6: -auto-type: excludes -auto-round-robin"),
    (["-auto-category", "Servers"], "nl6: -auto-category: needs -auto-round-robin"),
    (["-auto-start-ip", "127.1.0.1", "-auto-netmask", "33"],
     "nl6: -auto-netmask: 33 is too long for an IPv4 address (allowed: 0..32)"),
    (["-config", "/nowhere/nl6.conf"],
     "nl6: -config: /nowhere/nl6.conf: No such file or directory"),
])
def test_wrong_flags_end_with_2_and_a_reason(flags, message):
    done = run_once(*flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{message}\nSee nl6 -help.\n"


def test_wrong_variables_and_files_are_told_with_their_place(tmp_path):
    assert run_once(env={"NL6_SNMP_PORT": "x"}).stderr.startswith(
        'nl6: NL6_SNMP_PORT: "x" is not a valid value')
    assert run_once(env={"NL6_FLOW_COLLECTOR": "x"}).stderr.startswith(
        "nl6: NL6_FLOW_COLLECTOR: not in this build")
    conf = tmp_path / ("long" * 50) / "lab.conf"
    conf.parent.mkdir()
    conf.write_text("# a lab\nport = 0\nsnmp-prot = 1\n")
    done = run_once("-config", str(conf))
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"nl6: {conf}:3: snmp-prot: unknown flag, did you mean snmp-port?")


def test_every_flag_of_the_original_is_known_or_refused_by_name():
    """The names are those of its documentation; none may be an unknown flag."""
    names = (pathlib.Path(__file__).parent / "original_flags.txt").read_text().split()
    assert len(names) == 77
    unknown = [n for n in names if "unknown flag" in run_once(f"-{n}", "-help").stderr]
    assert unknown == []


def test_line_wins_over_environment_over_file(nl6, net, tmp_path):
    conf = tmp_path / "lab.conf"
    conf.write_text(f"auto-start-ip = {net.address()}\nauto-count = 1\nlog-format = json\n"
                    "auto-type = asr9k\nseed = 3\n")
    it = nl6("-auto-count", "3", env={"NL6_CONFIG": str(conf), "NL6_AUTO_COUNT": "2",
                                      "NL6_LOG_FORMAT": "text"})
    assert it.get("/api/v1/status").data["total_devices"] == 3
    assert '"level"' not in it.stderr


def test_warnings_at_the_start(nl6):
    it = nl6("-profiling-force-gc", "-auto-count", "5",
             env={"NL6_PORTT": "1", "NL6_PORT": "tcp://10.0.0.1:8080"})
    for text in ("-profiling-force-gc has no effect: there is no garbage collector here",
                 "environment variable NL6_PORTT is unknown, did you mean NL6_PORT?",
                 "-auto-count without -auto-start-ip: no device is created"):
        assert it.stderr.count(text) == 1, it.stderr
    assert it.get("/api/v1/status").data["total_devices"] == 0


def test_a_secret_on_the_command_line_is_wiped(nl6, tmp_path):
    token = "a-token-of-the-test-0123"
    it = nl6("-api-token", token)
    assert token not in pathlib.Path(f"/proc/{it.process.pid}/cmdline").read_text()
    assert it.process.pid and "*" * len(token) in pathlib.Path(
        f"/proc/{it.process.pid}/cmdline").read_text()
    assert it.get("/api/v1/status").status == 401
    ask = {"Authorization": f"Bearer {token}"}
    assert it.get("/api/v1/status", headers=ask).status == 200
    named = nl6(env={"NL6_API_TOKEN": token})
    environ = pathlib.Path(f"/proc/{named.process.pid}/environ").read_text()
    assert token not in environ and "NL6_API_TOKEN=" + "*" * len(token) in environ
    assert named.get("/api/v1/status", headers=ask).status == 200
    path = tmp_path / "token"
    path.write_text(token + "\n")
    other = nl6(env={"NL6_API_TOKEN_FILE": str(path)})
    assert other.get("/api/v1/status").status == 401
    assert other.get("/api/v1/status", headers=ask).status == 200


def test_the_boot_fleet_answers_when_it_is_ready(fleet):
    it = fleet(300)
    last = it.net.address(300)
    assert it.get_snmp("SNMPv2-MIB::sysUpTime.0", address=last)
    assert it.get("/api/v1/status").data["total_devices"] == 300


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(nl6, number):
    it = nl6()
    it.signal(number)
    assert it.wait() == 0
    assert "stopping" in it.stderr


def test_sighup_and_sigpipe_do_not_end_it(nl6):
    it = nl6()
    it.signal(signal.SIGHUP)
    it.signal(signal.SIGPIPE)
    assert it.get("/health").text == "OK"


def test_a_reader_that_goes_away_does_not_end_it(nl6):
    it = nl6()
    it.process.stdout.close()
    assert it.get("/health").text == "OK"


def test_it_tells_a_service_manager(nl6, tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(30)
        it = nl6(env={"NOTIFY_SOCKET": path})
        assert manager.recv(100) == b"READY=1"
        it.stop()
        assert manager.recv(100) == b"STOPPING=1"


def test_the_soft_limit_of_files_is_lifted(nl6):
    it = nl6(prefix=["prlimit", "--nofile=200:4000"])
    limits = pathlib.Path(f"/proc/{it.process.pid}/limits").read_text()
    assert re.search(r"Max open files +4000 +4000", limits)


def test_a_taken_port_is_named(nl6):
    it = nl6()
    done = run_once("-port", str(it.api_port), "-snmp-port", "0")
    assert done.returncode == 1 and str(it.api_port) in done.stderr
    assert "address already in use" in done.stderr.lower() or "in use" in done.stderr
    done = run_once("-port", "0", "-snmp-port", str(it.snmp_port), "-auto-start-ip",
                    it.net.address(), "-auto-count", "1")
    assert done.returncode == 1 and str(it.snmp_port) in done.stderr


def as_nobody(*command):
    """A command without privileges: of another user when the tests run as root."""
    if os.getuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", *command]


def test_a_plain_user_has_a_fleet_in_127(fleet):
    it = fleet(10, prefix=as_nobody())
    assert it.get_snmp("SNMPv2-MIB::sysName.0")
    status = pathlib.Path(f"/proc/{it.process.pid}/status").read_text()
    assert re.search(r"^CapEff:\t0+$", status, re.M)


def test_a_plain_user_is_told_what_other_ranges_need():
    done = subprocess.run(
        [*as_nobody(), str(NL6), "-port", "0", "-snmp-port", "1161", "-auto-start-ip", "10.99.0.1",
         "-auto-count", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "CAP_NET_ADMIN" in done.stderr and "127.0.0.0/8" in done.stderr


def test_values_that_only_the_start_can_judge_are_wrong_flags_too():
    done = run_once("-port", "0", "-auto-start-ip", "127.99.0.1", "-auto-count", "300",
                    "-auto-netmask", "24", "-snmp-port", "0")
    assert done.returncode == 2 and "-auto-count: 300 devices" in done.stderr
    done = run_once("-port", "0", "-auto-start-ip", "127.99.0.1", "-auto-count", "3",
                    "-auto-type", "asr9000", "-snmp-port", "0")
    assert done.returncode == 2 and "-auto-type: resource asr9000" in done.stderr


def test_it_finds_its_data_from_anywhere(nl6, tmp_path):
    link = tmp_path / "elsewhere"
    link.symlink_to(NL6)
    it = nl6(binary=link)
    assert len(it.get("/api/v1/resources").data) == 29
    assert "<html" in it.get("/").text


def test_two_programs_with_one_seed_are_one_fleet(nl6, net):
    names = []
    for seed in ("7", "7", "8"):
        it = nl6("-seed", seed, "-auto-start-ip", net.address(), "-auto-count", "20",
                 "-auto-round-robin")
        names.append([it.get_snmp("SNMPv2-MIB::sysName.0", "SNMPv2-MIB::sysLocation.0",
                                  address=net.address(i)) for i in (1, 7, 20)])
        it.stop()
    assert names[0] == names[1] != names[2]


def test_a_second_signal_ends_a_slow_stop(nl6, net):
    """A client that reads its answer slowly keeps the stop waiting for a moment; another signal
    does not wait. Either way the program ends, and the second signal never harms."""
    it = nl6("-auto-start-ip", net.address(), "-auto-count", "20000")
    with socket.create_connection(("127.0.0.1", it.api_port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(100)
        it.signal(signal.SIGTERM)
        until(10, lambda: "stopping" in it.stderr, "line of the stop")
        it.signal(signal.SIGTERM)
        assert it.wait() in (0, 1)


def test_openapi_is_served_as_documented(nl6):
    import json
    served = nl6().get("/api/v1/openapi.json").json
    assert served == json.loads((ROOT / "docs/openapi.json").read_text())


def test_every_metric_is_documented_and_the_other_way_round(fleet, tmp_path):
    # A part that is off has no metrics: all are on, exports to a port where nobody listens.
    it = fleet(2, "-otlp-endpoint", "http://127.0.0.1:9", "-otlp-profiles", "http://127.0.0.1:9",
               "-state-dir", str(tmp_path / "state"))
    assert it.get_snmp("SNMPv2-MIB::sysName.0")
    text = it.get("/metrics").text
    families = {line.split()[2]: line.split()[3] for line in text.splitlines()
                if line.startswith("# TYPE nl6_")}
    documented = dict(re.findall(r"^\| `(nl6_\w+?)(?:_total)?` \| (\w+) \|",
                                 (ROOT / "docs/metrics.md").read_text(), re.M))
    assert families == documented | {"nl6_build_info": "gauge"}


def test_the_api_may_have_a_port_below_1024(nl6, net):
    flags = ["-listen", net.address(), "-port", "80"]
    if os.getuid() == 0:
        it = nl6(*flags)
        assert it.url == f"http://{net.address()}:80" and it.get("/health").text == "OK"
        flags[3] = "81"
    done = subprocess.run([*as_nobody(), str(NL6), *flags, "-snmp-port", "0"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and f"cannot listen on {net.address()}:{flags[3]}" in done.stderr
