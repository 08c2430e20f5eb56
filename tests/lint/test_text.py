"""Rules of form: length of files, layout, words, scripts."""

import re
import subprocess

from source import ROOT, text, tracked

CODE = (".c", ".h", ".py", ".js", ".css", ".html", ".sh")
SCRIPTS = ["test", "run", ".ci/run", ".ci/packages", "bench/run"]


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
