"""The OpenAPI document, and schemathesis against the whole API."""

import json
import os
import pathlib
import subprocess
import sys

from openapi_spec_validator import validate

from program import FULL, SLOW

HERE = pathlib.Path(__file__).parent


def test_document_is_valid(nl6):
    document = nl6().get("/api/v1/openapi.json").json
    validate(document)
    names = [op["operationId"] for path in document["paths"].values() for op in path.values()]
    assert len(names) == len(set(names)) > 15


def test_schemathesis_finds_nothing(nl6, net, tmp_path):
    it = nl6()
    it.create(8, round_robin=True)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{it.url}/api/v1/openapi.json",
               # Texts for the tools of Go, any method, 503 while closed: test_pull.py has them.
               "--exclude-path-regex", "^/debug/pprof", "--seed", "1", "-n", "1000" if FULL else "25", "--checks", "all",
               "--report", "json", "--report-json-path", str(tmp_path / "report.json")]
    env = os.environ | {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE),
                        "TEST_NET": net.prefix, "TEST_SNMP_PORT": str(it.snmp_port)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=(1800 if FULL else 240) * SLOW)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert it.get("/health").status == 200
    # The network stayed what it was given: nothing was made outside of 127.N.
    lab = it.get("/api/v1/status").data["lab"]
    assert not lab.get("namespace"), json.dumps(lab)
