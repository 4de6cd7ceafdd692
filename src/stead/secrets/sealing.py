"""Sealed secrets: text that may be kept in a repository or said on a command line, since only a key opens it.

The form is Fernet's, as `cryptography` has it: AES in CBC mode with an HMAC, and a version in front. A key file has a
key on each line: the first one seals, all of them open, so a key is changed by putting a new one on top.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

SEALED = "sealed"
"""The word before the colon."""


class SealingKeys:
    """What seals and opens."""

    def __init__(self, lines: list[str]) -> None:
        try:
            self._fernet = MultiFernet([Fernet(line) for line in lines])
        except ValueError:
            raise ValueError("the key file has a line that is no key: `stead secret key` makes one") from None

    @classmethod
    def read(cls, path: Path) -> SealingKeys:
        """Those of a file. Empty lines and those that begin with # do not count."""
        try:
            lines = [line.strip() for line in path.read_text(encoding="ascii").splitlines()]
        except UnicodeDecodeError:
            lines = []
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise ValueError(f"{path} has no key in it: `stead secret key` makes one")
        return cls(keys)

    def seal(self, value: str) -> str:
        """`sealed:…`, which opens to the value."""
        return f"{SEALED}:{self._fernet.encrypt(value.encode()).decode()}"

    def open(self, text: str) -> str:
        """What was sealed; `text` is what follows the colon."""
        try:
            return self._fernet.decrypt(text.encode()).decode()
        except (InvalidToken, UnicodeDecodeError):
            raise ValueError("it was sealed with another key, or is not whole") from None


def make_key(path: Path) -> None:
    """A new key in a new file, which nobody else may read."""
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "w", encoding="ascii") as file:
        file.write(Fernet.generate_key().decode() + "\n")
