"""The client's models, made from the committed description of the HTTP interface.

A model has only what a caller reads: answers, without titles, limits and lists of values, so that a client still
understands a server that knows more words. A field that the description gives a default, or that may be null, may be
missing in an answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools import generated_file

type Schema = dict[str, Any]

TARGET = generated_file.ROOT / "src/stead/client/models.py"
REF = "#/components/schemas/"
TYPES = ("$ref", "additionalProperties", "anyOf", "default", "description", "items", "type")
"""What counts of a field; everything else limits what it may be."""
HEADER = '"""What the server answers. Generated from docs/reference/openapi.json by `make docs`; do not edit."""'
FROZEN = json.dumps({"#all#": {"base_class_kwargs": {"frozen": True, "kw_only": True}}})
OPTIONS = (
    *("--input-file-type", "openapi", "--output-model-type", "msgspec.Struct", "--target-python-version", "3.12"),
    *("--output-datetime-class", "datetime", "--extra-template-data", FROZEN),
    *("--custom-file-header", HEADER, "--disable-timestamp", "--ignore-pyproject", "--formatters", "builtin"),
    *("--use-schema-description", "--use-field-description", "--use-default", "--use-generic-container-types"),
    *("--use-standard-collections", "--use-union-operator", "--use-double-quotes", "--keep-model-order"),
    *("--use-single-line-docstring", "--no-use-annotated", "--disable-warnings"),
)


def generate(openapi: Mapping[str, Any]) -> str:
    """The module with the models."""
    schemas = openapi["components"]["schemas"]
    names = sorted(find_answers(openapi))
    shown = {name: simplify(schemas[name], schemas) for name in names if "properties" in schemas[name]}
    document = {"openapi": "3.1.0", "info": openapi["info"], "paths": {}, "components": {"schemas": shown}}
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "openapi.json"), Path(folder, "models.py")
        source.write_text(json.dumps(document), encoding="utf-8")
        command = ["datamodel_code_generator", "--input", str(source), "--output", str(target), *OPTIONS]
        subprocess.run([sys.executable, "-m", *command], check=True)
        return format_code(use_tuples(target.read_text(encoding="utf-8")))


def use_tuples(text: str) -> str:
    """Tuples in place of sequences, which would be read as lists: a frozen value with a list in it is not frozen."""
    text = text.replace("field(default_factory=list)", "()")
    while (replaced := re.sub(r"\bSequence\[([^\[\]]+(?:\[[^\[\]]*\])?)\]", r"tuple[\1, ...]", text)) != text:
        text = replaced
    return text


def format_code(text: str) -> str:
    """Python as the linter formats it."""
    ruff = [sys.executable, "-m", "ruff"]
    for step in (["check", "--fix", "--quiet", "--select", "F401,I,UP"], ["format", "--quiet"]):
        command = [*ruff, *step, "--stdin-filename", "src/stead/client/models.py", "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def find_answers(openapi: Mapping[str, Any]) -> set[str]:
    """The names of the schemas that answers of the interface consist of, those of its dialects left out."""
    schemas = openapi["components"]["schemas"]
    waiting = {"Problem"}
    for path, methods in openapi["paths"].items():
        if path.startswith("/v1/"):
            waiting |= {name for method in methods.values() for name in _refs(method["responses"])}
    found: set[str] = set()
    while waiting:
        found.add(name := waiting.pop())
        waiting |= set(_refs(schemas[name])) - found
    return found


def simplify(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """A model without what limits its values."""
    fields = {name: _simplify_field(field, schemas) for name, field in schema["properties"].items()}
    for name in set(fields) - set(schema.get("required", ())):
        fields[name].setdefault("default", {"object": {}, "array": []}.get(fields[name].get("type", "")))
    return {"type": "object", "description": schema["description"], "properties": fields, "required": list(fields)}


def _simplify_field(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    name = schema.get("$ref", "").removeprefix(REF)
    if name and "properties" not in schemas[name]:  # a list of values
        schema = {**schemas[name], **{word: schema[word] for word in ("description", "default") if word in schema}}
    kept = {word: schema[word] for word in TYPES if word in schema}
    if schema.get("format") == "date-time":
        kept["format"] = "date-time"
    for word in ("items", "additionalProperties"):
        if isinstance(kept.get(word), dict):
            kept[word] = _simplify_field(kept[word], schemas)
    if "anyOf" in kept:
        kept["anyOf"] = [_simplify_field(one, schemas) for one in kept["anyOf"]]
        if {"type": "null"} in kept["anyOf"]:
            kept.setdefault("default", None)
    return kept


def _refs(schema: object) -> Iterator[str]:
    """The names that a schema refers to."""
    match schema:
        case {"$ref": str(ref)}:
            yield ref.removeprefix(REF)
        case dict():
            for inner in schema.values():
                yield from _refs(inner)
        case list():
            for inner in schema:
                yield from _refs(inner)


if __name__ == "__main__":
    sys.exit(generated_file.main(TARGET, lambda: generate(generated_file.read_openapi())))
