"""What is kept, what is missing, and the ways out."""

import re

import pytest

from apart import TOOLS, Refused

NONE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
ONLY_NET_ADMIN = ["setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all"]
NO_SYS_ADMIN = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"]
NO_BIND = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-all"]

NET_ADMIN, NET_BIND_SERVICE = 1 << 12, 1 << 10


def threads(d):
    """Each thread's sets of capabilities."""
    found = {}
    for name, rest in re.findall(r"Name: (\S+) (.*?)(?= Name:| $|$)", d("caps")):
        sets = {k: int(v, 16) for k, v in re.findall(r"Cap(\w+): (\w+)", rest)}
        sets["NoNewPrivs"] = int(re.search(r"NoNewPrivs: (\d)", rest)[1])
        found[name] = sets
    return found


@pytest.mark.parametrize("ranges", [[], [("10.42.0.1", "10.42.0.9")]])
def test_one_thread_keeps_two_capabilities(host, ranges):
    d = host.driver()
    for r in ranges:
        d("add", *r)
    kept = NET_ADMIN | NET_BIND_SERVICE
    got = threads(d)
    assert set(got) == {"main", "lab-0"}
    assert got["main"] == {"Inh": 0, "Prm": 0, "Eff": 0, "Bnd": 0, "Amb": 0, "NoNewPrivs": 1}
    assert got["lab-0"] == {"Inh": 0, "Prm": kept, "Eff": kept, "Bnd": kept, "Amb": 0,
                            "NoNewPrivs": 1}
    d.stop()


@pytest.mark.parametrize("prefix, caps", [
    (NONE, "CAP_NET_ADMIN and CAP_SYS_ADMIN"), (ONLY_NET_ADMIN, "CAP_SYS_ADMIN"),
    (NO_SYS_ADMIN, "CAP_SYS_ADMIN")])
def test_what_is_missing_is_named_with_the_way_out(host, prefix, caps):
    d = host.driver(prefix=prefix)
    with pytest.raises(Refused) as e:
        d("add", "10.42.0.1", "10.42.0.9")
    assert e.value.errno == 1
    assert e.value.text == (
        f"10.42.0.1-10.42.0.9 needs a network namespace, which needs {caps}: run as root, or use "
        "a range in 127.0.0.0/8, which needs nothing")
    with pytest.raises(Refused) as e:
        d("add", "2001:db8::1", "2001:db8::1")
    assert e.value.text == (
        f"2001:db8::1 needs a network namespace, which needs {caps}: run as root, or use IPv4 "
        "devices in 127.0.0.0/8, which need nothing")
    d("add", "127.42.0.1", "127.42.0.9")
    d.stop()
    assert host.snapshot() == host.before


def test_no_namespace_needs_less(host):
    d = host.driver(no_namespace=True, prefix=ONLY_NET_ADMIN)
    d("add", "10.42.0.1", "10.42.0.9")
    assert host.ask("10.42.0.9", d.echo("10.42.0.1")) == "10.42.0.9"
    d.stop()
    d = host.driver(no_namespace=True, prefix=NONE)
    with pytest.raises(Refused) as e:
        d("add", "10.42.0.1", "10.42.0.9")
    assert e.value.text == ("10.42.0.1-10.42.0.9 needs local routes, which needs CAP_NET_ADMIN: run "
                            "as root, or use a range in 127.0.0.0/8, which needs nothing")
    d.stop()
    assert host.snapshot() == host.before


def test_low_ports(host):
    """The socket is made by a thread without privileges and bound by the one that has them, from
    another namespace."""
    d = host.driver()
    d("add", "127.42.0.1", "127.42.0.9")
    d("add", "10.42.0.1", "10.42.0.9")
    for address in ("127.42.0.1", "10.42.0.1"):
        assert d.echo(address, 161) == 161
        assert host.ask(address, 161) == address
    d.stop()
    d = host.driver(prefix=NO_BIND)
    d("add", "127.42.0.1", "127.42.0.9")
    with pytest.raises(Refused) as e:
        d.echo("127.42.0.1", 161)
    assert e.value.errno == 13
    assert e.value.text == ("UDP port 161 needs CAP_NET_BIND_SERVICE: run as root, or use a port "
                            "above 1023")
    d.stop()
    assert host.snapshot() == host.before


@pytest.mark.parametrize("xdg", [True, False])
def test_a_run_that_cannot_be_written(host, tmp_path, xdg):
    """As in a user namespace: the lock goes elsewhere, the namespace has no name."""
    home = tmp_path / "runtime"
    home.mkdir(mode=0o700)
    # The tests' own programs stay in sight, wherever they are, when /tmp is another one.
    host.sh(f"mkdir /run/netns; mount -o remount,bind,ro /run; mount --bind {TOOLS} /mnt;"
            f"mount -t tmpfs -o mode=1777 tmp /tmp; mkdir -p {home} {TOOLS};"
            f"mount --bind /mnt {TOOLS}; umount /mnt")
    host.before = host.snapshot()
    d = host.driver(env={"XDG_RUNTIME_DIR": str(home) if xdg else ""})
    d("add", "10.42.0.1", "10.42.0.9")
    status = d.status
    uid = host.sh("id -u").strip()
    assert status["lock"] == (f"{home}/nl6/nl6sim.lock" if xdg else f"/tmp/nl6-{uid}/nl6sim.lock")
    assert status["named"] is False
    note = ("the namespace has no name, because /run/netns/nl6sim cannot be made: "
            "Read-only file system")
    assert status["notes"] == [note]
    assert host.ask("10.42.0.9", d.echo("10.42.0.1")) == "10.42.0.9"
    assert note in d.stop()
    assert host.snapshot() == host.before


def test_in_a_user_namespace(host):
    """Without any privilege outside, as `unshare -Urn nl6`: the fleet answers whoever is inside."""
    d = host.driver(prefix=["unshare", "-Urn"], env={"XDG_RUNTIME_DIR": ""})
    d("add", "10.42.0.1", "10.42.0.9")
    assert d.echo("10.42.0.1", 161) == 161
    inside = [*host.enter, "nsenter", "-t", str(d.process.pid), "-U", "--preserve-credentials",
              "-n"]
    saved, host.enter = host.enter, inside
    assert host.ask("10.42.0.9", 161) == "10.42.0.9"
    host.enter = saved
    d.stop()


def test_a_directory_for_locks_can_be_given(host, tmp_path):
    d = host.driver(env={"LAB_RUN_DIR": str(tmp_path / "locks")})
    d("add", "10.42.0.1", "10.42.0.9")
    assert d.status["lock"] == str(tmp_path / "locks/nl6sim.lock")
    d.stop()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    d = host.driver(env={"LAB_RUN_DIR": str(tmp_path / "open")})
    with pytest.raises(Refused) as e:
        d("add", "10.42.0.1", "10.42.0.9")
    assert (e.value.errno, e.value.field) == (13, "-run-dir")
    d.stop()
    assert host.snapshot() == host.before
