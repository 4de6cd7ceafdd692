"""How a test module says what of it runs on every push, and what only in the full tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import pytest
from hypothesis import settings

ALL_EXAMPLES, FEW_EXAMPLES = 100, 20
"""Against how many examples a property is held, in the full tier and in the fast one, where it says nothing else."""


def brief[C: type](*names: str) -> Callable[[C], C]:
    """A class of which only these tests are in the fast tier; the others, inherited ones too, are long."""

    def mark(cls: C) -> C:
        tests = {name: getattr(cls, name) for name in dir(cls) if name.startswith("test_")}
        unknown = set(names) - set(tests)
        assert not unknown, f"{cls.__name__} has no {', '.join(sorted(unknown))}"
        for name, test in tests.items():  # in the same order in every worker
            if name not in names:
                # Another class may inherit the same function, and run all of it in the fast tier.
                setattr(cls, name, pytest.mark.long(_copy(test)))
        return cls

    return mark


def first_fast(values: Iterable[Any], fast: int = 1) -> list[Any]:
    """Values for `parametrize`, of which only the first ones are in the fast tier."""
    kept = list(values)
    return [*kept[:fast], *(_long(value) for value in kept[fast:])]


def examples(full: int) -> int:
    """How many examples a property is held against, of so many in the full tier."""
    return full if is_full() else max(1, full // 5)


def is_full() -> bool:
    """Whether this run is of the full tier."""
    assert settings.default is not None
    return settings.default.max_examples >= ALL_EXAMPLES


def _long(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)


def _copy(test: FunctionType) -> FunctionType:
    made = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    made.__kwdefaults__ = test.__kwdefaults__
    made.__dict__.update({**test.__dict__, "pytestmark": [*getattr(test, "pytestmark", [])]})
    made.__annotations__ = test.__annotations__
    made.__doc__, made.__qualname__, made.__module__ = test.__doc__, test.__qualname__, test.__module__
    return made
