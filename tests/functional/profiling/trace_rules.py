"""What must be true of Trace Event JSON (the object format), and of ours beyond it."""

import json

CPUS_PID = 4194305


class Row:
    """The events of one (pid, tid), in the order of the file."""

    def __init__(self, name):
        self.name, self.open, self.slices = name, [], []

    def add(self, event):
        ph, name, ts = event["ph"], event["name"], event["ts"]
        if ph == "B":
            self.open.append((name, ts))
        elif ph == "E":
            assert self.open, f"{self.name}: {name} ends and never began"
            begun_name, begun = self.open.pop()
            assert begun_name == name, f"{self.name}: {name} ends within {begun_name}"
            self.slices.append((begun, ts, "label", name, event))
        else:
            assert ph == "X" and event["dur"] >= 0, event
            self.slices.append((ts, ts + event["dur"], event["cat"], name, event))

    def check_nesting(self):
        """No slice begins within another and ends after it."""
        assert not self.open, f"{self.name}: {self.open} never end"
        stack = []
        for begin, end, _, name, _ in sorted(self.slices, key=lambda s: (s[0], -s[1])):
            while stack and stack[-1] <= begin:
                stack.pop()
            # Times are told to the nanosecond as microseconds.
            assert not stack or end <= stack[-1] + 1e-3, f"{self.name}: {name} at {begin}"
            stack.append(end)

    def of(self, cat):
        return [s for s in self.slices if s[2] == cat]

    def labels(self):
        return {s[3] for s in self.of("label")}

    def time(self, cat):
        return sum(end - begin for begin, end, *_ in self.of(cat))


class Trace:
    """Parses and checks; rows by name."""

    def __init__(self, text):
        self.data = json.loads(text)
        assert list(self.data) == ["displayTimeUnit", "otherData", "traceEvents"]
        assert self.data["displayTimeUnit"] in ("ms", "ns")
        self.about = self.data["otherData"]
        self.threads, self.cpus, self.meta = {}, {}, {}
        rows, last = {}, 0
        for event in self.data["traceEvents"]:
            assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
            assert isinstance(event["name"], str) and event["name"], event
            key = event["pid"], event["tid"]
            if event["ph"] == "M":
                (value,) = event["args"].values()
                self.meta.setdefault(event["name"], []).append(value)
                if event["name"] == "thread_name":
                    assert key not in rows, f"two names of {key}"
                    rows[key] = Row(value)
                continue
            assert event["ts"] >= last, f"{event} is earlier than what is before it"
            last = event["ts"]
            rows[key].add(event)  # which has a name
        self.end = last
        for (pid, tid), row in rows.items():
            row.check_nesting()
            group = self.cpus if pid == CPUS_PID else self.threads
            group[tid] = row
        self.check_processors()

    def check_processors(self):
        """A processor runs one thread at a time, and no thread that is off it."""
        for row in self.cpus.values():
            ends = 0
            for begin, end, *_ in row.slices:
                assert begin >= ends - 1e-3, f"{row.name}: two threads at {begin}"
                ends = end
        for row in self.threads.values():
            ends = 0
            for begin, end, *_ in row.of("off cpu"):
                assert begin >= ends - 1e-3, f"{row.name}: off twice at {begin}"
                ends = end

    def thread(self, name):
        (row,) = [r for r in self.threads.values() if r.name == name]
        return row
