"""The console's types: made from the OpenAPI document, and stale when it has other fields, also without Node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import console_types, generated_file


def test_types_are_made_from_what_the_document_says_of_answers() -> None:
    source = console_types.reduce_document(json.loads(generated_file.OPENAPI.read_text()))
    assert console_types.TARGET.read_text().startswith(console_types.header_line(source)), "run `make docs`"
    schemas = json.loads(source)["components"]["schemas"]
    assert "description" not in schemas["Resource"]
    assert {"path", "spec"} <= set(schemas["Resource"]["properties"])
    assert {"title", "detail"} <= set(schemas["Problem"]["properties"])
    assert not [name for name in schemas if name.startswith("Blazar")]


def test_types_are_stale_without_node_when_the_document_has_another_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(generated_file.OPENAPI.read_text())
    source = console_types.reduce_document(document)
    monkeypatch.setattr(console_types, "PROGRAM", tmp_path / "missing")
    target = tmp_path / "schema.ts"
    target.write_text(console_types.header_line(source) + "export type A = 1;\n")
    assert console_types.current_text(source, target) == target.read_text()
    fields = document["components"]["schemas"]["Resource"]["properties"]
    fields["path"]["description"] = "Other words make no other type."
    assert console_types.reduce_document(document) == source
    fields["colour"] = {"type": "string"}
    with pytest.raises(SystemExit, match=r"stale schema\.ts"):
        console_types.current_text(console_types.reduce_document(document), target)
    with pytest.raises(SystemExit, match=r"stale none\.ts"):
        console_types.current_text(source, tmp_path / "none.ts")


@pytest.mark.skipif(not console_types.PROGRAM.is_file(), reason="openapi-typescript is not installed")
def test_types_are_stale_with_node_when_the_document_has_another_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields: dict[str, object] = {"path": {"type": "string"}}
    schemas = {"Resource": {"type": "object", "properties": fields}}
    info = {"title": "T", "version": "1"}
    document = {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}}
    monkeypatch.setattr(generated_file, "ROOT", tmp_path)
    target = tmp_path / "schema.ts"
    target.write_text(console_types.current_text(json.dumps(document)))
    fields["colour"] = {"type": "string"}
    now = console_types.current_text(json.dumps(document))
    assert generated_file.main(target, lambda: now, ["--check"]) == 1
    assert generated_file.main(target, lambda: now, []) == 0
    assert generated_file.main(target, lambda: now, ["--check"]) == 0
    assert "colour?: string" in target.read_text()
    assert "export type Resource = " in target.read_text()
