"""Documents that are made from the program's tables: the committed ones are fresh, the others pass
their own tools."""

import subprocess

import pytest
from source import BUILD, NL6, ROOT, text


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def made(name):
    return run(BUILD / "nl6-docs", name)


def committed():
    done = subprocess.run([BUILD / "nl6-docs"], capture_output=True, text=True)
    words = done.stderr.split()
    return [w for w, mark in zip(words, words[1:]) if mark == "(committed)"]


def test_committed_documents_are_fresh():
    names = committed()
    assert "flags.md" in names
    stale = [n for n in names if text(f"docs/{n}") != made(n)]
    assert stale == [], "run: ninja -C build docs"


def test_writing_is_the_same_as_printing(tmp_path):
    run(BUILD / "nl6-docs", "-w", tmp_path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {n: made(n) for n in committed()}


# Each program: one of its flags, the function of its completion in bash, its page of flags.
PROGRAMS = {"nl6": ("-auto-count", "_nl6", "flags.md"),
            "nl6-pprof-link": ("-trace-label", "_nl6_pprof_link", "nl6-pprof-link-flags.md"),
            "nl6-check": ("-convert", "_nl6_check", "nl6-check-flags.md")}


@pytest.fixture(params=PROGRAMS)
def program(request):
    return request.param


@pytest.fixture
def man(tmp_path, program):
    page = tmp_path / f"{program}.1"
    page.write_text(made(f"{program}.1"))
    return page


def test_man_page_passes_groff_and_mandoc(man, program):
    assert run("mandoc", "-T", "lint", "-W", "error", man) == ""
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", man], capture_output=True,
                          text=True, env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    assert (done.returncode, done.stderr) == (0, "")
    assert PROGRAMS[program][0] in done.stdout


def flags_of_help(program):
    return {line.split()[0] for line in run(NL6.parent / program, "-help").splitlines()
            if line.startswith("  -")}


def test_help_man_completion_and_docs_name_the_same_flags(man, program):
    import re
    flags = flags_of_help(program)
    assert PROGRAMS[program][0] in flags
    unescaped = man.read_text().replace("\\-", "-")
    bash = made(f"{program}.bash")
    seen = {
        "man": set(re.findall(r"^\\fB(-[a-z0-9-]+)", unescaped, re.M)),
        "bash": set(re.findall(r'-W "((?: -[a-z0-9-]+)+)"', bash)[-1].split()),
        "zsh": set(re.findall(r"^\t'\*?(-[a-z0-9-]+)\[", made(f"_{program}"), re.M)),
        "fish": {f"-{n}" for n in re.findall(r" -o ([a-z0-9-]+)", made(f"{program}.fish"))},
        "docs": set(re.findall(r"^\| `(-[a-z0-9-]+)", text(f"docs/{PROGRAMS[program][2]}"), re.M)),
    }
    assert seen == {k: flags for k in seen}


def test_completions_are_valid_in_their_shells(tmp_path, program):
    for name, shell in ((f"{program}.bash", "bash"), (f"_{program}", "zsh"),
                        (f"{program}.fish", "fish")):
        path = tmp_path / name
        path.write_text(made(name))
        run(shell, "-n", path)
    run("shellcheck", "-s", "bash", tmp_path / f"{program}.bash")


def complete_in_bash(path, words):
    function = PROGRAMS[words[0]][1]
    script = (f"source {path}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
              f"{function}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return run("bash", "-c", script).split()


def test_bash_completes_flags_and_choices(tmp_path):
    path = tmp_path / "nl6.bash"
    path.write_text(made("nl6.bash"))
    assert complete_in_bash(path, ["nl6", "-log-l"]) == ["-log-level"]
    assert complete_in_bash(path, ["nl6", "-log-level", "wa"]) == ["warn"]
    assert complete_in_bash(path, ["nl6", "-namespace", "''"]) == []
    path.write_text(made("nl6-pprof-link.bash"))
    assert complete_in_bash(path, ["nl6-pprof-link", "-format", "j"]) == ["json"]


def test_faults_of_profilers_name_tests_that_exist():
    """Every row has its number, and a test or a reason; every test named is there."""
    import re
    page = text("docs/profiling-faults.md")
    faults, tests = (re.findall(r"^\| (\d+b?) \| (.*) \|$", part, re.M)
                     for part in page.split("## Tests that"))
    assert [n for n, _ in faults] == [
        n for i in range(1, 27) for n in [str(i), *([f"{i}b"] if i in (8, 23, 25) else [])]]
    assert [n for n, _ in tests] == [str(i) for i in range(1, 19)]
    assert [row for _, row in faults + tests if "::" not in row
            and "cannot occur" not in row and "in this build" not in row] == []
    named = set(re.findall(r"`([\w./-]+)::(\w+)`", page))
    assert len(named) > 30
    assert [f"{path}::{name}" for path, name in sorted(named)
            if not (ROOT / path).is_file() or not re.search(rf"\b{name}\b", text(path))] == []
