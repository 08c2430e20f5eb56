"""What the schema of a text cannot say, for schemathesis: addresses that are there for the test,
types that exist. Data that is meant to be wrong stays as it is."""

import os
import random

import schemathesis
from schemathesis.generation import GenerationMode

NET = os.environ["TEST_NET"]
PORT = int(os.environ["TEST_SNMP_PORT"])
TYPES = ["asr9k.json", "linux_server.json", "ciena_waveserver5.json"]
CATEGORIES = ["Servers", "Storage"]


def choose(key, choices):
    """One of the choices, always the same for a key."""
    return random.Random(repr(key)).choice(choices)


def mend_create(body):
    if not isinstance(body, dict):
        return
    key = sorted(body.items(), key=repr)
    body["start_ip"] = f"{NET}.{choose(key, range(1, 250))}.1"
    body["device_count"] = min(body["device_count"], 300)
    if body.get("netmask"):
        body["netmask"] = choose(key, ["8", "16"])
    body["snmp_port"] = PORT
    if body.get("resource_file"):
        body["resource_file"] = choose(key, TYPES)
        body.pop("round_robin", None)
    if body.get("category"):
        body["category"] = choose(key, CATEGORIES)


def mend_users(body):
    """What goes together, and lengths of passwords, no schema says."""
    if body.get("snmpv3"):
        body["snmpv3"] = choose(sorted(body.items(), key=repr), [
            {"enabled": True, "username": "u", "auth_protocol": 1, "password": "long enough",
             "priv_protocol": "aes128"},
            {"enabled": True, "engine_id": "800000090300aabbccdd", "users": [
                {"username": "u", "auth_protocol": "sha256", "password": "long enough"}]}])


def mend_profiling(body):
    if not isinstance(body, dict):
        return
    if body.pop("server_address", None) is not None and body.get("enabled"):
        body["server_address"] = ""  # a push would be refused, as it is elsewhere
    if body.get("duration") is not None:
        body["duration"] = choose(body["duration"], ["90s", "30m", "1h30m"])


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if case.meta and case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    method, path = case.operation.method.upper(), case.operation.path
    if (method, path) == ("POST", "/api/v1/devices"):
        mend_create(case.body)
        mend_users(case.body if isinstance(case.body, dict) else {})
    if (method, path) == ("POST", "/api/v1/profiling"):
        mend_profiling(case.body)
    if path.endswith(("/oper-status", "/admin-status")) and case.path_parameters:
        case.path_parameters["index"] = "2"  # which all of TYPES have
    if path.endswith(("/oper-status", "/admin-status")) and isinstance(case.body, dict):
        if case.body.get("duration") is not None:
            case.body["duration"] = choose(case.body["duration"], ["90s", "30m", "1h30m"])
    if (method, path) == ("POST", "/api/v1/resources/reload") and isinstance(case.body, dict):
        if case.body.get("resource_file"):
            case.body["resource_file"] = choose(case.body["resource_file"], TYPES)
    if (method, path) == ("GET", "/api/v1/devices") and case.query and "after" in case.query:
        case.query["after"] = f"{NET}.0.{choose(case.query['after'], range(1, 250))}"
    if path == "/api/v1/devices/{id}" and case.path_parameters:
        key = case.path_parameters["id"]
        case.path_parameters["id"] = choose(key, [f"{NET}.0.{choose(key, range(1, 9))}", key])
    if path == "/api/v1/batches/{id}" and case.path_parameters:
        key = case.path_parameters["id"]
        case.path_parameters["id"] = choose(key, ["1", "1", key])
