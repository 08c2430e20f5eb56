"""What a killed run leaves, and that the next one undoes it."""

import random
import subprocess
import time

import pytest

from apart import DRIVER, FULL, KILL_AT, SLOW, Refused

FLEET = ["add 10.42.0.3 10.42.1.77", "add 2001:db8:42::5 2001:db8:42::1:7", "echo 10.42.0.3 161",
         "del 10.42.0.3 10.42.1.77"]


def use(host, **more):
    """A new start: it works, and nothing is left after it."""
    d = host.driver(**more)
    d("add", "10.42.0.1", "10.42.0.9")
    d("add", "2001:db8:42::1", "2001:db8:42::9")
    port, port6 = d.echo("10.42.0.1"), d.echo("2001:db8:42::1")
    assert host.ask("10.42.0.9", port) == "10.42.0.9"
    assert host.ask("2001:db8:42::9", port6) == "2001:db8:42::9"
    log = d.stop()
    assert host.snapshot() == host.before
    return log


def only_start(host, **more):
    """A new start that gets no range: it undoes what was left, too."""
    host.driver(**more).stop()
    assert host.snapshot() == host.before


@pytest.mark.parametrize("no_namespace", [False, True])
def test_kill_at_each_step(host, tmp_path, no_namespace):
    """Before each call by which lab-0 changes something, through setup, use and undoing."""
    script = tmp_path / "commands"
    script.write_text("\n".join(FLEET) + "\n")
    command = [str(DRIVER), "nl6sim", "10.254.0.0/30", *(["no-namespace"] if no_namespace else [])]
    # A sanitized build does not change the steps: every fourth of them, another set each time.
    stride = 1 if FULL or SLOW == 1 else 4
    lives, n, dirty = 0, -random.randrange(stride), 0
    while True:
        n += stride
        with open(script) as stdin:
            done = subprocess.run([*host.enter, str(KILL_AT), str(n), *command], stdin=stdin,
                                  capture_output=True, text=True, timeout=120,
                                  env={"ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/sbin:/usr/bin"
                                       ":/sbin:/bin"})
        if done.returncode == 0:
            break
        assert done.returncode == 42, done
        dirty += host.snapshot() != host.before
        # Every restart undoes; every fourth is put to use as well.
        if FULL or lives % 4 == 0:
            use(host, no_namespace=no_namespace)
        else:
            only_start(host, no_namespace=no_namespace)
        lives += 1
    assert lives >= (30 if no_namespace else 60) // stride
    assert dirty > lives / 3
    assert host.snapshot() == host.before


def test_kill_at_random(host):
    """Twenty lives, each ended at any moment, the next one coming at once."""
    for _ in range(60 if FULL else 20):
        d = subprocess.Popen([*host.enter, str(DRIVER), "nl6sim", "10.254.0.0/30"],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        d.stdin.write(("\n".join(FLEET * 3) + "\n").encode())
        d.stdin.flush()
        time.sleep(random.uniform(0, 0.12))
        d.kill()
        d.wait()
        d.stdin.close()
    use(host)


def test_what_is_left_is_undone_at_the_start(host):
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    d.kill()
    assert host.snapshot() != host.before
    again = host.driver()
    assert host.snapshot() == host.before
    assert "undid what a killed run left (/run/nl6/nl6sim.lock)" in again.stop()


def test_another_name_leaves_it_alone(host):
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    d.kill()
    left = host.sh("cat /run/nl6/nl6sim.lock")
    host.driver(name="other", net="10.253.0.0/30").stop()
    assert host.sh("cat /run/nl6/nl6sim.lock") == left
    only_start(host)


def test_a_shell_in_the_namespace_does_not_hold_the_next_run_up(host):
    """The old namespace lives on with whoever is in it; its veth pair does not."""
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    inside = subprocess.Popen([*host.enter, "ip", "netns", "exec", "nl6sim", "sh", "-c",
                               "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert inside.stdout.readline() == b"in\n"
    d.kill()
    assert "veth-sim-host" in host.sh("ip link")
    use(host)
    inside.stdin.close()
    inside.wait(10)


def test_a_damaged_record_does_no_harm(host):
    host.sh("mkdir -m 755 /run/nl6; ip link add keep-me type veth peer name keep-too;"
            "printf 'boot x\\nnetns 7\\nlink keep-me 02:00:00:00:00:01\\n\\377\\nname /etc/passwd\\n'"
            "> /run/nl6/nl6sim.lock")
    assert "keep-me" in host.sh("ip link")
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    d.stop()
    assert "keep-me" in host.sh("ip link")
    host.sh("ip link del keep-me")
    assert host.snapshot() == host.before


def test_a_foreign_interface_of_the_name_is_left_alone(host):
    """Killed before the pair was made, and then someone made one of that name."""
    d = host.driver()
    d("add", "10.42.0.1", "10.42.0.9")
    d.kill()
    record = host.sh("cat /run/nl6/nl6sim.lock")
    host.driver().stop()
    host.sh("ip link add veth-sim-host type veth peer name keep-too")
    host.run("sh", "-c", "cat >/run/nl6/nl6sim.lock", input=record)
    host.driver().stop()
    assert "veth-sim-host" in host.sh("ip link")
    d = host.driver()
    with pytest.raises(Refused) as e:
        d("add", "10.42.0.1", "10.42.0.9")
    assert (e.value.errno, e.value.field) == (17, "-namespace")
    assert e.value.text == "the interface veth-sim-host exists and is not of this nl6"
    d.stop()
    host.sh("ip link del veth-sim-host")
    assert host.snapshot() == host.before
