"""Installing: meson install, the systemd unit, the container image, ./run.

There is no container here: the steps of the Dockerfile are read from it and run outside of one, in
a copy of the tree, with /src and /out moved to folders of the test's own. The base image, users and
layers are not tested. ./run is tried in the same copy, which is built already."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import pytest
from program import NL6, ROOT, SLOW, Program

pytestmark = pytest.mark.xdist_group("install")
# Debian's tools only: what a developer has in a home of his own, a plain user cannot read.
SYSTEM = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",
          "LC_ALL": "C.UTF-8"}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def as_nobody(*command):
    if os.getuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", *command]


def instructions():
    """(word, rest) of each instruction of the Dockerfile, lines that go on joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M)
    for line in text.replace("\\\n", "").splitlines():
        if line.strip():
            yield line.split(None, 1)


class Image:
    """What the Dockerfile says, and where the test's copies of its folders are."""

    def __init__(self, folder):
        self.src, self.out = folder / "src", folder / "out"
        self.stages, self.env = [], {}
        for word, rest in instructions():
            if word == "FROM":
                self.stages.append([])
            self.stages[-1].append((word, rest))
            if word == "ENV":
                self.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))

    def of(self, stage, word):
        return [rest for w, rest in self.stages[stage] if w == word]

    def build(self):
        self.src.mkdir()
        names = run("git", "ls-files", "--cached", "--others", "--exclude-standard",
                    cwd=ROOT).splitlines()
        for name in filter(lambda n: (ROOT / n).is_file(), names):
            (self.src / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.src / name)
        for step in self.of(0, "RUN"):
            run("sh", "-euc", step.replace("/out", str(self.out)), cwd=self.src, env=SYSTEM)


@pytest.fixture(scope="module")
def image():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nl6-image-", dir="/tmp"))
    folder.chmod(0o755)
    it = Image(folder)
    it.build()
    if os.getuid() == 0:
        run("chown", "-R", "65534:65534", folder)
    yield it
    shutil.rmtree(folder)


def test_the_image_is_of_debian_12_and_of_packages_txt(image):
    assert [s[0][1].split()[0] for s in image.stages] == ["debian:12-slim"] * 2
    assert any(".ci/packages run build" in step for step in image.of(0, "RUN"))
    assert any(".ci/packages run" in step for step in image.of(1, "RUN"))
    assert "apt-get" not in (ROOT / "Dockerfile").read_text()
    assert image.of(1, "USER") == ["nl6"]


def test_the_image_has_every_installed_file(image):
    found = {str(p.relative_to(image.out)) for p in image.out.rglob("*") if p.is_file()}
    for name in ("usr/bin/nl6", "usr/share/man/man1/nl6.1", "usr/share/nl6/devices/asr9k.json",
                 "usr/share/nl6/web/index.html", "usr/lib/systemd/system/nl6.service",
                 "usr/share/bash-completion/completions/nl6.bash",
                 "usr/share/zsh/site-functions/_nl6",
                 "usr/share/fish/vendor_completions.d/nl6.fish"):
        assert name in found
    devices = {p.name for p in (ROOT / "devices").glob("*.json")}
    assert devices == {p.name for p in (image.out / "usr/share/nl6/devices").glob("*.json")}
    assert not any("nl6-docs" in name or name.endswith((".a", ".h")) for name in found)


def test_the_image_runs_as_its_user_on_all_addresses_and_is_healthy(image, nl6):
    assert image.env["NL6_LISTEN"] == "0.0.0.0"
    [entry] = image.of(1, "ENTRYPOINT")
    binary = image.out / json.loads(entry)[0].lstrip("/")
    it = nl6(binary=binary, prefix=as_nobody(), env=image.env)
    assert len(it.get("/api/v1/resources").data) == 29
    assert "<html" in it.get("/").text
    [health] = image.of(1, "HEALTHCHECK")
    check = json.loads(health[health.index("CMD") + 4:])
    ok = subprocess.run(check, env={"PATH": os.environ["PATH"], "NL6_PORT": str(it.api_port)})
    assert ok.returncode == 0
    it.stop()
    gone = subprocess.run(check, env={"PATH": os.environ["PATH"], "NL6_PORT": str(it.api_port)},
                          capture_output=True)
    assert gone.returncode != 0


