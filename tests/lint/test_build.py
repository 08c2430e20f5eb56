"""What was compiled: no writable globals, every source and test listed, every table in tables.c."""

import re
import subprocess

import pytest
from source import BUILD, text, tracked

# Writable data that may live outside any object, by the name in the symbol table: base's record of
# a thread and what others read of it, its hook table, the registry of threads, the allocator's
# hook, and the state of each log call.
GLOBALS = re.compile(r"""
    nl6_self | custom_labels_current_set | otel_thread_ctx_v1 | threads_(lock|first|hooks|n) | thread_hook\w* | mem_hook\w* | waits_(hooks|session) | span_sink | log_site_(\.\d+)?
    | DW\.ref\.\w+  # the compiler's, for unwinding through cleanups
""", re.X)
SECTION = re.compile(r"^\.(data|bss|tdata|tbss)(\.(?!rel\.ro)\S+)?$|^\*COM\*$")


def writable(archive):
    """(symbol, section) of every object in writable memory of an archive."""
    out = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True, text=True,
                         errors="replace").stdout
    for line in out.splitlines():
        parts = re.match(r"^[0-9a-f]{16} .{7} (\S+)\t([0-9a-f]{16}) +(?:\.hidden )?(\S+)$", line)
        if parts and int(parts[2], 16) and SECTION.match(parts[1]) and parts[3] != parts[1]:
            yield parts[3], parts[1]


def test_no_writable_globals():
    archives = [BUILD / "src/libnl6core.a", BUILD / "src/libnl6wire.a",
                BUILD / "src/base/libnl6hook.a"]
    found = [(s, where) for a in archives for s, where in writable(a)]
    assert any(s == "nl6_self" for s, _ in found), "the check sees nothing"
    assert [f for f in found if not GLOBALS.fullmatch(f[0])] == []


def test_libraries_use_our_allocator():
    out = subprocess.run(["readelf", "-W", "--dyn-syms", BUILD / "nl6"], check=True,
                         capture_output=True, text=True).stdout
    ours = set(re.findall(r" GLOBAL DEFAULT +\d+ (\w+)$", out, re.M))
    assert ours >= {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign",
                    "aligned_alloc", "posix_memalign", "valloc", "pvalloc"}


def listed():
    """The names of all meson.build files, each made relative to the tree."""
    names = set()
    for p in tracked("meson.build"):
        for name in re.findall(r"'([^']+\.c)'", text(p)):
            names.add(str(p.parent / name))
            names.add(str(p.parent.parent / name))
            names.add(f"tests/unit/{name}")
        for stem in re.findall(r"'(\w+-)' \+ ", text(p)):  # one file per machine
            names.update(str(f) for f in tracked(".c")
                         if f.parent == p.parent and f.name.startswith(stem))
    return names


def test_every_source_is_built():
    known = listed()
    missing = [str(p) for p in tracked(".c")
               if p.parts[0] in ("src", "tests", "bench") and str(p) not in known]
    assert missing == []


def is_of_nl6(p):
    """Not of tables.c itself, nor of another program, which has a list of its own."""
    return p.parts[0] == "src" and str(p) != "src/tables.c" and p.parts[:2] != ("src", "tools")


def definitions(kind):
    """Tables of a kind that are defined in src, name to file."""
    found = {}
    for p in tracked(".c"):
        if is_of_nl6(p):
            for name in re.findall(rf"^const struct {kind} (\w+)\[\]", text(p), re.M):
                found[name] = str(p)
    return found


def hidden(kind):
    return [str(p) for p in tracked(".c") if is_of_nl6(p)
            and re.search(rf"^static const struct {kind} \w+\[\]", text(p), re.M)]


def check_tables(kind):
    tables, defined = text("src/tables.c"), definitions(kind)
    unlisted = {n: f for n, f in defined.items() if not re.search(rf"\b{n}\b", tables)}
    assert unlisted == {} and hidden(kind) == []
    return defined


def test_every_table_of_flags_is_listed():
    assert "lab_flags" in check_tables("flag")


def test_every_table_of_counters_is_listed():
    check_tables("counter")


def test_every_table_of_routes_is_listed():
    check_tables("route")


@pytest.mark.parametrize("tool", ["nl6-check", "nl6-pprof-link"])
def test_every_table_of_flags_of_a_tool_is_listed(tool):
    source = text(f"src/tools/{tool}/conf.c")
    tables = re.findall(r"^static const struct flag (\w+)\[\]", source, re.M)
    sets = source[source.index("const struct flag_set"):]
    assert tables and [t for t in tables if f"{{{t}," not in sets] == []
