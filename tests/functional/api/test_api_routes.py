"""The route script: what it holds, and what it does on hosts of each kind.

The kinds are folders that look like them (ROUTES_ROOT); adding routes is tried for real between two
namespaces."""

import ipaddress
import os
import re
import subprocess

import pytest

# Knows two ways: to the gateways on the link, and through them.
IP = """#!/bin/sh
case "$*" in
*"route get 192.0.2.9" | *"route get 2001:db8:1::9") echo "$5 dev eth7 src 192.0.2.2 uid 0" ;;
*"route get "*) echo "$5 via 192.0.2.9 dev eth7 src 192.0.2.2 uid 0" ;;
*batch*) exec cat >"$(dirname "$0")/batch" ;;
esac
"""


def fetch(it, folder):
    reply = it.get("/api/v1/devices/routes")
    assert re.fullmatch(r'attachment; filename="add_simulator_routes_[\d_-]+\.sh"',
                        reply.headers["Content-Disposition"])
    path = folder / "routes.sh"
    path.write_bytes(reply.body)
    return path


def routes_of(script):
    return re.search(r"^routes=\(\n(.*?)^\)", script.read_text(), re.S | re.M)[1].split()


def as_if(prefixes, script):
    """The script as it would be for other prefixes (the fleet under test has loopback ones)."""
    lines = "".join(f"{p}\n" for p in prefixes)
    script.write_text(re.sub(r"^routes=\(\n.*?^\)", f"routes=(\n{lines})", script.read_text(),
                             flags=re.S | re.M))


@pytest.fixture
def script(nl6, tmp_path):
    path = fetch(nl6(), tmp_path)
    as_if(["10.42.0.1/32", "10.42.0.2/31", "2001:db8::/64"], path)
    return path


@pytest.fixture
def host(tmp_path):
    """host(name, {file: text}): an environment in which the script writes below a folder."""
    def make(files, commands=()):
        root, bin_ = tmp_path / "root", tmp_path / "bin"
        for name, text in {"etc/os-release": 'ID=debian\n', **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        bin_.mkdir(exist_ok=True)
        for name, text in {"ip": IP, **dict(commands)}.items():
            (bin_ / name).write_text(text)
            (bin_ / name).chmod(0o755)
        return root, {"PATH": f"{bin_}:/usr/sbin:/usr/bin:/sbin:/bin", "ROUTES_ROOT": str(root)}
    return make


def run(script, *arguments, env=None, prefix=()):
    return subprocess.run([*prefix, "bash", str(script), *arguments], capture_output=True, text=True,
                          env=env or {"PATH": os.environ["PATH"]}, timeout=60)


def test_script_is_sound(script):
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for bad in ([], ["1", "--temporary", "x"], ["192.0.2.9", "--for-ever"]):
        done = run(script, *bad)
        assert (done.returncode, done.stderr[:6]) == (1, "usage:")


def test_loopback_fleets_have_no_routes(fleet, tmp_path):
    path = fetch(fleet(300), tmp_path)
    assert routes_of(path) == []
    done = run(path, "192.0.2.9")
    assert done.returncode == 1 and "loopback" in done.stderr


V4 = ["10.42.0.1/32", "10.42.0.2/31"]
NETPLAN = {"etc/netplan/50-cloud.yaml": "network: {}\n"}
NETWORKD = {"etc/systemd/network/10-lan.network": "[Match]\nName=eth7\n"}


@pytest.mark.parametrize("files, written, holds", [
    (NETPLAN, "etc/netplan/99-simulator-routes-v4.yaml",
     ["    eth7:\n", *(f'- {{to: "{p}", via: "192.0.2.9"}}' for p in V4)]),
    (NETWORKD, "etc/systemd/network/10-lan.network.d/50-simulator-routes-v4.conf",
     [f"[Route]\nDestination={p}\nGateway=192.0.2.9\n" for p in V4]),
    ({"etc/network/interfaces": "auto eth7\n"}, "etc/network/if-up.d/simulator-routes-v4",
     ['[ "$IFACE" = "eth7" ]', *(f"route replace {p} via 192.0.2.9 dev eth7" for p in V4)]),
    ({"etc/os-release": 'ID="rocky"\nID_LIKE="rhel"\n',
      "etc/sysconfig/network-scripts/route-eth7": "10.0.0.0/8 via 192.0.2.1 dev eth7\n"},
     "etc/sysconfig/network-scripts/route-eth7",
     ["10.0.0.0/8 via 192.0.2.1 dev eth7\n", *(f"{p} via 192.0.2.9 dev eth7\n" for p in V4)]),
    ({"etc/os-release": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
      "etc/sysconfig/network/routes": "default 192.0.2.1 - -\n"},
     "etc/sysconfig/network/routes",
     ["default 192.0.2.1 - -\n", *(f"{p} 192.0.2.9 - eth7\n" for p in V4)]),
], ids=["netplan", "networkd", "ifupdown", "redhat", "suse"])
def test_routes_become_permanent(script, host, files, written, holds):
    root, env = host(files)
    before = {p: p.read_text() for p in root.rglob("*") if p.is_file()}
    done = run(script, "192.0.2.9", env=env)
    assert done.returncode == 0, done.stderr
    assert "1 routes are of the other IP version" in done.stdout
    text = (root / written).read_text()
    assert all(part in text for part in holds), text
    assert "2001" not in text
    # The same again changes nothing; taking it away restores what was there.
    assert run(script, "192.0.2.9", env=env).returncode == 0
    assert (root / written).read_text() == text
    done = run(script, "192.0.2.9", "--remove", env=env)
    assert done.returncode == 0, done.stderr
    after = {p: p.read_text() for p in root.rglob("*")
             if p.is_file() and not p.name.endswith(".before-simulator-routes")}
    assert after == before


def test_ipv6_routes_go_through_an_ipv6_gateway(script, host):
    root, env = host({**NETWORKD})
    assert run(script, "2001:db8:1::9", env=env).returncode == 0
    text = (root / "etc/systemd/network/10-lan.network.d/50-simulator-routes-v6.conf").read_text()
    assert re.findall(r"^Destination=(.*)$", text, re.M) == ["2001:db8::/64"]


def test_network_manager_is_asked(script, host, tmp_path):
    """On the running system, its tool standing in: once for all routes, then they are added."""
    nmcli = f"""#!/bin/sh
case "$*" in *GENERAL.CONNECTION*) echo "Wired 1" ;; *) printf '%s\\n' "$@" >{tmp_path}/asked ;; esac
"""
    _, env = host({}, {"nmcli": nmcli, "systemctl": '#!/bin/sh\n[ "$3" = NetworkManager ]\n'})
    del env["ROUTES_ROOT"]
    # As root of namespaces of its own, where no netplan is: it could write to this host's files.
    alone = ["unshare", "-Urmn", "sh", "-c",
             '[ ! -d /etc/netplan ] || mount -t tmpfs none /etc/netplan || exit 9; exec "$@"', "sh"]
    for option, sign in ([], "+"), (["--remove"], "-"):
        done = run(script, "192.0.2.9", *option, env=env, prefix=alone)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "asked").read_text().splitlines() == [
            "connection", "modify", "Wired 1", f"{sign}ipv4.routes",
            "10.42.0.1/32 192.0.2.9, 10.42.0.2/31 192.0.2.9"]
        verb = "del" if option else "replace"
        assert (tmp_path / "bin/batch").read_text().splitlines() == [
            f"route {verb} {p} via 192.0.2.9 dev eth7" for p in V4]


