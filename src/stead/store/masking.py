"""Values that the journal does not keep: an environment may have passwords in it.

The resource itself keeps them, since its program needs them; the journal is kept forever and is exported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ENVIRONMENT = "env"
"""The field of a spec, at any depth, whose values are masked."""

MASK = "***"
"""What stands where a value was."""


def masked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with the names of its environment variables, without their values."""
    return {name: _masked(name, value) for name, value in spec.items()}


def _masked(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict.fromkeys(value, MASK) if name == ENVIRONMENT else masked(value)
    if isinstance(value, list | tuple):
        return [_masked("", each) for each in value]
    return value
