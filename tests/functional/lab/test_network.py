"""Routes, answers, and what is left."""

import ipaddress

import pytest

from apart import Refused, until

FIRST, LAST = "10.42.0.3", "10.42.1.77"
FIRST6, LAST6 = "2001:db8:42::5", "2001:db8:42::1:7"


def covered(routes):
    """The addresses of routes as ranges, which must not overlap."""
    nets = sorted(ipaddress.ip_network(r["dst"]) for r in routes if r["dst"] != "default")
    out = []
    for net in nets:
        first, last = int(net[0]), int(net[-1])
        assert not out or first > out[-1][1], f"{net} overlaps"
        if out and out[-1][1] + 1 == first:
            out[-1][1] = last
        else:
            out.append([first, last])
    return [(ipaddress.ip_address(a), ipaddress.ip_address(b)) for a, b in out], len(nets)


def span(first, last):
    first, last = ipaddress.ip_address(first), ipaddress.ip_address(last)
    return [(first, last)], len(list(ipaddress.summarize_address_range(first, last)))


def ours(routes):
    return [r for r in routes if r.get("protocol") == "110"]


def test_routes_are_the_minimal_cover_on_both_sides(host):
    d = host.driver()
    d("add", FIRST, LAST)
    d("add", FIRST6, LAST6)
    for flag, first, last in (("-4", FIRST, LAST), ("-6", FIRST6, LAST6)):
        here = ours(host.json("ip", "-j", flag, "route"))
        there = ours(host.json("ip", "-n", "nl6sim", "-j", flag, "route", "show", "table", "local"))
        assert covered(here) == span(first, last)
        assert covered(there) == span(first, last)
        assert {r["dev"] for r in here} == {"veth-sim-host"}
        assert {(r["type"], r["dev"]) for r in there} == {("local", "lo")}
    d("del", FIRST, LAST)
    d("del", FIRST6, LAST6)
    assert ours(host.json("ip", "-j", "route")) == ours(host.json("ip", "-j", "-6", "route")) == []
    d.stop()
    assert host.snapshot() == host.before


def test_ip_netns_sees_the_namespace(host):
    d = host.driver(name="lab-7")
    d("add", FIRST, LAST)
    assert [n["name"] for n in host.json("ip", "-j", "netns")] == ["lab-7"]
    links = host.json("ip", "netns", "exec", "lab-7", "ip", "-j", "link")
    assert {x["ifname"] for x in links} >= {"lo", "veth-lab-7-ns"}
    d.stop()
    assert host.json("ip", "-j", "netns") == []
    assert host.snapshot() == host.before


@pytest.mark.parametrize("strict", [0, 1])
def test_devices_answer_from_everywhere(host, outside, strict):
    """With reverse path filtering off or strict: no setting of the host but forwarding changes."""
    host.sysctl("net/ipv4/conf/all/rp_filter", strict)
    host.before = host.snapshot()
    d = host.driver()
    d("add", FIRST, LAST)
    d("add", FIRST6, LAST6)
    port, port6 = d.echo(FIRST), d.echo(FIRST6)
    for address in (FIRST, "10.42.0.255", "10.42.1.0", LAST):
        assert host.ask(address, port) == address
        assert host.ask(address, port, namespace="nl6sim") == address
        assert outside.ask(address, port) == address
    for address in (FIRST6, "2001:db8:42::1:0", LAST6):
        assert host.ask(address, port6) == address
        assert host.ask(address, port6, namespace="nl6sim") == address
        assert outside.ask(address, port6) == address
    # Neighbours of the ranges are nobody's.
    for address in ("10.42.0.2", "10.42.1.78", "2001:db8:42::4", "2001:db8:42::1:8"):
        p = port6 if ":" in address else port
        assert outside.ask(address, p, check=False) is None
    assert host.sysctl("net/ipv4/conf/all/rp_filter") == str(strict)
    d.stop()
    assert host.snapshot() == host.before


