"""Names of functions: of a stripped program by its debug file, and what is told without one."""

import shutil
import subprocess

import pytest

from pprof_judge import judge
from program import NL6
from test_gate import pull_only
from test_pull import pprof


@pytest.fixture
def stripped(tmp_path):
    """A stripped copy of the program with its data beside it, and its debug file, not yet there."""
    folder = tmp_path / "stripped"
    folder.mkdir()
    (folder / "share").symlink_to(NL6.parent / "share")
    program, debug = folder / "nl6", tmp_path / "nl6.debug"
    subprocess.run(["objcopy", "--only-keep-debug", NL6, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", NL6, program],
                   check=True)
    return program, debug


def main_stack(it):
    profile = judge(pprof(it, "goroutine").body, "goroutine")
    return [s for s in profile.samples if "__libc_start_main" in " ".join(s.stack)][0], profile


def test_with_its_debug_file_all_is_named(nl6, stripped):
    program, debug = stripped
    shutil.copy(debug, program.parent / debug.name)
    it = nl6(binary=program)
    pull_only(it)
    stack, profile = main_stack(it)
    assert "wait_for" in stack.stack and "main" in stack.stack
    frame = next(f for f in stack.frames if f.name == "main")
    assert frame.file.endswith("src/main.c") and frame.line > 0
    assert str(program) not in it.get("/api/v1/profiling").data["sampler"].get("no_debug_info", "")


def test_without_it_the_status_says_what_is_missing(nl6, stripped):
    program, _ = stripped
    it = nl6(binary=program)
    pull_only(it)
    profile = judge(pprof(it, "goroutine").body, "goroutine")
    # Code has a place all the same, so that the stacks stay apart and can be named elsewhere.
    unnamed = [f.name for s in profile.samples for f in s.frames if f.name.startswith("nl6!0x")]
    assert unnamed
    missing = it.get("/api/v1/profiling").data["sampler"]
    assert missing["no_debug_info"] and missing["addresses_unknown"] > 0


def test_what_has_no_name_is_called_the_same_in_each_run(nl6, stripped):
    program, _ = stripped
    names = []
    for it in nl6(binary=program), nl6(binary=program):
        pull_only(it)
        profile = judge(pprof(it, "goroutine").body, "goroutine")
        names.append({f.name for s in profile.samples for f in s.frames
                      if f.name.startswith("nl6!0x")})
    assert names[0] & names[1]


def test_a_debug_file_of_another_build_is_not_taken(nl6, stripped):
    program, debug = stripped
    other = program.parent / debug.name
    subprocess.run(["objcopy", "--only-keep-debug", "/bin/true", other], check=True)
    it = nl6(binary=program)
    pull_only(it)
    profile = judge(pprof(it, "goroutine").body, "goroutine")
    assert any(f.name.startswith("nl6!0x") for s in profile.samples for f in s.frames)
