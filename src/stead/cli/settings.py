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

File = Annotated[
    str | None, typer.Option("--file", "-f", help="Its spec, in YAML or JSON; - is stdin.", metavar="FILE")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="One field of the spec. May be repeated.", metavar="NAME=VALUE")
]


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
    """Fields that are given one by one."""
    fields = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not (name and equals):
            fail(f"--set takes NAME=VALUE, not {setting!r}", Code.USAGE)
        try:
            fields[name] = read_yaml(value)
        except NotYaml as error:
            fail(f"--set {name}: {error}", Code.USAGE)
    return fields


def merged(spec: Mapping[str, Any], fields: Mapping[str, Any]) -> Spec:
    """A spec with some fields set; what is set to nothing is left out."""
    return {name: value for name, value in {**spec, **fields}.items() if value is not None}


def spec_of(file: str | None, settings: list[str] | None, /, **options: Any) -> Spec:
    """A spec: what was set field by field counts most, then what options say, then what a file has."""
    said = {name: value for name, value in options.items() if value is not None}
    return merged(read_spec(file) if file is not None else {}, {**said, **set_fields(settings)})
