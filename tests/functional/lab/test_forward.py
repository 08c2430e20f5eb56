"""The packet filter is never edited; where it may be in the way the command is told, and it helps."""

import os

import pytest

CHAINS = {
    "iptables":
        ("nft 'table ip filter { chain FORWARD { type filter hook forward priority 0; policy drop; "
         "}; }'", "iptables -I FORWARD -i L -j ACCEPT && iptables -I FORWARD -o L -j ACCEPT"),
    "nft":
        ("nft 'table inet wall { chain through { type filter hook forward priority 0; policy drop; }; }'",
         "nft insert rule inet wall through iifname L accept && "
         "nft insert rule inet wall through oifname L accept"),
    "a rule":
        ("nft 'table inet wall { chain through { type filter hook forward priority 0; policy accept; "
         "reject; }; }'", "nft insert rule inet wall through iifname L accept && "
         "nft insert rule inet wall through oifname L accept"),
}
if os.geteuid() == 0:  # in a user namespace the kernel does not tell which legacy tables are in use
    CHAINS |= {
        "iptables-legacy":
            ("iptables-legacy -P FORWARD DROP", "iptables-legacy -I FORWARD -i L -j ACCEPT && "
             "iptables-legacy -I FORWARD -o L -j ACCEPT"),
        "a legacy rule":
            ("iptables-legacy -A FORWARD -j DROP", "iptables-legacy -I FORWARD -i L -j ACCEPT && "
             "iptables-legacy -I FORWARD -o L -j ACCEPT"),
    }
RULES = "nft list ruleset; iptables-legacy-save -t filter | grep -v '^#' | sed 's/\\[.*//'; " \
        "ip6tables-legacy-save -t filter | grep -v '^#' | sed 's/\\[.*//'"


@pytest.mark.parametrize("name", CHAINS)
def test_the_command_is_told_and_works(host, outside, name):
    script, hint = CHAINS[name]
    hint = hint.replace("L", "veth-sim-host")
    host.sh(script)
    rules = host.sh(RULES)
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    port = d.echo("10.42.0.1")
    assert outside.ask("10.42.0.9", port, check=False) is None
    assert host.ask("10.42.0.9", port) == "10.42.0.9"
    assert d.status["forward_hint"] == hint
    assert host.sh(RULES) == rules
    host.sh(hint)
    assert outside.ask("10.42.0.9", port) == "10.42.0.9"
    edited = host.sh(RULES)
    assert f"to let them through: {hint}" in d.stop()
    assert host.sh(RULES) == edited


@pytest.mark.parametrize("script", [
    "true",
    "nft 'table ip filter { chain FORWARD { type filter hook forward priority 0; policy accept; }; }'",
    "nft 'table ip filter { chain INPUT { type filter hook input priority 0; policy drop; }; }'",
    "nft 'table ip6 filter { chain FORWARD { type filter hook forward priority 0; policy drop; }; }'",
    "nft 'table bridge filter { chain FORWARD { type filter hook forward priority 0; policy drop; "
    "}; }'",
    "iptables-legacy -P FORWARD ACCEPT", "ip6tables-legacy -P FORWARD DROP"])
def test_no_command_where_none_is_needed(host, outside, script):
    host.sh(script)
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    assert d.status["forward_hint"] is None
    assert outside.ask("10.42.0.9", d.echo("10.42.0.1")) == "10.42.0.9"
    assert "packet filter" not in d.stop()


CHAINS6 = {
    "nft 'table ip6 filter { chain FORWARD { type filter hook forward priority 0; policy drop; }; }'":
        "ip6tables -I FORWARD -i L -j ACCEPT && ip6tables -I FORWARD -o L -j ACCEPT",
}
if os.geteuid() == 0:
    CHAINS6["ip6tables-legacy -P FORWARD DROP"] = \
        "ip6tables-legacy -I FORWARD -i L -j ACCEPT && ip6tables-legacy -I FORWARD -o L -j ACCEPT"


@pytest.mark.parametrize("script, hint", CHAINS6.items())
def test_ipv6_has_filters_of_its_own(host, outside, script, hint):
    hint = hint.replace("L", "veth-sim-host")
    host.sh(script)
    d = host.driver()
    d("add", "2001:db8:42::1", "2001:db8:42::9")
    port = d.echo("2001:db8:42::1")
    assert d.status["forward_hint"] == hint
    assert outside.ask("2001:db8:42::9", port, check=False) is None
    host.sh(hint)
    assert outside.ask("2001:db8:42::9", port) == "2001:db8:42::9"
    d.stop()