def test_without_a_namespace(host, outside):
    d = host.driver(no_namespace=True)
    d("add", FIRST, LAST)
    d("add", FIRST6, LAST6)
    assert d.status["mode"] == "present namespace"
    for flag, first, last in (("-4", FIRST, LAST), ("-6", FIRST6, LAST6)):
        here = ours(host.json("ip", "-j", flag, "route", "show", "table", "local"))
        assert covered(here) == span(first, last)
    port, port6 = d.echo(FIRST), d.echo(FIRST6)
    for asker in (host, outside):
        assert asker.ask("10.42.0.255", port) == "10.42.0.255"
        assert asker.ask("2001:db8:42::1:0", port6) == "2001:db8:42::1:0"
    # A neighbour that takes the addresses for its own network's is answered, too.
    outside.sh("ip route replace 10.42.0.0/16 dev eth0")
    assert outside.ask("10.42.1.9", port) == "10.42.1.9"
    # Loopback is part of the same place.
    d("add", "127.42.0.1", "127.42.0.9")
    assert host.ask("127.42.0.9", port) == "127.42.0.9"
    assert host.sysctl("net/ipv4/ip_forward") == "0"
    d.stop()
    assert host.snapshot() == host.before


def test_ranges_nest_and_repeat(host):
    d = host.driver()
    d("add", "10.42.0.0", "10.42.0.255")
    d("add", "10.42.0.16", "10.42.0.31")
    d("add", "10.42.0.16", "10.42.0.31")
    port = d.echo(FIRST)
    d("del", "10.42.0.0", "10.42.0.255")
    d("del", "10.42.0.16", "10.42.0.31")
    assert host.ask("10.42.0.16", port) == "10.42.0.16"
    assert [r["dst"] for r in ours(host.json("ip", "-j", "route"))] == ["10.42.0.16/28"]
    status = d.status
    assert (status["ranges"], status["routes"]) == (1, 1)
    d("del", "10.42.0.16", "10.42.0.31")
    assert host.ask("10.42.0.16", port, check=False) is None
    d.stop()
    assert host.snapshot() == host.before


def test_two_instances_side_by_side(host, outside):
    a = host.driver()
    b = host.driver(name="another-lab", net="10.253.8.0/29")
    a("add", "10.42.0.1", "10.42.0.99")
    b("add", "10.42.1.1", "10.42.1.99")
    a("add", "2001:db8:42::1", "2001:db8:42::9")
    b("add", "2001:db8:42:1::1", "2001:db8:42:1::9")
    pa, pb = a.echo("10.42.0.1", 161), b.echo("10.42.1.1", 161)
    pa6, pb6 = a.echo("2001:db8:42::1", 161), b.echo("2001:db8:42:1::1", 161)
    assert (pa, pb, pa6, pb6) == (161, 161, 161, 161)
    for asker in (host, outside):
        for address in ("10.42.0.50", "10.42.1.50", "2001:db8:42::5", "2001:db8:42:1::5"):
            assert asker.ask(address, 161) == address
    # What one has the other does not get.
    with pytest.raises(Refused) as e:
        b("add", "10.42.0.50", "10.42.0.60")
    assert e.value.errno == 17
    assert e.value.text == "10.42.0.50-10.42.0.60 meets 10.42.0.32/27, which another nl6 has " \
        "(veth-sim-host)"
    a.stop()
    assert host.ask("10.42.1.50", 161) == "10.42.1.50"
    assert outside.ask("2001:db8:42:1::5", 161) == "2001:db8:42:1::5"
    b.stop()
    assert host.snapshot() == host.before


def test_two_instances_without_a_namespace(host):
    a = host.driver(no_namespace=True)
    b = host.driver(name="second", no_namespace=True)
    a("add", "10.42.0.1", "10.42.0.99")
    b("add", "10.42.1.1", "10.42.1.99")
    with pytest.raises(Refused) as e:
        b("add", "10.42.0.98", "10.42.0.98")
    assert e.value.errno == 17, e.value
    a.stop()
    assert covered(ours(host.json("ip", "-j", "route", "show", "table", "local"))) == \
        span("10.42.1.1", "10.42.1.99")
    b.stop()
    assert host.snapshot() == host.before


