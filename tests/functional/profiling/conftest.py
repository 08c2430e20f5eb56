import pytest

from pyroscope_peer import Pyroscope


@pytest.fixture
def pyroscope():
    """Starts servers: pyroscope(base="", ...). One that got anything wrong fails the test."""
    running = []

    def start(**more):
        running.append(Pyroscope(**more))
        return running[-1]

    yield start
    faults = []
    for it in running:
        try:
            it.close()
        except AssertionError as e:
            faults.append(str(e))
    assert faults == []
