"""What leaves the agents of all types is what docs/oids.md lists: object, syntax, number of types."""

import re
from collections import Counter
from contextlib import closing

from asker import Asker
from program import ROOT

TYPES = 29
TAGS = {
    "Counter32": 0x41, "Counter64": 0x46, "Gauge32": 0x42, "TimeTicks": 0x43, "TimeStamp": 0x43,
    "IpAddress": 0x40, "OBJECT IDENTIFIER": 0x06,
    "DisplayString": 0x04, "PhysAddress": 0x04, "StringType": 0x04,
    "SnmpEngineID": 0x04,
    "INTEGER": 0x02, "Integer32": 0x02, "InterfaceIndex": 0x02, "IANAifType": 0x02,
    "TruthValue": 0x02, "RowStatus": 0x02,
}


def listed():
    """Number of the object: name, tag, how many types serve it."""
    found = {}
    for line in (ROOT / "docs/oids.md").read_text().splitlines():
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if len(cells) == 6 and cells[1].startswith("`"):
            name, number, syntax, _, _, types = cells
            syntax = re.sub(r" \(.*", "", syntax)
            found[number.strip("`")] = (name, TAGS[syntax],
                                        TYPES if types == "all" else int(types))
    return found


def object_of(name, objects):
    """The number of the listed object that the name is an instance of."""
    arcs = name.split(".")
    for n in range(len(arcs) - 1, 0, -1):
        if ".".join(arcs[:n]) in objects:
            return ".".join(arcs[:n])
    return None


def test_tags_and_objects_are_as_documented(fleet, net):
    objects = listed()
    assert len(objects) > 90
    program = fleet(TYPES)
    served = Counter()
    for i in range(1, TYPES + 1):
        with closing(Asker(net.address(i), program.snmp_port)) as ask:
            seen = set()
            for one in ask.walk(repetitions=1000):
                number = object_of(one.name, objects)
                assert number, f"{one.name} is not listed"
                assert one.tag == objects[number][1], f"{one.name}: {one.tag:#x}"
                seen.add(number)
            served.update(seen)
    assert dict(served) == {number: types for number, (_, _, types) in objects.items()}
