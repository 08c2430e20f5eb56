"""What the program shows to profilers outside of it, with nobody profiling inside."""

import shutil
import subprocess

import pytest

from outside import Elf, Outside
from program import NL6, ROOT

NAMES = {"custom_labels_abi_version", "custom_labels_current_set", "otel_thread_ctx_v1"}


@pytest.fixture
def outside(nl6, net):
    it = Outside(nl6("-auto-start-ip", net.address(), "-auto-count", "2").process.pid)
    yield it
    it.close()


def labels_by_name(outside):
    """What both ABIs tell of each thread: {name: (custom labels, thread context)}."""
    keys = outside.process_context()[1]["threadlocal.attribute_key_map"]

    def look(pointer):
        return outside.custom_labels(pointer), outside.thread_context(pointer, keys)
    return {name: outside.stopped(tid, look) for tid, name in outside.threads().items()}


def test_the_process_context_tells_who_it_is(outside):
    version = (ROOT / "VERSION").read_text().strip()
    resource, attributes = outside.process_context()
    assert resource == {"service.name": "nl6", "service.version": f"v{version}"}
    assert attributes == {"threadlocal.schema_version": "tlsdesc_v1_dev",
                          "threadlocal.attribute_key_map": ["subsystem"]}


def test_every_thread_shows_its_label(outside):
    assert outside.u32("custom_labels_abi_version") == 1
    found = labels_by_name(outside)
    for name, (custom, (trace, span, attributes)) in found.items():
        assert custom == attributes, name
        assert (trace, span) == (bytes(16), bytes(8)), name
    subsystems = {name: custom["subsystem"] for name, (custom, _) in found.items()}
    workers = [v for name, v in subsystems.items() if name.startswith("snmp-")]
    assert workers and set(workers) == {"snmp"}
    assert subsystems.pop("main") == "main"
    assert "api" in subsystems.values()
    assert set(subsystems.values()) <= {"snmp", "api", "main", "fleet", "lab"}


def test_the_names_outlive_strip(tmp_path):
    stripped = tmp_path / "nl6"
    shutil.copy(NL6, stripped)
    subprocess.run(["strip", "--strip-all", stripped], check=True)
    assert NAMES <= set(Elf(stripped).symbols)
