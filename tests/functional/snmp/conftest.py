import pytest

from asker import Asker


@pytest.fixture
def asker(net):
    """asker(program, i=1): a client of the i-th device."""
    made = []

    def make(program, i=1, address=None):
        made.append(Asker(address or net.address(i), program.snmp_port))
        return made[-1]

    yield make
    for it in made:
        it.close()
