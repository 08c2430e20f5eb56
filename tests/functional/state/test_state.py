"""What survives a restart: devices, deletes and boots; and what a damaged directory does."""

import random
import shutil
import signal
import subprocess
import threading

import pytest
from asker import GET, SET, STRING, Asker, binding, message, pdu, tlv
from program import FULL, ROOT, run_once, snmp_env, until

PAGE = 4096
CONTACT, LOCATION, NAME = "1.3.6.1.2.1.1.4.0", "1.3.6.1.2.1.1.6.0", "1.3.6.1.2.1.1.5.0"
ADMIN, OPER, CHANGED = (f"1.3.6.1.2.1.2.2.1.{c}" for c in (7, 8, 9))


def devices(it):
    """Address to (id, type, name)."""
    return {d["ip"]: (d["id"], d["device_type"], d["detail"]["sys_name"], d["snmp_port"])
            for d in it.get("/api/v1/devices").data}


def state(it):
    return it.get("/api/v1/status").data["state"]


def kill(it):
    """Ends it as a crash would."""
    it.signal(signal.SIGKILL)
    it.process.wait()
    it.process.stdout.close()


@pytest.fixture
def kept(nl6, tmp_path):
    """kept(*flags): a program on the test's state directory. Restarted by the next call."""
    running = []

    def start(*flags, crash=False, **more):
        if running:
            if crash:
                kill(running[-1])
            else:
                running[-1].stop()
        running.append(nl6("-state-dir", tmp_path / "state", *flags, **more))
        return running[-1]

    yield start
    for it in running:  # those that were killed have ended as they should
        if it.process.returncode == -signal.SIGKILL:
            it.process.returncode = 0


@pytest.mark.parametrize("crash", [True, False])
def test_the_fleet_comes_back(kept, net, crash):
    it = kept()
    assert it.create(300, round_robin=True).status == 201
    assert it.create(40, first=290, netmask="16", resource_file="asr9k.json").status == 201
    assert it.create(3, first=600).status == 201
    for i in (1, 7, 8, 9, 257, 300, 301, 329, 601):
        assert it.delete(f"/api/v1/devices/{net.address(i)}").status == 200
    had = devices(it)
    assert len(had) == 300 + 29 + 3 - 9
    for _ in range(2):
        it = kept(crash=crash)
        assert devices(it) == had
        assert state(it)["not_loaded"] == []


def test_devices_of_a_restart_answer(kept, net):
    it = kept()
    it.create(5)
    name = it.get(f"/api/v1/devices/{net.address(3)}").data["detail"]["sys_name"]
    port = it.snmp_port
    it = kept("-snmp-port", str(port), crash=True)
    assert it.get_snmp("1.3.6.1.2.1.1.5.0", address=net.address(3)) == [name]


def test_all_deleted_stays_deleted(kept):
    it = kept()
    it.create(100)
    assert it.delete("/api/v1/devices").status == 200
    it.create(2, first=50)
    it = kept(crash=True)
    assert len(devices(it)) == 2


def test_batches_in_the_background_come_back(kept, net):
    it = kept()
    asked = it.post("/api/v1/devices", {"start_ip": net.address(), "device_count": 50},
                    headers={"Prefer": "respond-async"})
    assert asked.status == 202
    until(10, lambda: it.get(asked.headers["Location"]).data["state"] == "done", "end")
    it = kept(crash=True)
    assert len(devices(it)) == 50
    assert it.create(1, first=400).data["batch"]["id"] == asked.json["data"]["id"] + 1


def test_the_fleet_of_the_flags_is_made_once(kept, net):
    auto = ["-auto-start-ip", net.address(), "-auto-count", "20", "-auto-round-robin"]
    it = kept(*auto)
    had = devices(it)
    for i in (3, 20):
        it.delete(f"/api/v1/devices/{net.address(i)}")
        had = {a: d for a, d in had.items() if a != net.address(i)}
    it = kept(*auto, crash=True)
    without_port = {a: d[:3] for a, d in had.items()}
    assert {a: d[:3] for a, d in devices(it).items()} == without_port
    assert {d[3] for d in devices(it).values()} == {it.snmp_port}, "the port of all agents"
    assert len(devices(kept())) == 18, "also without the flags"
    it = kept(*auto[:3], "25", *auto[4:])
    assert len(devices(it)) == 25, "other flags are another wish"
    it.delete("/api/v1/devices")
    it = kept(*auto[:3], "25", *auto[4:])
    assert devices(it) == {}


