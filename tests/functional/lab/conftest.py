import pytest

from apart import Host


@pytest.fixture
def hosts():
    """hosts() makes one more host; all end with the test."""
    made = []

    def make():
        made.append(Host(made[0] if made else None))
        return made[-1]

    yield make
    for it in reversed(made):
        it.close()


@pytest.fixture
def host(hosts):
    """A host whose network must be at the end of the test as it was when the test began."""
    it = hosts()
    it.before = it.snapshot()
    yield it


@pytest.fixture
def outside(hosts, host):
    """Another host on the same cable, which sends what is for 10.42/16 and 2001:db8:42::/48 to
    host."""
    it = hosts()
    host.connect(it, "192.0.2.1", "192.0.2.2", v6="2001:db8:1")
    it.sh("ip route add 10.42.0.0/16 via 192.0.2.1;"
          "ip route add 2001:db8:42::/48 via 2001:db8:1::1")
    host.before = host.snapshot()
    yield it
