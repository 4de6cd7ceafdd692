"""`stead journal head`, `verify` and `export`: the journal as an audit trail.

Hashes are computed here, from lines as they come, so that verification needs no trust in the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.journal_files import JournalFile, JournalFileError, check_file, go_over
from stead.cli.output import Code, Format, data, fail, line, note
from stead.cli.server_commands import Server, plain, reach
from stead.client import DEFAULT_SERVER, BrokenChain, ChainedLine, JournalChain, JournalHead, SyncClient

_KEPT = re.compile(r"(\d+):([0-9a-f]{64})")


def moment(value: str | None) -> datetime | None:
    """A date, or a time; where it says no zone, in UTC."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise typer.BadParameter(f"{value} is no time: say 2026-01-31 or 2026-01-31T12:00:00Z") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _kept(values: Iterable[str]) -> dict[int, bytes]:
    found = {}
    for value in values:
        matched = _KEPT.fullmatch(value.strip())
        if matched is None:
            raise typer.BadParameter(
                f"{value} is no head: say POSITION:HASH, as `stead journal head` does", param_hint="--head"
            )
        found[int(matched[1])] = bytes.fromhex(matched[2])
    return found


def head(
    output: Annotated[
        Format | None, typer.Option("--output", "-o", help="Output format, with further fields.")
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Print the last line of the journal that has a hash, as POSITION:HASH.

    Keep it out of reach of those who may change the database. `stead journal verify --head` verifies that no line up
    to it was changed since.
    """
    with reach(server) as client:
        found = client.journal_head()
    if output in (Format.JSON, Format.YAML):
        data(plain(found), output)
        return
    line(f"{found.position}:{found.hash}")


Kept = Annotated[
    list[str] | None,
    typer.Option("--head", metavar="POSITION:HASH", help="Head that was kept. Repeatable."),
]


def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, help="Exported files to verify, instead of a server."
        ),
    ] = None,
    kept: Kept = None,
    archives: Annotated[
        Path | None,
        typer.Option(metavar="DIR", exists=True, file_okay=False, help="Folder of archive files."),
    ] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Verify that no line of the journal was changed, added or removed.

    Every hash is computed here, from the lines themselves. The first invalid line is shown with the reason, and the
    command ends with 1. With files, no server is asked.
    """
    known = _kept(kept or ())
    with failing():
        if files:
            _files(files, known)
            return
        with reach(server) as client:
            _server(client, known, archives)


def _files(files: list[Path], known: dict[int, bytes]) -> None:
    chain = go_over(files, known)
    chain.end()
    _tell(chain, f"in {len(files)} {'file' if len(files) == 1 else 'files'}")


def _server(client: SyncClient, known: dict[int, bytes], archives: Path | None) -> None:
    found = client.journal_head()
    known = {found.position: bytes.fromhex(found.hash)} | known
    chain, waiting = _beginning(found, known, archives), 0
    for page in client.export_journal(after=chain.position):
        for each in map(ChainedLine.read, page):
            if each.hash is None and each.position > found.position:
                waiting += 1  # numbered by a controller that knows of no hashes; the next one gives them
            else:
                chain.add(each)
    chain.end()
    _tell(chain, "")
    if waiting:
        note(f"{waiting:,} newer lines have no hash yet")


def _beginning(found: JournalHead, known: dict[int, bytes], folder: Path | None) -> JournalChain:
    """Where the server's lines begin: after those that are archived, which are gone over first if they are here."""
    if not found.archives:
        return JournalChain(0, None, known)
    last = found.archives[-1]
    if folder is not None:
        for record in found.archives:
            check_file(folder / record.file, record.sha256)
        chain = go_over([folder / record.file for record in found.archives], known)
        if (chain.position, chain.hash) != (last.last, _bytes(last.hash)):
            raise BrokenChain(
                chain.position, f"the archived files do not end as the server says: {last.last}:{last.hash}"
            )
        return chain
    chain = JournalChain(last.last, _bytes(last.hash), known)
    files = f"{len(found.archives)} files" if len(found.archives) > 1 else last.file
    note(f"lines up to {last.last} are archived, in {files}: to have them looked at, say --archives DIR")
    for position in chain.unseen:
        note(f"the head at {position} is among them, and was not held against anything")
    return chain


def _bytes(hash: str | None) -> bytes | None:
    return bytes.fromhex(hash) if hash is not None else None


def _tell(chain: JournalChain, where: str) -> None:
    if not chain.lines:
        line("there are no lines yet")
        return
    if chain.without:
        last = chain.first + chain.without - 1
        note(f"lines {chain.first} to {last} have no hashes: changes of them cannot be found")
    for before, after in chain.leaps:
        why = "a backup was restored there, or lines were removed and all hashes after them rewritten"
        note(f"positions leap from {before} to {after}: {why}")
    lines, are = ("line", "is as it was") if chain.lines == 1 else ("lines", "are as they were")
    line(f"{chain.lines:,} {lines}{where and ' ' + where} {are} written: {chain.first} to {chain.position}")
    if chain.hash is not None:
        line(f"head {chain.position}:{chain.hash.hex()}")


def export(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", file_okay=False, help="Folder of the files.")],
    from_: Annotated[
        int | None, typer.Option("--from", min=1, metavar="POSITION", help="Position of the first line; default 1.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Time of the first line.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Time before which lines are written.")] = None,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Export the journal to files, as JSON lines with their hashes.

    Each line is verified before it is written, as `stead journal verify` does. With the folder of an earlier or
    interrupted export, the command continues where its files end. A file has 100,000 lines.
    """
    begins, ends = moment(since), moment(until)
    if begins is not None and from_ is not None:
        fail("--from and --since exclude each other", Code.USAGE)
    with reach(server) as client, failing():
        trail = JournalFile(to)
        chain = trail.resume()
        if chain is None:
            after = (from_ or 1) - 1 if begins is None else client.journal_head(before=begins).before or 0
            chain = trail.begin(start(client, after))
        elif begins is not None or from_ is not None:
            fail(f"{to} has files that end at {chain.position}: to go on with them, say neither --from nor --since")
        last = client.journal_head(before=ends).before if ends is not None else None
        before = chain.lines
        try:
            copy(client, trail, last)
        finally:
            trail.close()
    line(f"{chain.lines - before:,} lines were written to {to}, up to {chain.position}")


def start(client: SyncClient, after: int) -> JournalChain:
    """The chain from after a position on, or from where lines are not archived."""
    found = client.journal_head()
    if found.archives and found.archives[-1].last >= after:
        last = found.archives[-1]
        if last.last > after:
            note(f"lines up to {last.last} are archived, the last of them in {last.file}")
        return JournalChain(last.last, _bytes(last.hash))
    if after == 0:
        return JournalChain()
    page = next(client.export_journal(after=after - 1, limit=1), [])
    before = ChainedLine.read(page[0]) if page else None
    if before is None or before.position != after:
        raise BrokenChain(after, "there is no such line")
    return JournalChain(after, before.hash)


def copy(client: SyncClient, trail: JournalFile, last: int | None) -> None:
    """Write what there is up to a position, or to the end."""
    assert trail.chain is not None
    for page in client.export_journal(after=trail.chain.position):
        wanted = [raw for raw in page if last is None or ChainedLine.read(raw).position <= last]
        trail.add(wanted)
        if len(wanted) < len(page):
            return


@contextmanager
def failing() -> Iterator[None]:
    """What is wrong with the journal or its files ends the command."""
    try:
        yield
    except BrokenChain as error:
        fail(f"the journal is not as it was written. Position {error.position}: {error.says}")
    except JournalFileError as error:
        fail(str(error), Code.USAGE)
