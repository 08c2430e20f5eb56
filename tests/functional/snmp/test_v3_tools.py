"""What net-snmp's tools make of the agents by SNMPv3. The numbers are those of cases on record."""

import re

import pytest

from manager_v3 import (CIPHERS, HASHES, PASSWORD, SYS_NAME, USM, counter, get, run, security,
                        user_lines)
from program import run_once

ENGINE_ID, BOOTS, TIME, MAX_SIZE = (f"1.3.6.1.6.3.10.2.1.{i}.0" for i in range(1, 5))


@pytest.fixture
def users(fleet, tmp_path):
    """users(count, *flags): a fleet with a user for every hash and cipher."""
    def start(count, *flags):
        path = tmp_path / "users"
        path.write_text(user_lines())
        return fleet(count, "-snmpv3", "-snmpv3-user-file", path, *flags)
    return start


@pytest.mark.parametrize("auth", HASHES)
def test_every_hash_with_every_cipher(users, net, auth):
    program = users(2)
    name = program.get_snmp("SNMPv2-MIB::sysName.0")[0]
    for priv in (None, *CIPHERS):
        flags = security(auth, priv)
        got = get(program, net.address(1), SYS_NAME, ENGINE_ID, "1.3.6.1.2.1.1.9999.0",
                  flags=flags)
        assert name in got[0] and "No Such Object" in got[2], priv
        # The controls: either password wrong.
        before = counter(program, net.address(1), "WrongDigests")
        wrong = run("snmpget", program, net.address(1), SYS_NAME, check=False,
                    flags=security(auth, priv, password="wrong password"))
        assert wrong.returncode != 0 and "Authentication failure" in wrong.stderr
        assert counter(program, net.address(1), "WrongDigests") == before + 1
        if priv:
            before = counter(program, net.address(1), "DecryptionErrors")
            wrong = run("snmpget", program, net.address(1), SYS_NAME, check=False,
                        flags=security(auth, priv, priv_password="wrong password"))
            assert wrong.returncode != 0 and name not in wrong.stdout
            assert counter(program, net.address(1), "DecryptionErrors") in (before, before + 1)


def test_no_keys(users, net):
    program = users(1)
    assert get(program, net.address(), SYS_NAME, flags=security(user="guest"))
    # A level that the user has no keys for.
    wrong = run("snmpget", program, net.address(), SYS_NAME, check=False,
                flags=security("md5", user="guest"))
    assert "Unsupported security level" in wrong.stderr
    assert counter(program, net.address(), "UnsupportedSecLevels") == 1


def test_unknown_user(users, net):
    program = users(1)
    wrong = run("snmpget", program, net.address(), SYS_NAME, check=False,
                flags=security("sha1", user="nobody"))
    assert "Unknown user name" in wrong.stderr
    assert counter(program, net.address(), "UnknownUserNames") == 1


def test_contexts(fleet, net):
    program = fleet(1, "-snmpv3", "-snmpv3-contexts", "blue,red")
    flags = ("md5", None, "simadmin", "simadmin", None)
    name = get(program, net.address(), SYS_NAME, flags=security(*flags))
    for context in "", "blue", "red":
        assert get(program, net.address(), SYS_NAME,
                   flags=security(*flags, context=context)) == name
    wrong = run("snmpget", program, net.address(), SYS_NAME, check=False,
                flags=security(*flags, context="green"))
    assert "Bad context" in wrong.stderr or "Unknown" in wrong.stderr
    unknown = run("snmpget", program, net.address(), "1.3.6.1.6.3.12.1.5.0",
                  flags=["-v2c", "-c", "public"]).stdout
    assert unknown.strip().endswith("Counter32: 1")


def test_least_level(fleet, net):
    program = fleet(1, "-snmpv3", "-snmpv3-min-security-level", "auth")
    assert get(program, net.address(), SYS_NAME,
               flags=security("md5", user="simadmin", password="simadmin"))
    wrong = run("snmpget", program, net.address(), SYS_NAME, check=False,
                flags=security(user="simadmin"))
    assert "authorizationError" in wrong.stderr


def test_without_v3_nobody_is_answered(fleet, net):
    program = fleet(1)
    wrong = run("snmpget", program, net.address(), SYS_NAME, check=False, retries=0,
                flags=["-t", "0.5", *security("md5", user="simadmin", password="simadmin")])
    assert "Timeout" in wrong.stderr or wrong.returncode != 0
    bad = run("snmpget", program, net.address(), "1.3.6.1.2.1.11.3.0",
              flags=["-v2c", "-c", "public"]).stdout
    assert int(bad.split(": ")[1]) >= 1


def test_case_14_every_getnext_and_every_binding(users, net):
    program = users(1)
    flags = security("sha256", "aes128")
    v2c = ["-v2c", "-c", "public"]
    names = [f"1.3.6.1.2.1.1.{i}" for i in range(1, 8)]
    for tool in "snmpget", "snmpgetnext":
        suffix = ".0" if tool == "snmpget" else ""
        ask = [n + suffix for n in names]
        by_v3, by_v2c = (run(tool, program, net.address(), *ask, flags=f).stdout.splitlines()
                         for f in (flags, v2c))
        assert len(by_v3) == len(by_v2c) >= 7
        assert [line for line in by_v3 if ".1.3.0" not in line] == [
            line for line in by_v2c if ".1.3.0" not in line]
    walked = run("snmpwalk", program, net.address(), "1.3.6.1.2.1.2.2.1.2", flags=flags)
    assert walked.stdout == run("snmpwalk", program, net.address(), "1.3.6.1.2.1.2.2.1.2",
                                flags=v2c).stdout


