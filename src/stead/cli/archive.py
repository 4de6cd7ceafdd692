"""`stead journal archive`: old lines go to files, and out of the journal once they are there for sure.

A file is written under another name, brought to the disk, and read again from there; only then does it get its name,
and only then is the server asked to let go of what is in it, which it does if its own lines come to the same digest.
So an archive that is interrupted at any point has lost nothing, and can be repeated.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.journal_files import JournalFile, go_over, heading_of, lines_of
from stead.cli.journal_verify import copy, failing, moment, start
from stead.cli.output import line
from stead.cli.server_commands import Server, clock, reach
from stead.client import DEFAULT_SERVER, Archive, BrokenChain, NextArchive, SyncClient
from stead.client.journal_chain import genesis, link

SOON = 1.0
"""Seconds in which lines that have just been written get their positions."""


def archive(
    before: Annotated[
        str, typer.Option(metavar="DATE", help="Day before which lines are archived, in UTC; at most today.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", file_okay=False, help="Folder of the files.")],
    server: Server = DEFAULT_SERVER,
) -> None:
    """Archive old lines of the journal into files, one for each day.

    Each file is looked at once it is on the disk. A line leaves the database only when its file is there, and the
    chain of hashes goes on over what has left: `stead journal verify --archives DIR` goes over all of it. Keep the
    files: they are the only copy of these lines. An interrupted archive continues when it is repeated.
    """
    until = moment(before)
    assert until is not None
    to.mkdir(parents=True, exist_ok=True)
    with reach(server) as client, failing():
        found = client.next_archive(until)
        if found is None:
            line("there is nothing to archive")
        while found is not None:
            if found.pending:
                time.sleep(SOON)
            else:
                record = _archive(client, found, to)
                day = clock(record.until)[:10]
                line(f"lines {record.first} to {record.last}, from before {day}, are in {to / record.file}")
            found = client.next_archive(until)


def _archive(client: SyncClient, what: NextArchive, folder: Path) -> Archive:
    file = folder / f"journal-{what.first:012d}-{what.last:012d}.jsonl"
    part = file.with_suffix(".part")
    _write(client, what, part)
    chain = go_over([part])
    if (chain.first, chain.position) != (what.first, what.last):
        raise BrokenChain(chain.position + 1, f"there are no lines up to {what.last}")
    heading = heading_of(part)
    digest = heading.hash if heading.hash is not None else genesis(what.first - 1)
    for each in lines_of(part):
        digest = link(digest, each.text)
    part.replace(file)
    _sync(folder)
    with file.open("rb") as opened:
        sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
    return client.archive_journal(
        {
            "first": what.first,
            "last": what.last,
            "previous": heading.previous,
            "hash": chain.hash.hex() if chain.hash is not None else None,
            "digest": digest.hex(),
            "until": what.until.isoformat(),
            "file": file.name,
            "sha256": sha256,
        }
    )


def _write(client: SyncClient, what: NextArchive, part: Path) -> None:
    trail = JournalFile(part.parent, most=what.last - what.first + 1)
    trail.begin(start(client, what.first - 1))
    trail.open(part)
    try:
        copy(client, trail, what.last)
    finally:
        trail.close()


def _sync(folder: Path) -> None:
    """Have the name of a file on the disk, too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
