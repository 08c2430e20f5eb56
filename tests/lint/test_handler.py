"""What runs in the signal handler calls nothing that is not safe there: the machine code is read."""

import re
import subprocess

import pytest
from source import BUILD, NL6

# What may be called of libc: plain code without locks, memory, or thread-locals made on demand. The
# last one ends the program.
ALLOWED = {"__errno_location", "memcpy", "sigismember", "__stack_chk_fail"}
ENTRY = "on_sigprof"
OWN = re.compile(r"(on_sigprof|take_sample|ring_\w+|unwind_\w+|walker_tables|find_\w+|load|step_\w+"
                 r"|frame_address)(\.(part|constprop|isra|cold|lto_priv)\.?\d*)*")


def objdump(*options):
    return subprocess.run(["objdump", *options], check=True, capture_output=True, text=True).stdout


def functions(program):
    """Name to (calls and jumps to other functions, indirect calls)."""
    found, name = {}, None
    for line in objdump("-d", "--no-show-raw-insn", program).splitlines():
        head = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
        if head:
            name = head[1]
            found[name] = (set(), [])
            continue
        code = re.match(r"^\s+[0-9a-f]+:\s+(?:bnd |notrack )*(call|j\w+)\s+(.*)$", line)
        if not code or name is None:
            continue
        target = re.search(r"<([^+>]+)>", code[2])
        if target and target[1].partition("@")[0] != name:
            found[name][0].add(target[1])
        elif "*" in code[2] and "<" not in code[2]:
            found[name][1].append(line.strip())
    return found


def closure(found, entry):
    seen, left = {}, [entry]
    while left:
        name = left.pop()
        if name in seen or name not in found:
            continue
        seen[name] = found[name]
        left += [t for t in found[name][0]]
    return seen


@pytest.fixture(scope="module")
def handler():
    """The program's handler; a test's with the same objects while the program has none."""
    for path in (NL6, BUILD / "tests/unit/unit-profiling-sampler"):
        found = functions(path) if path.exists() else {}
        if ENTRY in found:
            return path, closure(found, ENTRY)
    raise AssertionError(f"no {ENTRY} to read")


def test_handler_calls_only_what_is_safe(handler):
    path, reached = handler
    assert any(name.startswith("unwind_walk") for name in reached), "the check sees nothing"
    assert [name for name in reached
            if not OWN.fullmatch(name) and name.partition("@")[0] not in ALLOWED] == []


def test_handler_calls_nothing_by_pointer(handler):
    path, reached = handler
    calls = [line for _, indirect in reached.values() for line in indirect if "call" in line]
    assert calls == []


def test_handler_has_no_thread_local_of_a_library(handler):
    """__tls_get_addr may allocate."""
    path, reached = handler
    assert not any("tls_get_addr" in t for calls, _ in reached.values() for t in calls)


def test_handler_needs_little_stack(handler):
    """It may run on the smallest of stacks, below a frame of the kernel's of some KiB."""
    path, reached = handler
    sizes, name = {}, None
    for line in objdump("-d", "--no-show-raw-insn", path).splitlines():
        head = re.match(r"^[0-9a-f]+ <(.+)>:$", line)
        name = head[1] if head else name
        taken = re.search(r"\ssub\s+\$0x([0-9a-f]+),%rsp", line)
        if taken and name in reached:
            sizes[name] = sizes.get(name, 0) + int(taken[1], 16)
    assert 0 < sum(sizes.values()) < 1200, sizes
