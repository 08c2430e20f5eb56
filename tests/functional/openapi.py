"""Checks answers against an OpenAPI 3.0 document."""

import functools
import json
import pathlib
import re
from urllib.parse import urlsplit

from openapi_schema_validator import OAS30ReadValidator, oas30_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Spec:
    @staticmethod
    @functools.cache
    def of_docs():
        return Spec(json.loads((ROOT / "docs/openapi.json").read_text()))

    def __init__(self, document):
        self.document = document
        resource = Resource(contents=document, specification=DRAFT4)
        self.registry = Registry().with_resource("urn:spec", resource)
        self.paths = []
        for template in document["paths"]:
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
            self.paths.append((template.count("{"), re.compile(pattern), template))
        # A path without parameters is more exact than one with them.
        self.paths.sort(key=lambda p: p[0])

    def operation(self, method, path):
        for _, pattern, template in self.paths:
            if pattern.fullmatch(urlsplit(path).path):
                return self.document["paths"][template].get(method.lower())
        return None

    def resolve(self, node):
        while "$ref" in node:
            at = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                at = at[part.replace("~1", "/").replace("~0", "~")]
            node = at
        return node

    def check(self, method, path, reply):
        """An answer of a documented operation must be documented, and its body must fit."""
        operation = self.operation("GET" if method == "HEAD" else method, path)
        if operation is None:
            return
        answers = operation["responses"]
        status = str(reply.status)
        answer = answers.get(status) or answers.get(f"{status[0]}XX") or answers.get("default")
        assert answer, f"{method} {path}: status {status} is not documented: {reply.text[:500]}"
        content = self.resolve(answer).get("content")
        if method == "HEAD" or not content:
            assert not reply.body, f"{method} {path}: a body that is not documented"
            return
        kind = reply.headers.get_content_type()
        content = {k.partition(";")[0]: v for k, v in content.items()}
        assert kind in content, f"{method} {path}: {kind} is not among {list(content)}"
        schema = content[kind].get("schema")
        if schema and kind.endswith(("/json", "+json")):
            pointed = json.loads(json.dumps(schema).replace('"#/', '"urn:spec#/'))
            validator = OAS30ReadValidator(
                pointed, registry=self.registry, format_checker=oas30_format_checker)
            errors = [e.message for e in validator.iter_errors(reply.json)]
            assert errors == [], f"{method} {path}: {errors[:3]} in {reply.text[:2000]}"
