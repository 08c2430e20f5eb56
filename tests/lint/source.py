"""The tree as the lint tests see it."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked(*suffixes):
    """Files that git knows (new ones too, ignored ones not), as paths relative to ROOT."""
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted(set(filter(None, out.split("\0"))))
    return [pathlib.Path(n) for n in names
            if (not suffixes or n.endswith(suffixes)) and (ROOT / n).is_file()]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")

# The program under test; its build folder has everything else that was built.
NL6 = pathlib.Path(os.environ["TEST_NL6"])
BUILD = NL6.parent