def test_each_start_counts(kept):
    first = state(kept())["boots"]
    assert first > 3_000_000, "minutes since 2020, as without a state directory"
    for i in range(1, 4):
        assert state(kept(crash=i == 2))["boots"] == first + i


def test_a_type_that_is_gone_leaves_out_its_devices_only(kept, net, tmp_path):
    types = tmp_path / "types"
    types.mkdir()
    for name in ("mine", "other"):
        shutil.copy(ROOT / "devices/asr9k.json", types / f"{name}.json")
    it = kept("-devices", types)
    it.create(4, resource_file="mine.json")
    it.create(4, first=11, resource_file="other.json")
    it.create(2, first=21)
    (types / "mine.json").unlink()
    it = kept("-devices", types)
    assert len(devices(it)) == 6
    assert any("mine" in line for line in state(it)["not_loaded"])
    shutil.copy(ROOT / "devices/asr9k.json", types / "mine.json")
    it = kept("-devices", types)
    assert len(devices(it)) == 10 and state(it)["not_loaded"] == []


def test_one_process_has_a_directory(kept, tmp_path):
    it = kept()
    done = run_once("-state-dir", str(tmp_path / "state"), "-port", "0", "-snmp-port", "0")
    assert done.returncode == 1
    assert f"is used by another nl6, process {it.process.pid}" in done.stderr
    assert it.create(1).status == 201


def test_what_others_may_write_is_refused(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    done = run_once("-state-dir", str(folder))
    assert done.returncode == 1 and "may be written by others" in done.stderr
    done = run_once("-state-repair")
    assert done.returncode == 2 and "needs -state-dir" in done.stderr


def test_no_room_refuses_by_name_and_answers_go_on(kept, net):
    it = kept(prefix=["prlimit", "--fsize=90000:unlimited", "--"])
    it.create(2)
    n = 0
    while (made := it.create(1, first=100 + 2 * n)).status == 201:
        n += 1
        assert n < 1000
    assert made.status == 507
    assert "File too large" in made.json["message"] or "No space" in made.json["message"]
    assert len(devices(it)) == 2 + n
    gone = it.delete(f"/api/v1/devices/{net.address()}")
    assert gone.status == 507 and net.address() in devices(it)
    assert it.delete("/api/v1/devices").status == 507
    assert len(devices(it)) == 2 + n
    assert it.get_snmp("1.3.6.1.2.1.1.3.0") != []
    assert state(it)["writes"] == "fail"
    subprocess.run(["prlimit", "--pid", str(it.process.pid), "--fsize=unlimited:unlimited"], check=True)
    assert it.create(1, first=100 + 2 * n).status == 201
    assert it.delete(f"/api/v1/devices/{net.address()}").status == 200
    assert state(it)["writes"] == "work"
    had = devices(it)
    it = kept(crash=True)
    assert devices(it) == had and len(had) == 2 + n
    assert state(it)["not_loaded"] == []


def damage(path, page, draw):
    """Flips a bit of a page."""
    with open(path, "r+b") as f:
        at = page * PAGE + draw.randrange(PAGE)
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << draw.randrange(8)]))


def test_a_flipped_bit_is_told_and_refuses_writes(kept, net, tmp_path):
    it = kept()
    for i in range(300):  # a range each
        it.create(1, first=1 + 2 * i)
    had = devices(it)
    it.stop()
    file = tmp_path / "state/nl6.db"
    good = file.read_bytes()
    pages = len(good) // PAGE
    assert pages > 8
    draw = random.Random(7)
    for page in range(pages) if FULL else [0, 1, *draw.sample(range(2, pages), 2)]:
        file.write_bytes(good)
        damage(file, page, draw)
        bad = file.read_bytes()
        it = kept()
        said = state(it)
        assert said["writes"] == "refused" and f"nl6.db: page {page + 1}" in said["not_loaded"]
        assert "-state-repair" in said["message"]
        some = devices(it)
        assert some.items() <= had.items(), "what is there is right"
        assert len(some) >= len(had) - 60, "at most what is in a page is lost"
        for refused in (it.create(1, first=800), it.delete("/api/v1/devices"),
                        it.delete(f"/api/v1/devices/{next(iter(some))}")):
            assert refused.status == 503 and "-state-repair" in refused.json["message"]
        assert devices(it) == some
        assert file.read_bytes() == bad
        it = kept("-state-repair")
        assert devices(it) == some and state(it)["writes"] == "work"
        with open(state(it)["kept_aside"], "rb") as f:
            assert f.read() == bad
        assert it.create(1, first=800).status == 201
        it = kept(crash=True)
        assert len(devices(it)) == len(some) + 1 and state(it)["not_loaded"] == []
        it.stop()


