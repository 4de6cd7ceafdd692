"""Secrets that somebody shows to say who they are. Each has 256 random bits, and only its digest is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

PREFIX = "stead"
"""So that whoever finds one knows what it is; scanners look for such words."""

_FORM = re.compile(rf"{PREFIX}_([a-z0-9]{{10}})_([A-Za-z0-9_-]{{43}})")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


class GeneratedSecret(NamedTuple):
    """A secret that was just made: the only time that it is known."""

    id: str
    text: str
    digest: bytes


def make() -> GeneratedSecret:
    """A new one."""
    id = "".join(secrets.choice(_LETTERS) for _ in range(10))
    text = f"{PREFIX}_{id}_{secrets.token_urlsafe(32)}"
    return GeneratedSecret(id, text, digest(text))


def digest(text: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(text.encode()).digest()


def id_of(text: str) -> str | None:
    """The id that is in one; None where it is none."""
    found = _FORM.fullmatch(text)
    return found[1] if found else None


def same(text: str, kept: bytes) -> bool:
    """Whether it is the one that was kept, in a time that tells nothing."""
    return hmac.compare_digest(digest(text), kept)
