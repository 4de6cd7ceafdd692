from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from grimp import ImportGraph

from tools.contracts import HouseContract, PureContract

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
CONTRACTS: dict[str, dict[str, Any]] = {c["type"]: c for c in PYPROJECT["tool"]["importlinter"]["contracts"]}
TYPES = {"house": HouseContract, "pure": PureContract}
PACKAGES = [row.partition(":")[0] for row in CONTRACTS["house"]["plan"]]


def broken(kind: str, *imports: tuple[str, str]) -> list[str]:
    """What the project's own contract says of a house in which only these imports exist."""
    graph = ImportGraph()
    for module in {"stead", *(module for pair in imports for module in pair)}:
        graph.add_module(module)
        if module.count(".") > 1:
            graph.add_module(module.rpartition(".")[0])
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    options = {key: value for key, value in CONTRACTS[kind].items() if key not in ("name", "type")}
    check = TYPES[kind](kind, {"root_packages": ["stead"]}, options).check(graph, verbose=False)
    assert check.kept == (not check.metadata["broken"])
    return list(check.metadata["broken"])


ALLOWED = {
    "catalog": {"lifecycle"},
    "batcher": {"origin"},
    "store": {"lifecycle", "batcher", "origin"},
    "bus": {"lifecycle"},
    "access": {"store", "lifecycle"},
    "backup": {"store"},
    "pki": {"bus"},
    "telemetry": {"secrets"},
    "controller": {
        "lifecycle",
        "catalog",
        "store",
        "bus",
        "access",
        "pki",
        "batcher",
        "origin",
        "telemetry",
        "schema",
    },
    "application": {
        "controller",
        "access",
        "store",
        "bus",
        "lifecycle",
        "catalog",
        "batcher",
        "origin",
        "telemetry",
        "schema",
    },
    "build": {"application", "controller", "access", "store", "bus", "catalog", "lifecycle", "pki", "telemetry"},
    "drivers": {"lifecycle", "bus", "secrets"},
    "agent": {"lifecycle", "bus", "drivers", "pki", "batcher", "secrets", "telemetry"},
    "api": {"application", "build", "access", "console", "origin", "telemetry", "schema"},
    "cli": {
        "client",
        "lifecycle",
        "catalog",
        "access",
        "api",
        "backup",
        "controller",
        "application",
        "build",
        "agent",
        "dev",
        "install",
        "pki",
        "secrets",
        "telemetry",
    },
    "__main__": {"cli"},
}


@pytest.mark.parametrize("imported", PACKAGES)
@pytest.mark.parametrize("importer", PACKAGES)
def test_the_plan_pair_by_pair(importer: str, imported: str) -> None:
    sentences = broken("house", (f"stead.{importer}.one", f"stead.{imported}.two"))
    allowed = importer == imported or imported in ALLOWED.get(importer, set())
    assert sentences == (
        [] if allowed else [f"{importer} may not import {imported}: stead.{importer}.one -> stead.{imported}.two"]
    )


def test_a_package_without_a_row_is_told() -> None:
    assert broken("house", ("stead.attic.one", "stead.attic.two")) == ["attic has no row in the plan"]


def test_the_root_is_open_to_all_and_imports_nothing() -> None:
    assert broken("house", ("stead.cli.main", "stead")) == []
    assert broken("house", ("stead", "stead.cli.main")) == ["stead imports stead.cli.main"]


IMPURE = [
    "asyncio",
    "datetime",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "subprocess",
]
IMPURE += ["sys", "threading", "time", "urllib", "uuid", "importlib", "rich", "typer"]


@pytest.mark.parametrize("imported", IMPURE)
@pytest.mark.parametrize("package", ["lifecycle", "catalog"])
def test_the_core_imports_nothing_impure(package: str, imported: str) -> None:
    sentence = f"{package} is pure and may not import {imported}: stead.{package}.one -> {imported}"
    assert broken("pure", (f"stead.{package}.one", imported)) == [sentence]
    assert broken("pure", ("stead.cli.one", imported)) == []


@pytest.mark.parametrize("imported", ["collections", "pydantic", "yaml", "stead.lifecycle.two"])
def test_the_core_imports_what_is_pure(imported: str) -> None:
    assert broken("pure", ("stead.lifecycle.one", imported)) == []
