"""Device types: their schema and document agree with what the program reads."""

import json
import re

import jsonschema
import pytest
from source import NL6, ROOT, text

SCHEMA = json.loads(text("docs/device-type.schema.json"))
TYPES = sorted((ROOT / "devices").glob("*.json"))
DOC = text("docs/device-types.md")


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", TYPES, ids=lambda p: p.stem)
def test_type_fits_the_schema(path):
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(path.read_text()))


def objects(schema):
    """Every object of the schema that has properties."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def source(name):
    return text(f"src/sim/fleet/{name}")


def tables(*names):
    """The keys that the program reads, a set for each table of keys, and those it requires."""
    found = []
    for body in re.findall(r"struct key \w+_keys\[\] = \{(.*?)\n\};", "".join(map(source, names)), re.S):
        keys = re.findall(r'\{"(\w+)", KEY_\w+, (true|false)', body)
        found.append(({k for k, _ in keys}, {k for k, need in keys if need == "true"}))
    return found


def test_schema_and_program_know_the_same_keys():
    read = tables("type_json.c", "type_json_if.c")
    shown = [(set(o["properties"]), set(o.get("required", []))) for o in objects(SCHEMA)]
    assert len(read) == 6
    assert sorted(map(str, map(lambda t: (sorted(t[0]), sorted(t[1])), read))) == \
        sorted(map(str, map(lambda t: (sorted(t[0]), sorted(t[1])), shown)))


def names_of(array):
    body = re.search(rf"{array}\[\] = \{{(.*?)\}};", source("type_names.c"), re.S).group(1)
    return set(re.findall(r'"(\w+)"', body))


def test_schema_and_program_know_the_same_names():
    port = SCHEMA["properties"]["interfaces"]["items"]["properties"]
    item = SCHEMA["properties"]["objects"]["items"]["properties"]
    assert set(port["type"]["oneOf"][1]["enum"]) == names_of("if_type_names")
    assert set(port["admin"]["enum"]) == names_of("if_admin_names")
    assert set(port["oper"]["enum"]) == names_of("if_oper_names")
    assert set(port["load"]["enum"]) == names_of("if_load_names")
    assert set(item["type"]["enum"]) == names_of("value_type_names")
    profiles = set(re.findall(r'\{"(\w+)",', source("if_profile.c")))
    assert set(SCHEMA["properties"]["profile"]["enum"]) == profiles
    assert all(f"`{p}`" in DOC for p in profiles)


def test_document_tells_every_key():
    for part in objects(SCHEMA):
        missing = [k for k in part["properties"] if f"`{k}`" not in DOC]
        assert missing == []


def test_example_of_the_document_is_a_type():
    example = json.loads(re.search(r"```json\n(.*?)```", DOC, re.S).group(1))
    jsonschema.Draft202012Validator(SCHEMA).validate(example)
    counted = sum(i.get("count", 1) for i in example["interfaces"])
    assert counted == 12


def test_order_lists_every_type():
    order = [line for line in text("devices/order.txt").splitlines() if not line.startswith("#")]
    assert sorted(order) == [p.stem for p in TYPES]
    assert len(set(order)) == len(order)
    assert NL6.exists()
