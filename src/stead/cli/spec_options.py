"""Specs on the command line: from a file, and field by field."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from stead.cli.documents import NotYaml, read_yaml
from stead.cli.output import Code, fail

type Spec = dict[str, Any]

File = Annotated[str | None, typer.Option("--file", "-f", help="Spec, in YAML or JSON; - is stdin.", metavar="FILE")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Field of the spec; labels.NAME for a label, a.b for b within a. Repeatable.",
        metavar="NAME=VALUE",
    ),
]
LABEL = "labels."


def read_text(file: str) -> str:
    """What a file says, or stdin where it is `-`; ends the command where it cannot be read."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", Code.USAGE)
    except UnicodeDecodeError:
        fail(f"{file} is not text", Code.USAGE)


def read_spec(file: str) -> Spec:
    """A spec in YAML or JSON."""
    try:
        spec = read_yaml(read_text(file)) or {}
    except NotYaml as error:
        fail(f"{file} is neither YAML nor JSON: {error}", Code.USAGE)
    if not isinstance(spec, dict):
        fail(f"{file} is no spec: names with values are", Code.USAGE)
    return spec


def set_fields(settings: list[str] | None) -> Spec:
    """Fields that are given one by one, by their names; `a.b` is the field b within a. `merged` puts them in."""
    fields = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not (name and equals):
            fail(f"--set takes NAME=VALUE, not {setting!r}", Code.USAGE)
        if "" in name.split("."):
            fail(f"--set {name}: a part of the name is empty", Code.USAGE)
        try:
            said = read_yaml(value)
        except NotYaml as error:
            fail(f"--set {name}: {error}", Code.USAGE)
        fields[name] = value if name.startswith(LABEL) and said is not None else said
    return fields


def merged(spec: Mapping[str, Any], fields: Mapping[str, Any]) -> Spec:
    """A spec with some fields set; what is set to nothing is left out."""
    whole = dict(spec)
    for name, value in fields.items():
        outer, _, inner = name.partition(".")
        whole[outer] = _within(whole.get(outer), name, value) if inner else value
    return {name: value for name, value in whole.items() if value is not None}


def _within(there: Any, name: str, value: Any) -> Spec | None:
    """What a field holds once a field within it is set; nothing where nothing is left. Labels may have dots."""
    outer, _, inner = name.partition(".")
    if not isinstance(there, Mapping | None):
        fail(f"--set {name}: {outer} has no fields: it is {there!r}", Code.USAGE)
    if name.startswith(LABEL):
        left = {**(there or {}), inner: value}
        return {label: said for label, said in left.items() if said is not None} or None
    return merged(there or {}, {inner: value}) or None


def spec_of(file: str | None, settings: list[str] | None, /, **options: Any) -> Spec:
    """A spec: what was set field by field counts most, then what options say, then what a file has."""
    said = {name: value for name, value in options.items() if value is not None}
    return merged(read_spec(file) if file is not None else {}, {**said, **set_fields(settings)})