def test_libraries_of_the_program_are_those_of_the_run_section(image):
    """Every library that the program asks for itself comes from a package of packages.txt, or from
    libc, which every Debian has."""
    needed = re.findall(r"NEEDED +(\S+)", run("objdump", "-p", image.out / "usr/bin/nl6"))
    packages = run(ROOT / ".ci/packages", "-l", "run").split()
    files = run("dpkg", "-L", "libc6", *packages).split()
    names = {pathlib.Path(f).name for f in files}
    assert needed and [n for n in needed if n not in names] == []


def test_the_unit_is_valid_and_hardened(image, tmp_path):
    unit = tmp_path / "nl6.service"
    text = (image.out / "usr/lib/systemd/system/nl6.service").read_text()
    assert "ExecStart=/usr/bin/nl6\n" in text
    unit.write_text(text.replace("/usr/bin/nl6", str(image.out / "usr/bin/nl6")))
    run("systemd-analyze", "verify", "--man=no", unit)
    run("systemd-analyze", "security", "--offline=true", "--threshold=30", unit)


def start_run(image, nl6, *flags, env=None):
    return nl6(*flags, binary=image.src / "run", prefix=as_nobody(), env=SYSTEM | (env or {}))


def said(it, count):
    """The next lines of ./run, without the empty ones."""
    lines = []
    while len(lines) < count:
        line = it.read_line(30)
        lines += [line] if line else []
    return lines


def test_run_starts_a_thousand_mixed_devices_for_a_plain_user(image, nl6):
    it = start_run(image, nl6)
    status = it.get("/api/v1/status").data
    assert status["total_devices"] == 1000
    types = {d["resource_file"] for d in it.get("/api/v1/devices?limit=100").data}
    assert len(types) == 29
    lines = said(it, 5)
    assert lines[0] == "Try:"
    commands = [line.strip() for line in lines[1:4]]
    assert commands[0] == f"snmpwalk -v2c -c public 127.10.0.1:{it.snmp_port} 1.3.6.1.2.1.1"
    walk = run(*shlex.split(commands[0]))
    assert "1.3.6.1.2.1.1.1.0" in walk.replace("iso", "1")
    assert json.loads(run(*shlex.split(commands[1]), "-s"))["success"] is True
    assert commands[2] == f"xdg-open http://127.0.0.1:{it.api_port}/"


def test_run_gives_the_fleet_up_only_for_auto_flags(image, nl6, net):
    it = start_run(image, nl6, "-seed", "5", "--log-level=debug")
    assert it.get("/api/v1/status").data["total_devices"] == 1000
    it.stop()
    it = start_run(image, nl6, "-auto-start-ip", net.address(), "--auto-count=3")
    assert it.get("/api/v1/status").data["total_devices"] == 3
    assert f" {net.address()}:{it.snmp_port} " in said(it, 2)[1]
    it.stop()
    it = start_run(image, nl6, env={"NL6_AUTO_START_IP": net.address(), "NL6_AUTO_COUNT": "4"})
    assert it.get("/api/v1/status").data["total_devices"] == 4
    it.stop()
    conf = image.src / "lab.conf"
    conf.write_text(f"auto-start-ip = {net.address()}\nauto-count=6\n")
    conf.chmod(0o644)
    it = start_run(image, nl6, "-config", str(conf))
    assert it.get("/api/v1/status").data["total_devices"] == 6


def test_run_has_the_default_ports(image):
    """The ports are those of the documents; another program may hold them here, so only the command
    line is looked at."""
    done = subprocess.run(as_nobody(image.src / "run", "-bad-flag"), capture_output=True, text=True,
                          env=SYSTEM, timeout=60 * SLOW)
    assert done.returncode == 2 and "-bad-flag: unknown flag" in done.stderr
    text = (ROOT / "run").read_text()
    assert "-snmp-port 1161" in text and "-auto-start-ip 127.10.0.1 -auto-count 1000" in text
