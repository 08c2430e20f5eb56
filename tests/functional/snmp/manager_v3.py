"""net-snmp's tools by SNMPv3."""

import subprocess

from program import SLOW, snmp_env

# As nl6 calls them, and as net-snmp does.
HASHES = {"md5": "MD5", "sha1": "SHA", "sha224": "SHA-224", "sha256": "SHA-256",
          "sha384": "SHA-384", "sha512": "SHA-512"}
CIPHERS = {"des": "DES", "aes128": "AES", "aes192": "AES-192", "aes256": "AES-256",
           "aes192c": "AES-192-C", "aes256c": "AES-256-C"}
PASSWORD, PRIV_PASSWORD = "auth password", "another password"
SYS_NAME = "1.3.6.1.2.1.1.5.0"
USM = {"UnsupportedSecLevels": 1, "NotInTimeWindows": 2, "UnknownUserNames": 3,
       "UnknownEngineIDs": 4, "WrongDigests": 5, "DecryptionErrors": 6}


def user_name(auth, priv):
    return f"{auth}-{priv}"


def user_lines():
    """A user for each hash with each cipher or none, and one without keys."""
    lines = ["guest"]
    for auth in HASHES:
        lines.append(f'{auth}-none {auth} "{PASSWORD}"')
        lines += [f'{auth}-{priv} {auth} "{PASSWORD}" {priv} "{PRIV_PASSWORD}"'
                  for priv in CIPHERS]
    return "\n".join(lines) + "\n"


def security(auth=None, priv=None, user=None, password=PASSWORD, priv_password=PRIV_PASSWORD,
             context=None):
    """The flags of a net-snmp tool."""
    level = "noAuthNoPriv" if not auth else "authPriv" if priv else "authNoPriv"
    flags = ["-v3", "-l", level, "-u", user or user_name(auth, priv or "none")]
    if auth:
        flags += ["-a", HASHES[auth], "-A", password]
    if priv:
        flags += ["-x", CIPHERS[priv], "-X", priv_password]
    if context is not None:
        flags += ["-n", context]
    return flags


def run(tool, program, address, *arguments, flags, retries=1, check=True):
    """Without modules: numbers only, which is quicker."""
    env = dict(snmp_env(), MIBS="")
    done = subprocess.run([tool, "-On", "-r", str(retries), "-t", str(3 * SLOW), *flags,
                           f"{address}:{program.snmp_port}", *arguments],
                          env=env, capture_output=True, text=True, timeout=120 * SLOW)
    assert not check or done.returncode == 0, done.stderr
    return done


def get(program, address, *names, flags, **more):
    """Values of names by snmpget, as it prints them."""
    lines = run("snmpget", program, address, *names, flags=flags, **more).stdout.splitlines()
    return [line.split(" = ", 1)[1] for line in lines]


def counter(program, address, name):
    """One of the usmStats, by v2c."""
    done = run("snmpget", program, address, f"1.3.6.1.6.3.15.1.1.{USM[name]}.0",
               flags=["-v2c", "-c", "public"])
    return int(done.stdout.split(": ")[1])
