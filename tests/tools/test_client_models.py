"""The generated models of the client: they are what the OpenAPI document says, and a stale one fails the check."""

from __future__ import annotations

import copy
import json
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from stead.client import models
from tools import client_models, generated_file

DOCUMENT: dict[str, Any] = {
    "info": {"title": "T", "version": "1"},
    "paths": {
        "/v1/things": {"get": {"responses": {"200": {"schema": {"$ref": "#/components/schemas/Thing"}}}}},
        "/other": {"get": {"responses": {"200": {"schema": {"$ref": "#/components/schemas/Foreign"}}}}},
    },
    "components": {
        "schemas": {
            "Foreign": {"description": "Of a dialect.", "properties": {"x": {"type": "string"}}, "required": ["x"]},
            "Problem": {"description": "Why not.", "properties": {"code": {"type": "string"}}, "required": ["code"]},
            "Word": {"type": "string", "enum": ["a", "b"]},
            "Thing": {
                "description": "A thing.",
                "properties": {
                    "word": {"$ref": "#/components/schemas/Word"},
                    "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
                    "words": {"type": "array", "items": {"type": "string"}, "default": []},
                    "size": {"type": "integer", "default": 1, "maximum": 9},
                    "parts": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
                "required": ["word", "at", "size"],
            },
        }
    },
}


@cache
def generated() -> str:
    """The models of the small document."""
    return client_models.generate(DOCUMENT)


def test_models_have_what_a_caller_reads_and_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    text = generated()
    assert "class Foreign" not in text
    assert "class Word" not in text
    module: Any = ModuleType("generated")
    monkeypatch.setitem(sys.modules, "generated", module)  # where its annotations are looked up
    exec(text, vars(module))
    thing = msgspec.json.decode(b'{"word": "new", "size": 10, "colour": "blue"}', type=module.Thing)
    assert msgspec.structs.asdict(thing) == {"word": "new", "at": None, "words": (), "size": 10, "parts": {}}
    seen = msgspec.json.decode(b'{"word": "a", "at": "2026-01-31T12:00:00Z", "words": ["b"]}', type=module.Thing)
    assert isinstance(seen.at, datetime)
    assert seen.words == ("b",)
    with pytest.raises(AttributeError):
        seen.size = 2


def test_models_are_stale_when_the_document_has_another_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "openapi.json"
    edited = copy.deepcopy(DOCUMENT)
    edited["components"]["schemas"]["Thing"]["properties"]["colour"] = {"type": "string", "default": ""}
    document.write_text(json.dumps(edited))
    target = tmp_path / "models.py"
    target.write_text(before := generated())
    monkeypatch.setattr(generated_file, "ROOT", tmp_path)
    now = client_models.generate(json.loads(document.read_text()))
    assert generated_file.main(target, lambda: now, ["--check"]) == 1
    assert capsys.readouterr().out == "stale models.py\n"
    assert target.read_text() == before
    assert generated_file.main(target, lambda: now, []) == 0
    assert generated_file.main(target, lambda: now, ["--check"]) == 0
    assert "colour" in target.read_text()


def test_the_client_exports_generated_models() -> None:
    assert models.Resource.__module__ == "stead.client.models"
