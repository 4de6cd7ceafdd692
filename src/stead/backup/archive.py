"""A backup is one file: a zip, in which a dump of PostgreSQL's own lies beside a manifest that says what it is of.

The manifest is written last, and the list of what is in a zip stands at its end: a file that was cut off anywhere has
neither, and is none. The dump has everything but the row of the cell, which is in the manifest. So whoever brings the
dump alone back, with other tools, gets a database on which no controller starts.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from zlib import error as ZlibError  # noqa: N812

import msgspec

DUMP, MANIFEST = "cell.dump", "manifest.json"
FORMAT = 1
CHUNK = 1 << 20


class BrokenArchive(Exception):
    """A file that is no whole backup; the message says what is wrong with it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup is of."""

    format: int = FORMAT
    stead: str
    """The version that made it."""
    revision: str
    """Of the schema."""
    name: str
    """Of the cell, as whoever made it said."""
    at: datetime
    """The moment that it shows: what was committed before is in it, and nothing else."""
    cell: dict[str, Any]
    """The row of the cell at that moment."""
    resources: int
    operations: int
    """Under way."""
    queued: int
    database: str
    system: str
    """The cluster of PostgreSQL that it is from."""
    server: str
    sha256: str = ""
    """Of the dump."""
    size: int = 0
    """Of the dump, in bytes."""

    @property
    def incarnation(self) -> int:
        """Of the cell."""
        return int(self.cell["incarnation"])

    @property
    def position(self) -> int:
        """Of the journal."""
        return int(self.cell["last_position"])


@contextmanager
def written(file: Path) -> Iterator[zipfile.ZipFile]:
    """A new archive, for its owner alone: under its name, it is there when all of it is on the disk."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
                yield archive
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        part.unlink(missing_ok=True)


def read_manifest(file: Path) -> Manifest:
    """What a backup is of. Raises `BrokenArchive` where it is none."""
    with opened(file) as (manifest, _):
        return manifest


@contextmanager
def opened(file: Path) -> Iterator[tuple[Manifest, IO[bytes]]]:
    """A backup's manifest and dump. Raises `BrokenArchive` where it is none, also while the dump is read."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open(DUMP) as dump:
            manifest = msgspec.json.decode(archive.read(MANIFEST), type=Manifest)
            if manifest.format != FORMAT:
                raise BrokenArchive(f"{file} is of format {manifest.format}, and this version knows {FORMAT}")
            yield manifest, dump
    except (zipfile.BadZipFile, KeyError, EOFError, ZlibError, msgspec.DecodeError) as error:
        raise BrokenArchive(
            f"{file} is no whole backup: {str(error).strip(chr(39)) or type(error).__name__}"
        ) from None
    except OSError as error:
        raise BrokenArchive(f"{file} cannot be read: {error.strerror or error}") from None


def verify(file: Path) -> Manifest:
    """Read all of a backup. Raises `BrokenArchive` where the dump is another than the manifest says."""
    with opened(file) as (manifest, dump):
        digest, size = hashlib.sha256(), 0
        while chunk := dump.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
        if (digest.hexdigest(), size) != (manifest.sha256, manifest.size):
            raise BrokenArchive(f"{file} was changed: its dump is not the one that the manifest tells of")
        return manifest
