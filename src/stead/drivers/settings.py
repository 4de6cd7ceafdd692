"""A driver's settings, read from what an agent was told.

Which of them are secret the driver declares by their type, `Secret`. Such a one is named, not said, and is read once
here: what is missing is told when an agent starts, not when its first order comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from stead.secrets import NO_SECRET, Secret, named

KEY = "secrets_key"
"""Beside the driver's own settings: the file of the key that opens sealed secrets."""


def read[T: msgspec.Struct](kind: type[T], config: Mapping[str, Any]) -> T:
    """The settings, of which those that are secret can be revealed. Raises `ValueError` where something is wrong."""
    given = dict(config)
    key = str(given.pop(KEY, ""))
    settings = msgspec.convert(given, kind, strict=False, dec_hook=partial(_convert, key))
    for name in secret(kind):
        value: Secret = getattr(settings, name)
        if value:
            try:
                value.reveal()
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return settings


def secret(kind: type[msgspec.Struct]) -> list[str]:
    """The names of those settings that are secret."""
    return [field.name for field in msgspec.structs.fields(kind) if field.type is Secret]


def _convert(key: str, kind: type[Any], value: Any) -> Any:
    if kind is not Secret:
        raise NotImplementedError
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise ValueError("it is a secret, which is named by a text")
    return Secret(named(value, key)) if value else NO_SECRET
