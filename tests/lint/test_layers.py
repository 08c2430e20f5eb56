"""Includes point one way: base <- wire <- net <- {sim, profiling, trace} <- api <- main."""

import re

from source import text, tracked

BELOW = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "net": {"base", "wire", "net"},
    "sim": {"base", "wire", "net", "sim"},
    "profiling": {"base", "wire", "net", "profiling"},
    "trace": {"base", "wire", "net", "trace", "profiling"},
    "api": {"base", "wire", "net", "sim", "profiling", "trace", "api"},
}
# Of profiling, trace sees the header for finished samples alone.
TRACE_SEES = {"profiling/cpu_sink.h"}
# Folders of sim that every other folder of sim may include.
SHARED_SIM = {"fleet", "push"}
# Compiled from proto/.
MESSAGES = ".pb-c.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def upward(path, source):
    """The includes of a file (relative to src/) that its layer may not see."""
    layer, bad = path.parts[0], []
    if len(path.parts) == 1 or layer == "tools":
        return bad
    for inc in INCLUDE.findall(source):
        parts = inc.split("/")
        if layer == "trace" and inc.endswith(MESSAGES):
            continue
        if len(parts) == 1 or parts[0] not in BELOW[layer]:
            bad.append(inc)
        elif layer == "trace" and parts[0] == "profiling" and inc not in TRACE_SEES:
            bad.append(inc)
        elif layer == parts[0] == "sim":
            mine, theirs = path.parts[1], parts[1]
            if mine != theirs and theirs not in SHARED_SIM or mine == "fleet" != theirs:
                bad.append(inc)
    return bad


def sources():
    return [p for p in tracked(".c", ".h") if p.parts[0] == "src"]


def test_includes_point_one_way():
    found = {str(p): bad for p in sources()
             if (bad := upward(p.relative_to("src"), text(p)))}
    assert found == {}


def test_the_check_sees_an_upward_include():
    import pathlib
    see = lambda path, inc: upward(pathlib.Path(path), f'#include "{inc}"\n')
    assert see("base/log.c", "wire/ber.h") == ["wire/ber.h"]
    assert see("net/udp.c", "sim/fleet/fleet.h") == ["sim/fleet/fleet.h"]
    assert see("sim/snmp/agent.c", "sim/trap/trap.h") == ["sim/trap/trap.h"]
    assert see("sim/fleet/fleet.c", "sim/push/push.h") == ["sim/push/push.h"]
    assert see("sim/snmp/agent.c", "sim/fleet/fleet.h") == []
    assert see("sim/snmp/agent.c", "api/api.h") == ["api/api.h"]
    assert see("wire/ber.c", "ber.h") == ["ber.h"]
    assert see("trace/linked.c", "profiling/profile.h") == ["profiling/profile.h"]
    assert see("trace/linked.c", "profiling/cpu_sink.h") == []
    assert see("trace/linked.c", "otlp_trace.pb-c.h") == []
    assert see("wire/ber.c", "otlp_trace.pb-c.h") == ["otlp_trace.pb-c.h"]
    assert see("profiling/gate.c", "trace/tracer.h") == ["trace/tracer.h"]
    assert see("api/api.c", "sim/snmp/agent.h") == []


def test_every_folder_of_src_has_a_rank():
    folders = {p.parts[1] for p in sources() if len(p.parts) > 2}
    assert folders <= set(BELOW) | {"tools"}