def test_no_file_of_ours_is_kept_and_refuses_writes(kept, tmp_path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "nl6.db").write_text("shopping list\n")
    it = kept()
    assert it.create(1).status == 503
    assert (folder / "nl6.db").read_text() == "shopping list\n"
    it = kept("-state-repair")
    with open(state(it)["kept_aside"], encoding="ascii") as f:
        assert f.read() == "shopping list\n"
    assert it.create(1).status == 201


class Client(threading.Thread):
    """Creates and deletes at random, one after the other, and notes what was acknowledged."""

    def __init__(self, it, seed, there):
        super().__init__()
        self.it, self.draw = it, random.Random(seed)
        self.there = dict(there)  # range number: there or not; None: it may be either
        self.start()

    def run(self):
        try:
            while True:
                i = self.draw.randrange(60)
                was = self.there.get(i, False)
                self.there[i] = None
                if was:
                    done = self.it.delete(f"/api/v1/devices/{self.it.net.address(1 + 2 * i)}")
                else:
                    done = self.it.create(1, first=1 + 2 * i)
                if was is not None:
                    assert done.status in (200, 201)
                self.there[i] = not was
        except OSError:
            pass  # it was killed
        except Exception as e:  # noqa: BLE001
            if "IncompleteRead" not in repr(e) and "RemoteDisconnected" not in repr(e):
                self.there = e


class Setter(threading.Thread):
    """Sets sysContact of five devices in turn, as soon as the one before is answered."""

    def __init__(self, it, held):
        super().__init__()
        self.it = it
        self.held = {i: {v} for i, v in held.items()}  # what may be there
        self.sets = 0
        self.start()

    def run(self):
        askers = [Asker(self.it.net.address(200 + i), self.it.snmp_port) for i in range(5)]
        count = 0
        while True:
            count += 1
            i = 200 + count % 5
            value = f"{self.it.process.pid}-{count}"
            self.held[i] = self.held.get(i, {None}) | {value}
            ask = message(pdu(SET, [binding(CONTACT, tlv(STRING, value.encode()))], count),
                          community=b"w")
            try:
                answer = askers[count % 5].raw(ask, 0.5)
            except OSError:
                return  # it was killed
            if answer is None and self.it.process.poll() is not None:
                return
            assert answer and answer.error == 0
            self.held[i] = {value}
            self.sets += 1


def test_a_kill_loses_nothing_that_was_acknowledged(kept):
    there, held, draw, sets = {}, {}, random.Random(3), 0
    it = kept()
    port = it.snmp_port
    assert it.create(5, first=200, write_community="w").status == 201
    rounds = 1000 if FULL else 20
    for round_no in range(rounds):
        client, setter = Client(it, round_no, there), Setter(it, held)
        threading.Event().wait(draw.random() * 0.05)
        kill(it)
        client.join()
        setter.join()
        assert isinstance(client.there, dict), client.there
        it = kept("-snmp-port", port, crash=True)
        has = devices(it)
        assert state(it)["not_loaded"] == []
        for i in range(60):
            is_there = it.net.address(1 + 2 * i) in has
            assert client.there.get(i, False) in (is_there, None), (round_no, i)
            there[i] = is_there
        for i, may in setter.held.items():
            got = Asker(it.net.address(i), port).ask(GET, CONTACT).bindings[0]
            contact = got.value.decode()
            assert contact in may or None in may, (round_no, i, contact, may)
            held[i] = contact
        sets += setter.sets
    assert sets > rounds


