"""The base of all models that interfaces show.

The HTTP interface serialises these dataclasses as they are, and its description is made from them: the sentence below
a field is the field's description there.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self, cast

from pydantic import ConfigDict, Field, PlainSerializer


class Model:
    """A frozen dataclass that an interface shows. Pydantic serialises it and does not validate it."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, found: object, **other: Any) -> Self:
        """The model with the attributes of the same names, and with other values for some fields."""
        return cls(**{name: getattr(found, name) for name in cls._names() if name not in other}, **other)

    @classmethod
    def of_record(cls, record: Mapping[str, Any], **other: Any) -> Self:
        """The model with what a record has under the same names, and with other values for some fields."""
        return cls(**{name: record[name] for name in cls._names() if name not in other}, **other)

    @classmethod
    def _names(cls) -> Iterable[str]:
        return cls.__dataclass_fields__  # type: ignore[attr-defined,no-any-return]


def one_of(values: Iterable[str]) -> Any:
    """Annotates a text that is one of these."""
    return Field(json_schema_extra={"enum": [str(value) for value in values]})


HIDDEN: Any = Field(exclude=True)
"""Annotates a field that no interface shows."""


def cursor(after: str | int | None) -> str | None:
    """A place in a list, in a form that is not made by hand."""
    if after is None:
        return None
    return base64.urlsafe_b64encode(json.dumps([after]).encode()).decode().rstrip("=")


def place_of(cursor: str) -> object:
    """The place that a cursor stands for; None where it stands for none."""
    try:
        (after,) = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        return None
    return cast(object, after)


Next = Annotated[str | int | None, PlainSerializer(cursor, return_type=str | None)]
"""From where a list goes on: a cursor where an interface shows it."""
