"""-profiling-kernel: stacks in the kernel and the names of waits where privileges allow them, and
the reason where not. The capabilities that are kept for it."""

import pathlib
import re
import threading

from pprof_judge import judge
from test_gate import pull_only
from trace_rules import Trace

KEPT = 1 << 38 | 1 << 34  # CAP_PERFMON, CAP_SYSLOG
NONE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def effective(task):
    status = pathlib.Path(task, "status").read_text()
    return int(re.search(r"CapEff:\s+(\w+)", status)[1], 16)


def capabilities(it):
    """What the threads have, but for the lab's."""
    return {effective(task) for task in it.tasks()
            if (task / "comm").read_text().strip() != "lab-0"}


class Load:
    """Requests, one after the other, until it is left."""

    def __init__(self, it):
        self.it, self.leave = it, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.leave.is_set():
            self.it.get("/health")

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.leave.set()
        self.thread.join()


def captured(it):
    """A CPU profile and a trace under load, and what the status says of the kernel."""
    state = pull_only(it)["sampler"]["kernel_stacks"]
    with Load(it):
        profile = judge(it.get("/debug/pprof/profile?seconds=2").body)
        trace = Trace(it.get("/debug/pprof/trace?seconds=1").text)
    return state, profile, trace


def kernel_samples(profile):
    return [s for s in profile.samples if s.frames[0].address >= 1 << 63]


def test_without_the_flag_nothing_is_kept_or_sampled(fleet):
    it = fleet(10, "-profiling-cpu-rate", "1000")
    assert capabilities(it) == {0}
    state, profile, trace = captured(it)
    assert state == "not asked for"
    assert not kernel_samples(profile)
    assert trace.about["switches"].startswith(("recorded, without the wait", "not permitted"))
    assert trace.thread("snmp-0").labels() == {"snmp"}
    assert trace.thread("main").labels() == {"main"}
    if trace.about["switches"].startswith("recorded"):  # who waits for signals sleeps throughout
        assert trace.thread("main").time("off cpu") > 0.9 * trace.about["duration_us"]
    assert "api" in {label for row in trace.threads.values() for label in row.labels()}


def test_system_calls_have_stacks_in_the_kernel(fleet):
    it = fleet(10, "-profiling-kernel", "-profiling-cpu-rate", "1000")
    assert capabilities(it) == {KEPT & effective("/proc/self")}
    state, profile, trace = captured(it)
    if state != "sampled":
        assert re.fullmatch(r"not sampled in \d+ of \d+ threads \(E\w+\)", state)
        assert "-profiling-kernel: stacks in the kernel: not sampled" in it.stderr
        return
    deep = kernel_samples(profile)
    assert len(deep) > 10
    assert "[kernel]" in [m[3] for m in profile.mappings]
    # A system call of the API's thread is seen from the kernel to the thread's entry.
    answers = [s for s in deep if s.labels.get("subsystem") == "api" and len(s.frames) > 8]
    assert answers
    for s in answers:
        addresses = [f.address for f in s.frames]
        boundary = next(i for i, a in enumerate(addresses) if a < 1 << 63)
        assert boundary > 0 and all(a < 1 << 63 for a in addresses[boundary:])
    if trace.about["switches"] == "recorded":
        waits = {s[4]["args"]["wait"] for row in trace.threads.values() for s in row.of("off cpu")
                 if "args" in s[4]}
        assert any("epoll" in w or "ep_poll" in w for w in waits), (waits, trace.about)


ELSEWHERE = "[blocked outside of our own waits]"


def test_off_cpu_holds_the_waits_of_libraries(fleet):
    """libmicrohttpd's thread waits in a call of its own, the workers in ours."""
    it = fleet(10)
    state = pull_only(it)["sampler"]["switches"]
    profile = judge(it.get("/debug/pprof/offcpu?seconds=2").body)
    elsewhere = {label: 0 for label in ("api", "snmp", "main")}
    for s in profile.with_frame(ELSEWHERE):
        elsewhere[s.labels["subsystem"]] = elsewhere.get(s.labels["subsystem"], 0) + s.values[1]
    if not state.startswith("recorded"):
        assert re.fullmatch(r"not permitted \(E\w+\)", state)
        assert not any(elsewhere.values())
        assert any(c.startswith("own waits only: perf is not permitted (E")
                   for c in profile.comments)
        return
    assert 1.5e9 < elsewhere["api"] <= profile.duration_ns
    # What is ours is not told twice: each worker waits for nearly all of the time.
    assert elsewhere["snmp"] < 0.2 * profile.total("delay", subsystem="snmp")


def test_without_privileges_it_says_why_and_goes_on(fleet):
    it = fleet(10, "-profiling-kernel", "-profiling-cpu-rate", "1000", prefix=NONE)
    state, profile, trace = captured(it)
    assert re.fullmatch(r"not sampled in (\d+) of \1 threads \((EACCES|EPERM|ENOSYS)\)", state)
    assert "-profiling-kernel: stacks in the kernel: not sampled" in it.stderr
    assert profile.total("samples") > 0 and not kernel_samples(profile)
    assert not any("args" in s[4] for row in trace.threads.values() for s in row.slices)