def test_an_unknown_host_is_told(script, host):
    _, env = host({})
    done = run(script, "192.0.2.9", env=env)
    assert done.returncode == 1 and "--temporary" in done.stderr


def test_temporary_routes_on_a_real_link(script):
    """In a network namespace of the test's own."""
    inner = f"""
set -e
ip link add left type veth peer name right
ip addr add 192.0.2.2/24 dev left
ip link set left up; ip link set right up
bash {script} 192.0.2.9 --temporary
echo "now: $(ip -o route show via 192.0.2.9 dev left | wc -l)"
bash {script} 192.0.2.9 --temporary
if bash {script} 203.0.113.9 --temporary; then exit 9; fi
ip route add 203.0.113.0/24 via 192.0.2.1
if bash {script} 203.0.113.9 --temporary; then exit 9; fi
"""
    done = subprocess.run(["unshare", "-Urn", "bash", "-c", inner], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Routes to 2 prefixes through 192.0.2.9") == 2
    assert "now: 2" in done.stdout
    assert "No way to 203.0.113.9" in done.stderr and "behind a router" in done.stderr


def test_prefixes_of_a_lab_fleet(nl6, tmp_path):
    """A fleet whose addresses can be routed to, in a network namespace of the test's own."""
    it = nl6("-no-namespace", "-run-dir", str(tmp_path / "run"), "-auto-start-ip", "10.42.0.1",
             "-auto-count", "508", "-auto-netmask", "22", "-port", "8080", "-snmp-port", "1161",
             prefix=["unshare", "-Urn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"])
    enter = ["nsenter", "-t", str(it.process.pid), "-U", "-n", "--preserve-credentials"]
    got = subprocess.run([*enter, "curl", "-sS", "http://127.0.0.1:8080/api/v1/devices/routes"],
                         capture_output=True, text=True, timeout=60)
    path = tmp_path / "lab.sh"
    path.write_text(got.stdout)
    prefixes = [ipaddress.ip_network(p) for p in routes_of(path)]
    first, last = ipaddress.ip_address("10.42.0.1"), ipaddress.ip_address("10.42.1.252")
    assert prefixes == list(ipaddress.summarize_address_range(first, last)), got.stderr