def test_a_namespace_in_use_is_refused_and_left_alone(host):
    a = host.driver()
    a("add", FIRST, LAST)
    port = a.echo(FIRST)
    living = host.snapshot()
    b = host.driver()
    with pytest.raises(Refused) as e:
        b("add", "10.43.0.1", "10.43.0.9")
    assert (e.value.errno, e.value.field) == (16, "-namespace")
    assert f"in use by process {a.process.pid}" in e.value.text
    b.stop()
    assert host.snapshot() == living
    assert host.ask(FIRST, port) == FIRST
    a.stop()
    # Now it is free.
    c = host.driver()
    c("add", "10.43.0.1", "10.43.0.9")
    c.stop()
    assert host.snapshot() == host.before


def test_loopback_needs_and_leaves_nothing(host):
    d = host.driver(prefix=["setpriv", "--bounding-set=-all", "--inh-caps=-all"])
    d("add", "127.42.0.1", "127.42.255.254")
    d("add", "::1", "::1")
    port, port6 = d.echo("127.42.0.1"), d.echo("::1")
    assert host.ask("127.42.7.7", port) == "127.42.7.7"
    assert host.ask("::1", port6) == "::1"
    assert d.status["mode"] == "loopback"
    assert host.snapshot() == host.before
    d("del", "127.42.0.1", "127.42.255.254")
    d.stop()
    assert host.snapshot() == host.before


def test_a_port_has_one_first_owner(host):
    a, b = host.driver(), host.driver(name="other", net="10.253.0.0/30")
    for d in (a, b):
        d("add", "127.42.0.1", "127.42.0.9")
    assert a.echo("127.42.0.1", 1161) == 1161
    a("join", "127.42.0.1", 1161)
    with pytest.raises(Refused) as e:
        b.echo("127.42.0.1", 1161)
    assert e.value.errno == 98
    assert e.value.text == "UDP port 1161 (IPv4) is in use by another program"
    a.stop()
    b.stop()


def test_a_host_without_ipv6_gets_an_ipv6_fleet(host):
    host.sh("for f in all default lo; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done")
    host.before = host.snapshot()
    d = host.driver()
    d("add", FIRST6, LAST6)
    port = d.echo(FIRST6)
    assert host.ask(LAST6, port) == LAST6
    d.stop()
    assert host.snapshot() == host.before


def test_a_wide_range_is_one_route(host):
    d = host.driver()
    d("add", "10.0.0.0", "10.253.255.255")
    assert d.status["routes"] == 7
    port = d.echo("10.0.0.0")
    assert host.ask("10.253.255.255", port) == "10.253.255.255"
    d.stop()
    assert host.snapshot() == host.before


def test_the_namespace_does_not_forward(host, outside):
    """What is routed to it and is no device's dies there, not between the two ends."""
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.1")
    host.sh("ip route add 10.42.9.0/24 via 10.254.0.2")
    before = int(host.sh("ip -n nl6sim -s -j link show veth-sim-ns |"
                         "jq '.[0].stats64.rx.packets'"))
    assert host.ask("10.42.9.9", 161, check=False) is None
    after = int(host.sh("ip -n nl6sim -s -j link show veth-sim-ns | jq '.[0].stats64.rx.packets'"))
    assert after - before <= 6
    host.sh("ip route del 10.42.9.0/24")
    d.stop()
    until(5, lambda: host.snapshot() == host.before, "host as before")


def test_the_pair_works_at_once(host):
    """Both ends run and no address of theirs waits for a check when the first range is there."""
    d = host.driver()
    d("add", FIRST6, LAST6)
    for where, link in (([], "veth-sim-host"), (["-n", "nl6sim"], "veth-sim-ns")):
        assert host.json("ip", *where, "-j", "link", "show", link)[0]["operstate"] == "UP"
        assert host.run("ip", *where, "-6", "addr", "show", "dev", link, "tentative").stdout == ""
    d.stop()
    assert host.snapshot() == host.before
