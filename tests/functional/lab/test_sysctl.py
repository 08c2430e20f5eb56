"""Forwarding is switched on, shared, and restored."""

IP_FORWARD = "net/ipv4/ip_forward"


def test_what_the_kernel_changes_along_is_restored(host, outside):
    host.sysctl("net/ipv4/conf/all/accept_redirects", 0)
    host.sysctl("net/ipv4/conf/eth0/forwarding", 1)
    host.sysctl("net/ipv6/conf/eth0/forwarding", 1)
    host.sysctl("net/ipv6/conf/default/forwarding", 1)
    host.before = host.snapshot()
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    d("add", "2001:db8:42::1", "2001:db8:42::9")
    assert host.sysctl(IP_FORWARD) == "1"
    assert host.sysctl("net/ipv6/conf/all/forwarding") == "1"
    d.stop()
    assert host.snapshot() == host.before


def test_forwarding_that_was_on_stays_on(host):
    host.sysctl(IP_FORWARD, 1)
    host.before = host.snapshot()
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    assert "sysctl" not in host.sh("cat /run/nl6/nl6sim.lock")
    d.stop()
    assert host.snapshot() == host.before


def two(host):
    a, b = host.driver(), host.driver(name="other", net="10.253.0.0/30")
    a("add", "10.42.0.1", "10.42.0.9")
    b("add", "10.43.0.1", "10.43.0.9")
    assert host.sysctl(IP_FORWARD) == "1"
    return a, b


def test_the_last_of_two_restores(host):
    a, b = two(host)
    a.stop()
    assert host.sysctl(IP_FORWARD) == "1"
    b.stop()
    assert host.snapshot() == host.before
    a, b = two(host)
    b.stop()
    assert host.sysctl(IP_FORWARD) == "1"
    a.stop()
    assert host.snapshot() == host.before


def test_a_killed_one_does_not_take_it_from_the_other(host):
    a, b = two(host)
    a.kill()
    host.driver().stop()
    assert host.sysctl(IP_FORWARD) == "1"
    b.stop()
    assert host.snapshot() == host.before


def test_the_other_restores_for_a_killed_one(host):
    a, b = two(host)
    a.kill()
    b.stop()
    assert host.sysctl(IP_FORWARD) == "0"
    host.driver().stop()
    assert host.snapshot() == host.before


def test_what_someone_changed_since_is_left(host):
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    host.sysctl(IP_FORWARD, 0)
    host.sysctl("net/ipv4/conf/all/accept_redirects", 0)
    host.sysctl("net/ipv4/conf/default/forwarding", 1)
    d.stop()
    assert host.sysctl("net/ipv4/conf/all/accept_redirects") == "0"
    assert host.sysctl("net/ipv4/conf/default/forwarding") == "1"


def test_router_advertisements_are_not_given_up(host, outside):
    """With forwarding the kernel would drop the default route it learned from a router."""
    host.sh("ip -6 route add default via fe80::7 dev eth0 proto ra")
    host.before = host.snapshot()
    d = host.driver()
    d("add", "2001:db8:42::1", "2001:db8:42::9")
    assert host.sysctl("net/ipv6/conf/all/forwarding") == "0"
    assert any("router advertisements" in n for n in d.status["notes"])
    port = d.echo("2001:db8:42::1")
    assert host.ask("2001:db8:42::9", port) == "2001:db8:42::9"
    d.stop()
    assert host.snapshot() == host.before


def test_proc_sys_may_be_read_only(host, outside):
    host.sh("mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys")
    host.before = host.snapshot()
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    port = d.echo("10.42.0.1")
    assert host.ask("10.42.0.9", port) == "10.42.0.9"
    assert outside.ask("10.42.0.9", port, check=False) is None
    notes = d.status["notes"]
    assert len(notes) == 1 and "Read-only file system" in notes[0], notes
    assert notes[0] in d.stop()
    assert host.snapshot() == host.before