def indexes(it, address):
    """Of the first two interfaces, as the end of a name."""
    shown = it.get(f"/api/v1/devices/{address}?limit=2").data["detail"]
    return [f".{i['index']}" for i in shown["interfaces"]]


def set_snmp(it, *bindings, address=None):
    return it.snmp("snmpset", *bindings, address=address, community="w", check=False)


@pytest.mark.parametrize("crash", [True, False])
def test_what_was_set_comes_back(kept, net, crash):
    it = kept()
    port = it.snmp_port
    assert it.create(60, write_community="w").status == 201
    one, two = indexes(it, net.address(3))
    some = net.address(3), net.address(30)
    for a in some:
        done = set_snmp(it, CONTACT, "s", f"who {a}", NAME, "s", "router", ADMIN + one, "i", "2",
                        address=a)
        assert done.returncode == 0, done.stderr
    set_snmp(it, CONTACT, "s", "again", LOCATION, "s", "x" * 200, address=some[0])
    names = CONTACT, LOCATION, NAME, ADMIN + one, OPER + one, ADMIN + two, OPER + two
    had = {a: it.get_snmp(*names, address=a) for a in some}
    other = it.get_snmp(*names, address=net.address(4))
    it.delete(f"/api/v1/devices/{net.address(30)}")
    it = kept("-snmp-port", str(port), crash=crash)
    assert state(it)["not_loaded"] == []
    assert it.get_snmp(*names, address=some[0]) == had[some[0]]
    assert had[some[0]][0] == "again" and had[some[0]][3] == had[some[0]][4]
    assert it.get_snmp(*names, address=net.address(4)) == other
    assert it.get_snmp(CHANGED + one, address=some[0]) == ["0:0:00:00.00"], "as after a reboot"
    # A device that was deleted and is made again is new.
    assert it.create(1, first=30, write_community="w").status == 201
    assert it.get_snmp(CONTACT, address=some[1]) != had[some[1]][:1]
    set_snmp(it, ADMIN + one, "i", "1", address=some[0])
    it = kept("-snmp-port", str(port), crash=crash)
    assert it.get_snmp(CONTACT, ADMIN + one, address=some[0]) == [
        "again", it.get_snmp(ADMIN + one, address=net.address(4))[0]]
    assert it.get_snmp(CONTACT, address=some[1]) != had[some[1]][:1]


def test_what_a_type_has_no_more_is_told(kept, net, tmp_path):
    types = tmp_path / "types"
    types.mkdir()
    shutil.copy(ROOT / "devices/asr9k.json", types / "mine.json")
    it = kept("-devices", types)
    port = it.snmp_port
    it.create(1, resource_file="mine.json", write_community="w")
    one, _ = indexes(it, net.address())
    assert set_snmp(it, CONTACT, "s", "me", ADMIN + one, "i", "2").returncode == 0
    had = it.get_snmp(CONTACT, ADMIN + one)
    (types / "mine.json").unlink()
    it = kept("-devices", types, crash=True)
    assert devices(it) == {}
    shutil.copy(ROOT / "devices/asr9k.json", types / "mine.json")
    it = kept("-devices", types, "-snmp-port", str(port))
    assert it.get_snmp(CONTACT, ADMIN + one) == had, "kept while its type was gone"


def test_managers_see_the_boots_grow(kept, net):
    """By one at each start, whichever way it ended; the engine's time begins again."""
    auto = ["-auto-start-ip", net.address(), "-auto-count", "2", "-snmpv3"]
    boots_of = "1.3.6.1.6.3.10.2.1.2.0"

    def seen(it):
        done = subprocess.run(
            ["snmpget", "-v3", "-l", "authNoPriv", "-u", "simadmin", "-a", "MD5", "-A", "simadmin",
             "-Oqv", f"{net.address()}:{it.snmp_port}", boots_of],
            capture_output=True, text=True, env=snmp_env(), check=True)
        assert int(done.stdout) == state(it)["boots"]
        return int(done.stdout)

    first = seen(kept(*auto))
    for i in range(1, 4):
        assert seen(kept(*auto, crash=i == 2)) == first + i


