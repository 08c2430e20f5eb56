"""Debian's prometheus-snmp-exporter scrapes devices."""

import pathlib
import re
import socket
import subprocess
import urllib.request

import pytest

from program import SLOW, until


@pytest.fixture
def exporter(net, tmp_path):
    """A function that scrapes a target."""
    with socket.socket() as s:
        s.bind((net.prefix + ".255.1", 0))
        listen = "%s:%d" % s.getsockname()
    log = open(tmp_path / "exporter.log", "wb")
    process = subprocess.Popen(
        ["prometheus-snmp-exporter", "--web.listen-address=" + listen, "--config.file",
         str(pathlib.Path(__file__).with_name("snmp.yml"))], stdout=log, stderr=log)

    def scrape(target):
        url = f"http://{listen}/snmp?module=if_mib&target={target}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(url, timeout=30 * SLOW).read().decode()

    def is_up():
        host, port = listen.split(":")
        with socket.socket() as s:
            return s.connect_ex((host, int(port))) == 0

    until(30, is_up, "exporter")
    yield scrape
    process.terminate()
    process.wait()
    log.close()


def samples(text, name):
    return dict(re.findall(rf"^{name}{{?([^}} ]*)}}? (\S+)$", text, re.M))


def test_the_exporter_is_content(fleet, net, exporter):
    program = fleet(5)
    for i in range(1, 6):
        target = f"{net.address(i)}:{program.snmp_port}"
        first, second = exporter(target), exporter(target)
        count = int(float(samples(first, "ifNumber")[""]))
        octets = samples(first, "ifHCInOctets")
        assert len(octets) == len(samples(first, "ifOperStatus")) == count > 0
        assert all('ifName="' in labels for labels in octets)
        later = samples(second, "ifHCInOctets")
        assert octets.keys() == later.keys()
        assert all(float(later[k]) >= float(v) for k, v in octets.items())
        assert "snmp_scrape_duration_seconds" in first and "error" not in first.lower()
        macs = re.findall(r'ifPhysAddress="([^"]*)"', first)
        assert all(re.fullmatch(r"|[0-9A-F]{2}(:[0-9A-F]{2}){5}", mac) for mac in macs)
        assert len(macs) == count
