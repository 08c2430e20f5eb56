"""Rules of form: length of files, layout, words, scripts."""

import re
import subprocess

from source import ROOT, text, tracked

CODE = (".c", ".h", ".py", ".js", ".css", ".html", ".sh")
SCRIPTS = ["test", "run", ".ci/run", ".ci/packages"]


def test_no_file_is_over_800_lines():
    long = {str(p): n for p in tracked(*CODE) if (n := text(p).count("\n")) > 800}
    assert long == {}


def test_c_is_laid_out_by_clang_format():
    files = [str(p) for p in tracked(".c", ".h")]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *files],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def test_nothing_is_left_undone():
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    found = [f"{p}:{i}" for p in tracked(*CODE, ".build", ".md")
             for i, line in enumerate(text(p).splitlines(), 1) if marks.search(line)]
    assert found == []


def test_scripts_pass_shellcheck():
    scripts = [s for s in SCRIPTS if (ROOT / s).is_file()] + [str(p) for p in tracked(".sh")]
    done = subprocess.run(["shellcheck", *scripts], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_c_headers_open_with_a_comment_and_a_guard():
    bad = [str(p) for p in tracked(".h")
           if not re.match(r"/\*.*?\*/\s*\n#pragma once\n", text(p), re.S)]
    assert bad == []


def functions(source):
    """Name and length of each function of a C file, by the brace in the first column."""
    start = None
    lines = source.splitlines()
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            yield lines[start - 1].strip(), i - start - 1
            start = None


def test_no_function_is_over_80_lines():
    long = {f"{p}: {name}": n for p in tracked(".c") for name, n in functions(text(p)) if n > 80}
    assert long == {}


def test_words_that_do_not_belong_in_the_project():
    words = re.compile(r"/wo[r]k/|[.]libr[a]ry|suba[g]ent|fa[r]m-|\bcl[a]ude\b|\bL[L]M\b", re.I)
    found = [f"{p}:{i}" for p in tracked() if not p.name.endswith((".png", ".ico", ".gz", ".bin"))
             and "corpus" not in p.parts
             for i, line in enumerate(((ROOT / p).read_text(encoding="utf-8", errors="replace")).splitlines(), 1) if words.search(line)]
    assert found == []


def test_no_test_is_skipped():
    marks = re.compile(r"ski[p](if)?\(|importorski[p]|xfai[l]|mark\.ski[p]")
    found = [f"{p}:{i}" for p in tracked(".py") if p.parts[0] in ("tests", "interop")
             for i, line in enumerate(text(p).splitlines(), 1) if marks.search(line)]
    assert found == []