@pytest.mark.parametrize("priv", [None, "des", "aes256"])
def test_cases_15_and_18_bulk_walks_have_all_rows_and_end(users, net, priv):
    program = users(1)
    flags = security("sha1", priv)
    v2c = ["-v2c", "-c", "public"]

    def names(f, *more):
        out = run("snmpbulkwalk", program, net.address(), "1.3", flags=[*f, *more]).stdout
        return [line.split(" = ")[0] for line in out.splitlines() if line.startswith(".1.3")]
    by_v2c = names(v2c, "-Cr25")
    assert len(by_v2c) > 500
    for repetitions in (10 if priv is None else 50), 100:
        assert names(flags, f"-Cr{repetitions}") == by_v2c


def test_case_17_engine_id_time_and_digest_are_the_engines_own(users, net):
    program = users(3)
    seen = set()
    for i in (1, 2, 3):
        engine, boots, time, size = get(program, net.address(i), ENGINE_ID, BOOTS, TIME,
                                        MAX_SIZE, flags=security("sha256"))
        engine = bytes.fromhex(engine.split(": ")[1].replace(" ", ""))
        assert 5 <= len(engine) <= 32 and engine[0] & 0x80
        seen.add(engine)
        assert int(boots.split(": ")[1]) > 0 and int(time.split(": ")[1]) < 3600
        assert int(size.split(": ")[1]) >= 484
    assert len(seen) == 3


def test_case_27_one_engine_id_only_where_it_is_asked_for(fleet, net):
    program = fleet(2, "-snmpv3-engine-id", "0x80001F8804deadbeef")
    flags = security("md5", user="simadmin", password="simadmin")
    for i in 1, 2:
        engine, = get(program, net.address(i), ENGINE_ID, flags=flags)
        assert engine.split(": ")[1].replace(" ", "").lower() == "80001f8804deadbeef"
    # Boots and time are one, too.
    first, second = (get(program, net.address(i), BOOTS, TIME, flags=flags) for i in (1, 2))
    assert first[0] == second[0]
    assert 0 <= int(second[1].split(": ")[1]) - int(first[1].split(": ")[1]) <= 5


def test_set_needs_the_level(fleet, net):
    program = fleet(1, "-snmpv3", "-snmpv3-priv", "aes")
    keys = {"user": "simadmin", "password": "simadmin", "priv_password": "simadmin"}
    location = "1.3.6.1.2.1.1.6.0"
    refused = run("snmpset", program, net.address(), location, "s", "no", check=False,
                  flags=security(user="simadmin"))
    assert "Unsupported security level" in refused.stderr
    for flags in security("md5", None, **keys), security("md5", "aes128", **keys):
        done = run("snmpset", program, net.address(), location, "s", f"rack {len(flags)}",
                   flags=flags)
        assert f"rack {len(flags)}" in done.stdout
        assert f"rack {len(flags)}" in get(program, net.address(), location, flags=flags)[0]


def test_users_over_rest(nl6, net):
    program = nl6()
    program.post("/api/v1/devices", {
        "start_ip": net.address(), "device_count": 2, "snmp_port": program.snmp_port, "snmpv3": {
            "enabled": True, "engine_id": "", "username": "ops", "password": PASSWORD,
            "auth_protocol": 4, "priv_protocol": "aes256c",
            "users": [{"username": "two", "auth_protocol": "sha512", "password": PASSWORD}]}})
    both = security("sha256", "aes256c", user="ops", priv_password=PASSWORD)
    assert get(program, net.address(2), SYS_NAME, flags=both)
    assert get(program, net.address(1), SYS_NAME, flags=security("sha512", user="two"))
    shown = program.get("/api/v1/devices").text + program.stderr
    assert PASSWORD not in shown


def test_wrong_flags_end_the_start(tmp_path):
    users = tmp_path / "users"
    for flags, word in ((["-snmpv3-auth", "sha3"], "-snmpv3-auth"),
                        (["-snmpv3-priv", "3des"], "-snmpv3-priv"),
                        (["-snmpv3", "-snmpv3-auth", "none", "-snmpv3-priv", "aes"],
                         "-snmpv3-priv"),
                        (["-snmpv3-engine-id", "80"], "-snmpv3-engine-id"),
                        (["-snmpv3", "-snmpv3-password", "short"], "-snmpv3-password"),
                        (["-snmpv3-user-file", str(tmp_path / "none")], "none")):
        done = run_once(*flags, "-port", "0", "-snmp-port", "0")
        assert done.returncode == 2 and word in done.stderr, done.stderr
    for text, line in (("a md5 longenough\nb md6 longenough\n", 2),
                       ("a md5 \"not closed\n", 1), ("# no\n\na md5 short\n", 3),
                       ("a none x aes longenough\n", 1), ("a\na\n", 2)):
        users.write_text(text)
        done = run_once("-snmpv3-user-file", str(users), "-port", "0", "-snmp-port", "0")
        assert done.returncode != 0 and f"users:{line}" in done.stderr, done.stderr
        assert "longenough" not in done.stderr


def test_secrets_are_wiped_and_never_told(fleet, net):
    program = fleet(1, "-snmpv3", "-snmpv3-password", "very-secret-word")
    with open(f"/proc/{program.process.pid}/cmdline", "rb") as f:
        assert b"very-secret-word" not in f.read()
    assert get(program, net.address(), SYS_NAME,
               flags=security("md5", user="simadmin", password="very-secret-word"))
    assert "very-secret-word" not in program.stderr
    assert len(USM) == 6 and re.search("nl6_responder_v3_requests_total", program.get(
        "/metrics").text)
