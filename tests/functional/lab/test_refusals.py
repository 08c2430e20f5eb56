"""Refusals tell what is in the way by name, and change nothing."""

import pytest

from apart import Refused


def refused(d, *words):
    with pytest.raises(Refused) as e:
        d(*words)
    return e.value


@pytest.fixture(params=[False, True], ids=["namespace", "no-namespace"])
def driver(request, host, outside):
    host.sh("ip route add 10.50.0.0/24 via 192.0.2.7;"
            "ip route add 10.51.0.0/16 nexthop via 192.0.2.8 dev eth0 nexthop via 192.0.2.9 dev eth0;"
            "ip -6 route add 2001:db8:50::/48 via 2001:db8:1::2")
    host.before = host.snapshot()
    it = host.driver(no_namespace=request.param)
    yield it
    it.stop()
    assert host.snapshot() == host.before


@pytest.mark.parametrize("first, last, text", [
    ("192.0.2.0", "192.0.2.3", "covers 192.0.2.1, an address of this host (eth0)"),
    ("192.0.2.1", "192.0.2.1", "covers 192.0.2.1, an address of this host (eth0)"),
    ("192.0.2.7", "192.0.2.7", "covers 192.0.2.7, a gateway of this host (eth0)"),
    ("192.0.2.9", "192.0.2.10", "covers 192.0.2.9, a gateway of this host (eth0)"),
    ("192.0.2.128", "192.0.2.255", "covers 192.0.2.255, a broadcast address of this host (eth0)"),
    ("10.49.0.0", "10.50.0.255", "covers 10.50.0.0/24, which has a route (eth0)"),
    ("2001:db8:1::1", "2001:db8:1::1", "covers 2001:db8:1::1, an address of this host (eth0)"),
    ("2001:db8:1::2", "2001:db8:1::2", "covers 2001:db8:1::2, a gateway of this host (eth0)"),
    ("2001:db8:40::", "2001:db8:60::", "covers 2001:db8:50::/48, which has a route (eth0)"),
])
def test_what_the_host_uses(driver, first, last, text):
    e = refused(driver, "add", first, last)
    whole = first if first == last else f"{first}-{last}"
    assert (e.errno, e.text) == (17, f"{whole} {text}")


def test_less_specific_routes_do_not_matter(driver):
    driver("add", "10.50.0.1", "10.50.0.200")
    driver("add", "192.0.2.32", "192.0.2.63")


def test_resolvers(host):
    host.sh("printf 'nameserver 10.42.0.53\\nnameserver 127.0.0.53\\nnameserver 2001:db8:42::53\\n'"
            ">/run/resolv; mount --bind /run/resolv $(readlink -f /etc/resolv.conf)")
    host.before = host.snapshot()
    d = host.driver()
    e = refused(d, "add", "10.42.0.1", "10.42.0.99")
    assert (e.errno, e.text) == (
        17, "10.42.0.1-10.42.0.99 covers 10.42.0.53, a resolver of this host")
    e = refused(d, "add", "2001:db8:42::53", "2001:db8:42::53")
    assert e.text == "2001:db8:42::53 covers 2001:db8:42::53, a resolver of this host"
    d("add", "127.0.0.53", "127.0.0.53")
    d.stop()
    assert host.snapshot() == host.before


def test_collectors(host):
    d = host.driver()
    d("protect", "10.42.0.9")
    e = refused(d, "add", "10.42.0.1", "10.42.0.99")
    assert e.text == "10.42.0.1-10.42.0.99 covers 10.42.0.9, the collector of traps"
    d("unprotect", "10.42.0.9")
    d("add", "10.42.0.1", "10.42.0.99")
    e = refused(d, "protect", "10.42.0.9")
    assert e.text == "10.42.0.9, the collector of traps, is the address of a device"
    d.stop()
    assert host.snapshot() == host.before


def test_the_network_of_the_veth_pair(host, outside):
    host.sh("ip addr add 10.254.0.2/24 dev eth0")
    host.before = host.snapshot()
    d = host.driver()
    e = refused(d, "add", "10.42.0.1", "10.42.0.9")
    assert (e.errno, e.field) == (17, "-veth-net")
    assert e.text == ("the network of the veth pair 10.254.0.0-10.254.0.3 covers 10.254.0.2, "
                      "an address of this host (eth0)")
    d.stop()
    assert host.snapshot() == host.before
    d = host.driver(net="10.253.0.0/30")
    e = refused(d, "add", "10.253.0.0", "10.253.0.9")
    assert e.text == \
        "10.253.0.0-10.253.0.9 meets 10.253.0.0/30 between host and namespace (-veth-net)"
    d.stop()
    assert host.snapshot() == host.before


def test_a_second_instance_with_the_same_veth_net(host):
    a, b = host.driver(), host.driver(name="other")
    a("add", "10.42.0.1", "10.42.0.9")
    e = refused(b, "add", "10.43.0.1", "10.43.0.9")
    assert (e.errno, e.field) == (17, "-veth-net")
    assert "covers 10.254.0.1, an address of this host (veth-sim-host)" in e.text
    a.stop()
    b("add", "10.43.0.1", "10.43.0.9")
    b.stop()
    assert host.snapshot() == host.before


@pytest.mark.parametrize("how", ["ip netns add nl6sim", "mkdir /run/netns; touch /run/netns/nl6sim",
                                 "mkdir /run/netns; ln -s /proc/1/ns/net /run/netns/nl6sim"])
def test_a_namespace_of_someone_else(host, how):
    host.sh(how)
    host.before = host.snapshot()
    d = host.driver()
    e = refused(d, "add", "10.42.0.1", "10.42.0.9")
    assert (e.errno, e.field) == (17, "-namespace")
    assert e.text == "/run/netns/nl6sim exists and is not of this nl6"
    d.stop()
    assert host.snapshot() == host.before
    other = host.driver(name="nl6two")
    other("add", "10.42.0.1", "10.42.0.9")
    other.stop()
    assert host.snapshot() == host.before


def test_ranges_that_are_none(driver):
    for first, last in (("10.42.0.9", "10.42.0.1"), ("10.42.0.1", "2001:db8::1"),
                        ("224.0.0.1", "224.0.0.9"), ("126.0.0.0", "127.0.0.1"),
                        ("fe80::1", "fe80::9")):
        assert refused(driver, "add", first, last).errno == 22


def test_settings_are_judged(host):
    for name, net, field in (("a/b", "10.254.0.0/30", "-namespace"),
                             ("", "10.254.0.0/30", "-namespace"),
                             ("nl6sim", "10.254.0.0/31", "-veth-net"),
                             ("nl6sim", "fd00::/64", "-veth-net")):
        with pytest.raises(Refused) as e:
            host.driver(name=name, net=net)
        assert (e.value.errno, e.value.field) == (22, field)
