"""A timeline as others read it: by the rules of its format, and by speedscope in a browser."""

import base64
import json
import os
import pathlib
import subprocess

import pytest

from devtools import Browser
from program import NL6, ROOT
from trace_rules import Trace

TOOLS = pathlib.Path(os.environ.get("TEST_TOOLS", NL6.parent)).resolve()
DRIVER = TOOLS / "tests/functional/profiling/timeline_driver"


def record(*arguments):
    return subprocess.run([DRIVER, *arguments], check=True, capture_output=True, text=True,
                          timeout=120).stdout


@pytest.fixture(scope="module")
def text():
    return record()


@pytest.fixture
def trace(text):
    return Trace(text)


def test_it_keeps_the_rules_of_its_format(trace):
    assert {r.name for r in trace.threads.values()} == {"main", "trap-0", "flow-0", "flow-1"}
    assert trace.meta["process_name"][0] == "nl6"
    assert trace.about["dropped_events"] == trace.about["lost_scopes"] == 0
    assert trace.end <= trace.about["duration_us"]


def test_every_thread_shows_its_label_all_the_time(trace):
    for row in trace.threads.values():
        outer = [s for s in row.of("label")
                 if not any(o[0] <= s[0] and s[1] <= o[1] and o is not s
                            for o in row.of("label"))]
        for before, after in zip(outer, outer[1:]):
            assert after[0] - before[1] < 1, row.name
    assert trace.thread("main").labels() == {"main"}
    assert trace.thread("trap-0").labels() == {"trap", "syslog"}
    assert {"flow", "trap", "syslog"} <= trace.thread("flow-0").labels()


def test_nested_scopes_lie_in_each_other(trace):
    row = trace.thread("flow-0")
    traps = [s for s in row.of("label") if s[3] == "trap"]
    for begin, end, *_ in (s for s in row.of("label") if s[3] == "syslog"):
        assert any(t[0] <= begin and end <= t[1] for t in traps)


def test_threads_leave_their_processor_for_a_reason(trace):
    """Where perf is permitted; where not, the file says so."""
    state = trace.about["switches"]
    assert trace.meta["process_labels"] == [f"context switches: {state}"]
    rows = [trace.thread(name) for name in ("trap-0", "flow-0")]
    if not state.startswith("recorded"):
        assert state.startswith("not permitted (E")
        assert not trace.cpus and not any(row.of("off cpu") for row in rows)
        return
    for row in rows:
        off = row.of("off cpu")
        assert {s[3] for s in off} <= {"blocked", "preempted"}
        blocked = [s for s in off if s[3] == "blocked"]
        assert len(blocked) > 20
        ran = sum(s[1] - s[0] for cpu in trace.cpus.values() for s in cpu.slices
                  if s[3] == row.name)
        assert ran > 0
        # On or off: together all of the thread's time, but for what was not known at the start.
        lived = max(s[1] for s in row.slices) - min(s[0] for s in row.slices)
        assert lived * 0.9 < ran + row.time("off cpu") < lived * 1.001
        if state == "recorded":
            waits = [s[4].get("args", {}).get("wait", "") for s in blocked]
            assert any("poll" in w or "hrtimer" in w or "nanosleep" in w for w in waits), waits
        else:
            assert not any("args" in s[4] for s in off)


@pytest.fixture(scope="module")
def speedscope():
    folder = ROOT / "build-test/speedscope"
    subprocess.run([ROOT / ".ci/speedscope", folder], check=True, timeout=600)
    return folder / "package/dist/release/index.html"


@pytest.fixture
def page():
    browser = Browser()
    it = browser.page()
    yield it
    it.close()
    browser.close()


def test_speedscope_opens_it(text, trace, speedscope, page, tmp_path):
    script = tmp_path / "load.js"
    data = base64.b64encode(text.encode()).decode()
    script.write_text(f"speedscope.loadFileFromBase64('trace.json', {json.dumps(data)})")
    page.open(f"{speedscope.as_uri()}#localProfilePath={script}")
    rows = len(trace.threads) + len(trace.cpus)
    page.wait(f"document.body.innerText.includes('/{rows})')")
    titles = []
    for i in range(1, rows + 1):  # the key n shows the next row
        page.wait(f"document.body.innerText.includes('({i}/{rows})')")
        titles.append(page.js("document.body.innerText"))
        page.js("window.dispatchEvent(new KeyboardEvent('keypress', {key: 'n'}))")
    for row in trace.threads.values():
        assert any(f"{row.name} (tid" in title for title in titles), titles
    # A machine without a graphics card has warnings about that alone; nobody else was asked.
    assert [e for e in page.errors if not e.startswith("rendering:")] == []
    assert all(url.startswith(("file:", "data:", "blob:")) for _, url in page.requests)
