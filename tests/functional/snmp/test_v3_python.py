"""Second and third opinions on SNMPv3: pysnmp and puresnmp, which share no code with net-snmp."""

import asyncio
import warnings

import pytest

from manager_v3 import PASSWORD, PRIV_PASSWORD, SYS_NAME, user_lines, user_name
from program import SLOW

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what their libraries will do some day
    import puresnmp
    from pysnmp.hlapi.v3arch import asyncio as pysnmp

AUTHS = {"md5": pysnmp.USM_AUTH_HMAC96_MD5, "sha1": pysnmp.USM_AUTH_HMAC96_SHA,
         "sha224": pysnmp.USM_AUTH_HMAC128_SHA224, "sha256": pysnmp.USM_AUTH_HMAC192_SHA256,
         "sha384": pysnmp.USM_AUTH_HMAC256_SHA384, "sha512": pysnmp.USM_AUTH_HMAC384_SHA512}
PRIVS = {"none": pysnmp.USM_PRIV_NONE, "des": pysnmp.USM_PRIV_CBC56_DES,
         "aes128": pysnmp.USM_PRIV_CFB128_AES,
         "aes192": pysnmp.USM_PRIV_CFB192_AES_BLUMENTHAL,
         "aes256": pysnmp.USM_PRIV_CFB256_AES_BLUMENTHAL,
         "aes192c": pysnmp.USM_PRIV_CFB192_AES, "aes256c": pysnmp.USM_PRIV_CFB256_AES}


@pytest.fixture
def users(fleet, tmp_path):
    path = tmp_path / "users"
    path.write_text(user_lines())
    return fleet(2, "-snmpv3", "-snmpv3-user-file", path)


async def ask_pysnmp(address, port, auth, priv, password, *names):
    engine = pysnmp.SnmpEngine()
    more = {} if priv == "none" else {"privKey": PRIV_PASSWORD, "privProtocol": PRIVS[priv]}
    user = pysnmp.UsmUserData(user_name(auth, priv), authKey=password, authProtocol=AUTHS[auth],
                              **more)
    target = await pysnmp.UdpTransportTarget.create((address, port), timeout=3 * SLOW, retries=1)
    try:
        return await pysnmp.get_cmd(
            engine, user, target, pysnmp.ContextData(),
            *(pysnmp.ObjectType(pysnmp.ObjectIdentity(name)) for name in names))
    finally:
        engine.close_dispatcher()


@pytest.mark.parametrize("auth", AUTHS)
def test_pysnmp(users, net, auth):
    name = users.get_snmp("SNMPv2-MIB::sysName.0")[0]
    for priv in PRIVS:
        failure, status, _, got = asyncio.run(ask_pysnmp(
            net.address(), users.snmp_port, auth, priv, PASSWORD, SYS_NAME,
            "1.3.6.1.6.3.10.2.1.3.0", "1.3.6.1.2.1.1.2.0"))
        assert failure is None and int(status) == 0 and len(got) == 3, (priv, failure)
        assert str(got[0][1]) in name
        failure, *_ = asyncio.run(ask_pysnmp(net.address(), users.snmp_port, auth, priv,
                                             "not the password", SYS_NAME))
        assert failure is not None, priv


@pytest.mark.parametrize("auth", ["md5", "sha1"])
@pytest.mark.parametrize("priv", [None, "des", "aes"])
def test_puresnmp(users, net, auth, priv):
    ours = {None: "none", "des": "des", "aes": "aes128"}[priv]
    keys = puresnmp.V3(user_name(auth, ours), puresnmp.Auth(PASSWORD.encode(), auth),
                       priv and puresnmp.Priv(PRIV_PASSWORD.encode(), priv))

    async def walk():
        client = puresnmp.PyWrapper(puresnmp.Client(net.address(), keys, port=users.snmp_port))
        one = await client.multiget([SYS_NAME, "1.3.6.1.2.1.1.4.0"])
        rows = [row async for row in client.bulkwalk(["1.3.6.1.2.1.2.2.1.2"], bulk_size=20)]
        return one, rows

    one, rows = asyncio.run(walk())
    assert one[0].decode() in users.get_snmp("SNMPv2-MIB::sysName.0")[0]
    shown = users.snmp("snmpwalk", "-On", "IF-MIB::ifDescr").stdout.splitlines()
    assert len(rows) == len(shown)
    for row, line in zip(rows, shown):
        assert line.endswith(row.value.decode())
