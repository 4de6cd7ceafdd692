"""What we write into a thing of libvirt's, to know it again: an element of our own in its metadata."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec
from msgspec import Struct

SPACE = "https://stead.dev/xmlns/libvirt/1"
"""Our namespace."""
PREFIX = "stead"


class Mark(Struct, frozen=True, kw_only=True):
    """Whose it is, and how it is meant."""

    token: str
    path: str
    kind: str
    revision: int = 0
    digest: str = ""
    """Of the spec that it was made with."""
    state: str = ""
    """In which it is put aside: deleted, disabled, paused."""
    order: str = ""
    """That made it."""
    fresh: str = ""
    """It was defined, and never started: when that was, in seconds since 1970."""


def element(mark: Mark) -> str:
    """As libvirt takes it by itself."""
    words = (f"{name}={quoteattr(str(value))}" for name, value in msgspec.structs.asdict(mark).items())
    return f"<thing {' '.join(words)}/>"


def embedded(mark: Mark) -> str:
    """As it stands in a definition."""
    inner = element(mark).removeprefix("<thing")
    return f'<metadata><{PREFIX}:thing xmlns:{PREFIX}="{SPACE}"{inner}</metadata>'


def read(definition: str) -> Mark | None:
    """The mark in a definition, or alone; None where it is not ours."""
    try:
        tree = ET.fromstring(definition)
    except ET.ParseError:
        return None
    found = tree if tree.tag in ("thing", f"{{{SPACE}}}thing") else tree.find(f"metadata/{{{SPACE}}}thing")
    if found is None:
        return None
    said: dict[str, Any] = dict(found.attrib)
    try:
        return msgspec.convert(said, Mark, strict=False)
    except msgspec.ValidationError:
        return None


msgspec.convert({"token": "", "path": "", "kind": ""}, Mark)  # threads must not be the first to use a type
