"""Names that the code had before it took those of its field do not come back."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from stead.api.problem_codes import TITLES

ROOT = Path(__file__).parents[1] / "src" / "stead"
SOURCES = sorted(ROOT.rglob("*.py"))

BEFORE = [line.split() for line in Path(__file__).with_name("names_before.txt").read_text().splitlines()]
MODULES = {name for what, name in BEFORE if what == "module"}
CLASSES = {name for what, name in BEFORE if what == "class"}
FIELDS = {name for what, name in BEFORE if what == "field"}
STATEMENTS = {name for what, name in BEFORE if what == "statement"}
FUNCTIONS = {name for what, name in BEFORE if what == "function"}
CODES = {name for what, name in BEFORE if what == "code"}
OPENAPI = Path(__file__).parents[1] / "docs/reference/openapi.json"
DIALECTS = ("Blazar", "Ns", "Mci", "SubGroup", "Vm")
"""How schemas are called whose fields other specifications name."""


def classes(source: str) -> set[str]:
    """The classes that a module defines."""
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}


def test_no_module_has_a_name_from_before() -> None:
    there = {str(file.relative_to(ROOT).with_suffix("")) for file in SOURCES}
    assert there & MODULES == set()


def test_no_class_has_a_name_from_before() -> None:
    found = {file.name: names for file in SOURCES if (names := classes(file.read_text()) & CLASSES)}
    assert found == {}


def test_no_statement_has_a_name_from_before() -> None:
    there = {file.stem for file in ROOT.glob("store/sql/*.sql")}
    assert len(there) > 100
    assert there & STATEMENTS == set()


def test_no_sql_function_has_a_name_from_before() -> None:
    sources = [file.read_text() for file in ROOT.glob("store/**/*.sql")]
    there = {name for source in sources for name in re.findall(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)", source)}
    assert len(there) > 100
    assert there & FUNCTIONS == set()


def test_no_field_of_the_http_interface_has_a_name_from_before() -> None:
    schemas = json.loads(OPENAPI.read_text())["components"]["schemas"]
    found = {
        name: names
        for name, schema in schemas.items()
        if not name.startswith(DIALECTS) and (names := set(schema.get("properties", ())) & FIELDS)
    }
    assert len(schemas) > 100
    assert len(FIELDS) > 50
    assert found == {}


def test_no_problem_code_is_one_from_before() -> None:
    assert len(TITLES) > 40
    assert len(CODES) > 5
    assert TITLES.keys() & CODES == set()


@pytest.mark.parametrize(("source", "found"), [("class Wish: ...", {"Wish"}), ("class ActionRequest: ...", set())])
def test_a_class_from_before_is_found(source: str, found: set[str]) -> None:
    assert classes(source) & CLASSES == found
