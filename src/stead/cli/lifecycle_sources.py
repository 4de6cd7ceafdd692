"""Where a command finds the lifecycle it is told: a built-in kind by its name, or a file.

A name that could be either is a kind; `./name` is always a file, and `-` is stdin.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import typer

from stead.catalog import KINDS
from stead.cli.output import Code, fail, note
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import DocumentError, load

_SUFFIXES = (".yaml", ".yml", ".json")


def find(name: str) -> Lifecycle:
    """The lifecycle of that kind or file; ends the command where there is none."""
    try:
        return locate(name)
    except DocumentError as error:
        for message in error.messages:
            note(message)
        raise typer.Exit(Code.USAGE) from None


def locate(name: str) -> Lifecycle:
    """Like `find`, but a file that is no lifecycle is the caller's matter: `DocumentError`."""
    if name in KINDS:
        return KINDS[name]
    if not _is_file(name):
        near = difflib.get_close_matches(name.lower(), KINDS, n=3)
        meant = f"did you mean {' or '.join(near)}?" if near else f"the kinds are {', '.join(KINDS)}"
        fail(f"there is no kind {name!r}; {meant}", Code.NOT_FOUND)
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        fail(f"there is no file {name}", Code.NOT_FOUND)
    except OSError as error:
        fail(f"cannot read {name}: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(f"{name} is not text in UTF-8 (byte {error.start})", Code.USAGE)
    return load(text, "stdin" if name == "-" else name)


def complete(incomplete: str) -> list[str]:
    """The kinds that a half-written word may become."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def _is_file(name: str) -> bool:
    return name == "-" or "/" in name or "\\" in name or name.lower().endswith(_SUFFIXES) or Path(name).is_file()
