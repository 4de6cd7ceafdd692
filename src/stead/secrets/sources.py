"""Where a secret is read from: the environment, a file, a command, or a text that only a key opens.

Each is read anew whenever it is asked for, so that a secret can be changed where it is kept. What goes wrong says
where it was looked for, and never what was found.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from stead.secrets.sealing import SEALED, SealingKeys

TIMEOUT = 10.0
"""Seconds that a command has."""

MAX_FILE_BYTES = 64 * 1024
"""Bytes that a secret may have."""

LINE = 200
"""Characters of a command's complaint that are shown."""

HOW = "env:NAME, file:PATH, command:WORDS or sealed:…, which `stead secret seal` makes"

type Source = Callable[[], str]
"""Reads a secret, and raises `UnreadableSecret`."""


class UnreadableSecret(ValueError):
    """A secret that cannot be read, or that is given in a way in which none may be given."""


def named(reference: str, key: str = "") -> Source:
    """What a reference stands for. `key` is the file of the key that opens what is sealed."""
    scheme, colon, rest = reference.partition(":")
    makers: dict[str, Callable[[str], Source]] = {
        "env": _from_environment,
        "file": _from_file,
        "command": _from_command,
        SEALED: lambda text: _from_sealed(text, key),
    }
    if not colon or scheme not in makers:
        # Not a word of it is repeated: it may be the secret itself.
        raise UnreadableSecret(f"it is a secret, and command lines and files are read by others: give it as {HOW}")
    if not rest:
        raise UnreadableSecret(f"nothing follows {scheme}:")
    return makers[scheme](rest)


def private(path: Path) -> None:
    """Refuse a file that anybody on the machine may read or change."""
    mode = path.stat().st_mode
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        raise UnreadableSecret(f"{path} may be read or changed by others: chmod o-rw {path}")


def _can_be_named(name: str) -> bool:
    """Whether the system could have anything of that name: not with a NUL in it, or with halves of characters."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _from_environment(name: str) -> Source:
    if not _can_be_named(name):
        raise UnreadableSecret("no environment has anything of such a name")

    def read() -> str:
        if name not in os.environ:
            raise UnreadableSecret(f"the environment has no {name}")
        return _fit(os.environ[name], f"{name} of the environment")

    return read


def _from_file(path: str) -> Source:
    if not _can_be_named(path):
        raise UnreadableSecret("there is no file of such a name")

    def read() -> str:
        try:
            private(Path(path))
            with Path(path).open("rb") as file:
                return _text(file.read(MAX_FILE_BYTES + 1), path)
        except OSError as error:
            raise UnreadableSecret(f"cannot read {path}: {error.strerror}") from None

    return read


def _from_command(text: str) -> Source:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise UnreadableSecret("the words after command: are none that can be run")

    def read() -> str:
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False, shell=False
            )
        except subprocess.TimeoutExpired:
            raise UnreadableSecret(f"{words[0]} said nothing in {TIMEOUT:g} s") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "there are no such words"
            raise UnreadableSecret(f"{words[0]} cannot be run: {why}") from None
        if done.returncode:
            # Of what it complains of, the first line and no more: tools repeat in it what they were given.
            raise UnreadableSecret(f"{words[0]} ended with {done.returncode}{_complaint(done.stderr, done.stdout)}")
        return _text(done.stdout, f"the answer of {words[0]}")

    return read


def _from_sealed(text: str, key: str) -> Source:
    if not key:
        raise UnreadableSecret("it is sealed, and there is no key to open it: give --secrets-key")

    def read() -> str:
        try:
            private(Path(key))
            return _fit(SealingKeys.read(Path(key)).open(text), "what was sealed")
        except OSError as error:
            raise UnreadableSecret(f"cannot read the key {key}: {error.strerror}") from None
        except UnreadableSecret:
            raise
        except ValueError as error:
            raise UnreadableSecret(str(error)) from None

    return read


def _complaint(stderr: bytes, stdout: bytes) -> str:
    """The first line of it, where what the command has found is no part of that."""
    line = (stderr.decode(errors="replace").strip().splitlines() or [""])[0][:LINE]
    found = stdout.decode(errors="replace").strip()
    return f": {line}" if line and not (found and found in line) else ""


def _text(content: bytes, where: str) -> str:
    """Without the line's end that editors and tools put after it."""
    try:
        return _fit(content.decode().removesuffix("\n").removesuffix("\r"), where)
    except UnicodeDecodeError:
        raise UnreadableSecret(f"{where} is not text") from None


def _fit(value: str, where: str) -> str:
    if not value:
        raise UnreadableSecret(f"{where} is empty")
    if len(value.encode()) > MAX_FILE_BYTES:
        raise UnreadableSecret(f"{where} is longer than {MAX_FILE_BYTES} bytes")
    return value