def test_sets_are_refused_while_they_cannot_be_kept(kept, net, tmp_path):
    it = kept(prefix=["prlimit", "--fsize=60000:unlimited", "--"])
    port = it.snmp_port
    assert it.create(2, write_community="w").status == 201
    asker, n = Asker(net.address(), port), 0

    def put(value):
        nonlocal n
        n += 1
        value = tlv(STRING, value.encode())
        return asker.raw(message(pdu(SET, [binding(CONTACT, value)], n), community=b"w")).error

    while (error := put(f"{n}" * 20)) == 0:
        assert n < 1000
    assert error == 13, "resourceUnavailable"
    kept_value = asker.ask(GET, CONTACT).bindings[0].value.decode()
    assert kept_value == f"{n - 2}" * 20, "what was refused is not there"
    subprocess.run(["prlimit", "--pid", str(it.process.pid), "--fsize=unlimited:unlimited"],
                   check=True)
    assert put("room") == 0
    it.stop()
    damage(tmp_path / "state/nl6.db", 0, random.Random(1))
    it = kept("-snmp-port", port)
    asker = Asker(net.address(), port)
    assert state(it)["writes"] == "refused"
    assert asker.ask(GET, CONTACT).bindings[0].value == b"room"
    assert put("more") == 14, "commitFailed"
    assert asker.ask(GET, CONTACT).bindings[0].value == b"room"
    assert it.delete(f"/api/v1/devices/{net.address()}/sets").status == 503


def test_a_start_that_cannot_write_goes_on(kept, net, tmp_path):
    auto = ["-auto-start-ip", net.address(), "-auto-count", "3"]
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "nl6.db").write_bytes(b"not a database" * 1000)
    it = kept(*auto)
    assert devices(it) == {} and "no device of the -auto flags" in it.stderr
    assert state(it)["boots"] > 3_000_000
    it = kept(*auto, "-state-repair")
    assert len(devices(it)) == 3


def get_v3(it, address, user, password, engine=None):
    """sysName by SNMPv3, or None."""
    done = subprocess.run(
        ["snmpget", "-v3", "-l", "authNoPriv", "-u", user, "-a", "SHA", "-A", password, "-t", "2",
         "-r", "1", "-Oqv", f"{address}:{it.snmp_port}", NAME],
        capture_output=True, text=True, env=snmp_env(), check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def test_users_of_a_create_come_back(kept, net):
    it = kept()
    port = it.snmp_port
    assert it.create(3, snmpv3={"enabled": True, "username": "lab", "auth_protocol": "sha1",
                                "password": "maplesyrup"}).status == 201
    name = get_v3(it, net.address(2), "lab", "maplesyrup")
    assert name
    secret = it.get("/api/v1/fleet/export?secrets=true").text
    shown = it.get("/api/v1/fleet/export").text
    assert "maplesyrup" in secret and "maplesyrup" not in shown and '"lab"' in shown
    it = kept("-snmp-port", port, crash=True)
    assert get_v3(it, net.address(2), "lab", "maplesyrup") == name
    assert get_v3(it, net.address(2), "lab", "maplesyruq") is None
    assert it.get("/api/v1/fleet/export?secrets=true").text == secret
    it.delete("/api/v1/devices")
    done = it.request("POST", "/api/v1/fleet/import", secret,
                      {"Content-Type": "application/x-ndjson"})
    assert done.status == 200 and done.data["created"] == 3
    assert get_v3(it, net.address(2), "lab", "maplesyrup") == name
    it.delete("/api/v1/devices")
    done = it.request("POST", "/api/v1/fleet/import", shown,
                      {"Content-Type": "application/x-ndjson"})
    assert done.status == 400 and "password" in done.json["message"], done.json


def test_other_settings_of_the_flags_make_no_other_fleet(kept, net):
    auto = ["-auto-start-ip", net.address(), "-auto-count", "5"]
    it = kept(*auto)
    assert it.delete(f"/api/v1/devices/{net.address(4)}").status == 200
    v3 = ["-snmpv3", "-snmpv3-auth", "sha1", "-snmpv3-password", "maplesyrup"]
    it = kept(*auto, *v3)
    assert len(devices(it)) == 4, "what was deleted stays away"
    assert get_v3(it, net.address(2), "simadmin", "maplesyrup")
    it = kept(*auto)
    assert len(devices(it)) == 4
    assert get_v3(it, net.address(2), "simadmin", "maplesyrup") is None
