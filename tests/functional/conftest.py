import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from program import Net, Program, forget_snmp_env  # noqa: E402


@pytest.fixture
def net():
    """A 127.N/16 that no other test has."""
    it = Net()
    yield it
    it.close()


@pytest.fixture
def nl6(net, tmp_path):
    """Starts programs: nl6("-flag", ..., env={}), each on ports of its own, ready to be asked.
    They are stopped when the test ends; one that ends badly fails it."""
    running = []

    def start(*flags, **more):
        flags = [str(f) for f in flags]
        given = {f.split("=")[0].lstrip("-") for f in flags if f.startswith("-")}
        ports = [x for f in ("port", "snmp-port") if f not in given for x in ("-" + f, "0")]
        it = Program.__new__(Program)
        running.append(it)
        it.__init__(net, tmp_path / f"nl6-{len(running)}", [*ports, *flags], **more)
        return it

    yield start
    faults = []
    for it in running:
        try:
            if hasattr(it, "process"):
                it.stop()
        except AssertionError as e:
            faults.append(str(e))
    assert faults == []


@pytest.fixture
def fleet(nl6, net):
    """fleet(count, *flags): a program with count devices of all types from 127.N.0.1 on."""
    def start(count, *flags, **more):
        return nl6("-auto-start-ip", net.address(), "-auto-count", str(count),
                   "-auto-round-robin", *flags, **more)
    return start


@pytest.fixture
def otlp():
    """Starts receivers of traces and profiles: otlp(any_kind=False, ...). One that got anything
    wrong fails the test."""
    from otlp_peer import Otlp  # what it needs to decode is loaded by those who use it
    running = []

    def start(**more):
        running.append(Otlp(**more))
        return running[-1]

    yield start
    faults = []
    for it in running:
        try:
            it.close()
        except AssertionError as e:
            faults.append(str(e))
    assert faults == []


def pytest_sessionfinish():
    forget_snmp_env()
