"""Each model is written once: no two classes of the interface, the client and the read side have the same fields."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType

import msgspec
import pydantic
import pytest

import stead.api
import stead.application
import stead.client

PACKAGES = (stead.api, stead.client, stead.application)
GENERATED = "stead.client.models"
LEAST = 3
"""Fields; with fewer, two classes are alike by chance."""
ALLOWED: Mapping[frozenset[str], str] = {
    frozenset({"kind", "description", "actions", "operation"}): "a remedy and a step name different things to do",
    frozenset({"name", "start_date", "end_date", "reservations", "events", "before_end_date"}): (
        "requests of the Blazar dialect, which requires the fields to make a lease and not to change one"
    ),
}
"""Sets of fields that two classes may have, each with the reason."""


def fields(kind: type) -> frozenset[str]:
    """The names of the fields of a class that holds values; none of any other."""
    if dataclasses.is_dataclass(kind):
        return frozenset(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, pydantic.BaseModel):
        return frozenset(kind.model_fields)
    return frozenset(kind.__struct_fields__) if issubclass(kind, msgspec.Struct) else frozenset()


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """A package and all in it, the generated one left out."""
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name != GENERATED:
            yield importlib.import_module(found.name)


def alike(kinds: set[type]) -> list[tuple[str, ...]]:
    """The names of classes with the same fields."""
    by_fields: dict[frozenset[str], list[str]] = {}
    for kind in kinds:
        by_fields.setdefault(fields(kind), []).append(f"{kind.__module__}.{kind.__qualname__}")
    found = ((names, kinds) for names, kinds in by_fields.items() if len(names) >= LEAST and names not in ALLOWED)
    return sorted(tuple(sorted(kinds)) for _, kinds in found if len(kinds) > 1)


def test_no_model_is_written_twice() -> None:
    kinds = {
        kind
        for package in PACKAGES
        for module in modules(package)
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    }
    assert len(kinds) > 100
    assert alike(kinds) == []


def test_a_second_class_with_the_same_fields_is_found() -> None:
    @dataclasses.dataclass
    class A:
        x: int
        y: int
        z: int

    class B(pydantic.BaseModel):
        z: int
        y: int
        x: int

    class C(msgspec.Struct):
        x: int
        y: int

    ((one, other),) = alike({A, B, C})
    assert (one.rpartition(".")[2], other.rpartition(".")[2]) == ("A", "B")


@pytest.mark.parametrize("name", stead.client.__all__)
def test_the_client_has_all_that_it_exports(name: str) -> None:
    assert hasattr(stead.client, name)
