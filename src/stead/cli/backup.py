"""`stead backup`: back up a cell, restore it, and compare its records with what providers have."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import typer

from stead import backup
from stead.backup import (
    BackupFailed,
    BrokenArchive,
    CopyFailed,
    IncarnationNotRaised,
    Manifest,
    MigrationFailed,
    RestoreFailed,
    ToolFailed,
    ToolMissing,
)
from stead.cli.command import command, group
from stead.cli.comparing import compare
from stead.cli.listing import printable
from stead.cli.output import Code, Format, data, fail, line, note
from stead.cli.serve import Cell, Database, unlocked
from stead.cli.server_commands import Server, SingleOutput, clock, plain, reach
from stead.client import DEFAULT_SERVER

app = group()

File = Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.", show_default=False)]
Held = Annotated[
    bool, typer.Option("--hold/--no-hold", help="Hold orders until `stead backup release`, or send them.")
]


@command(app, "stead backup create monday.stead --database postgresql://postgres@127.0.0.1/stead")
def create(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file of the backup.", show_default=False)],
    database: Database,
    cell: Cell = "main",
    copy_to: Annotated[
        list[str] | None,
        typer.Option(
            "--copy-to",
            envvar="STEAD_BACKUP_COPY_TO",
            metavar="FOLDER|S3",
            help="Folder of a copy, or s3://BUCKET/FOLDER. Repeatable.",
        ),
    ] = None,
    output: SingleOutput = Format.TABLE,
) -> None:
    """Back up a running cell into one file, without blocking it.

    Every request that was accepted before the command began is in it. Only its owner may read the file: it has
    everything that the database has. Messages of the bus and state of agents are not needed.

    When the file and all copies are there, the cell notes the backup: its age is the metric
    `stead_backup_age_seconds`. Credentials and endpoint of S3 come from the environment, as for AWS's own programs.
    """
    if file.exists():
        fail(f"{file} exists already; name a new file", Code.REJECTED)
    dsn = unlocked(context, database)
    taken = _done(backup.take(dsn, file, cell))
    copies = [_copied(file, to) for to in copy_to or ()]
    recorded = _done(backup.record(dsn, taken))
    _show(taken, file, output, copies)
    if not recorded:
        note("the cell does not know of this backup: its database takes no change, or its schema is older than this")


@command(app, "stead backup verify monday.stead")
def verify(file: File, output: SingleOutput = Format.TABLE) -> None:
    """Check a backup against its manifest, without a database."""
    try:
        _show(backup.verify(file), file, output)
    except BrokenArchive as error:
        fail(str(error))


@command(app, "stead backup restore monday.stead --database postgresql://postgres@127.0.0.1/stead_new")
def restore(context: typer.Context, file: File, database: Database, hold: Held = True) -> None:
    """Restore a backup into an empty database, all of it or nothing.

    The cell's incarnation is raised: orders and reports from before no longer count. Stop the servers and
    controllers of the old database first; agents may keep running. An older schema is brought up to date.

    The cell starts held: agents probe what was in progress, and the cell orders no change until `stead backup
    release`.
    """
    done = _done(backup.restore(unlocked(context, database), file, hold=hold))
    of = done.manifest
    line(f"restored     {_holds(of)}, as of {clock(of.at)}")
    line(f"incarnation  {of.incarnation} before, {done.incarnation} from now on")
    if done.migrated:
        line(f"schema       was {of.revision}, and is up to date now")
    note(
        "\nNext:\n"
        "  1. start servers and controllers on this database, with the bus and the cell's name as before\n"
        "  2. let agents run, or start them: they probe what was in progress at the time of the backup\n"
        "  3. stead backup compare    what is recorded, what is observed, and what the cell would do"
        + ("\n  4. stead backup release    let the cell act, in whole or by path" if hold else "")
    )


@command(app, "stead backup raise --database postgresql://postgres@127.0.0.1/stead", "raise")
def raise_(
    context: typer.Context,
    database: Database,
    of: Annotated[
        Path | None,
        typer.Option("--backup", metavar="FILE", help="File of the backup, if its dump was restored by hand."),
    ] = None,
    running: Annotated[
        bool, typer.Option("--running", help="Raise it while clients are connected, as after a failover.")
    ] = False,
    hold: Held = True,
) -> None:
    """Raise the incarnation of a cell that was restored by other means.

    Do so after a restore of a base backup, after recovery to a point in time, and after a failover to a standby that
    may have lacked the last commits; before controllers start. The cell starts held, as after a restore, except with
    --running.
    """
    try:
        manifest = backup.read_manifest(of) if of is not None else None
    except BrokenArchive as error:
        fail(str(error), Code.USAGE)
    before, after = _done(backup.raise_incarnation(unlocked(context, database), manifest, running=running, hold=hold))
    line(f"incarnation  {before} before, {after} from now on")


@command(app, "stead backup compare -o json", "compare")
def compare_(
    below: Annotated[str, typer.Option(metavar="PATH", help="Path to compare, and below it; default all.")] = "/",
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Compare recorded and observed states of all resources after a restore.

    Each resource is listed with what the cell would do next. Objects that the cell does not know are listed, too:
    agents survey their lanes twice for that, since an
    object counts as an orphan once it was found twice. Exit code 0: all is as recorded, and nothing is in progress.
    1: something differs, or is in progress.
    """
    compare(server, _absolute(below), output)


@command(app, "stead backup release /shop/web")
def release(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="Path to release, and below it; default all.")] = "/",
    output: SingleOutput = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Release a restored cell, or a path of it: send the orders on hold.

    `stead backup compare` shows beforehand what the cell would do. An operation that is not wanted any more can be
    cancelled first: `stead operation cancel`. The journal records the release.
    """
    with reach(server) as client:
        hold = client.release_hold(_absolute(path))
    if output is not Format.TABLE:
        data(plain(hold), output)
    elif hold.since is None:
        line("the cell is not held")
    else:
        line(f"the cell is held since {clock(hold.since)}, except at {', '.join(hold.released) or 'no path'}")
        line(f"orders waiting for the release: {hold.orders}")


def _copied(file: Path, to: str) -> str:
    try:
        return asyncio.run(backup.copy(file, to))
    except CopyFailed as error:
        fail(f"the backup is in {file}, and not everywhere: {error}")


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _done[T](work: Coroutine[Any, Any, T]) -> T:
    """What comes of it; where nothing does, the command ends and says why."""
    try:
        return asyncio.run(work)
    except (RestoreFailed, IncarnationNotRaised) as error:
        fail(str(error), Code.REJECTED)
    except (BackupFailed, BrokenArchive, ToolMissing, ToolFailed, MigrationFailed) as error:
        fail(str(error))
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        fail(f"the database says: {error}")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "the database cannot be reached: "
        fail(f"{where}{error.strerror or error}")


def _holds(of: Manifest) -> str:
    waiting = f", {of.queued:,} that wait their turn" if of.queued else ""
    return f"{of.resources:,} resources, {of.operations:,} operations in progress{waiting}"


def _show(of: Manifest, file: Path, output: Format, copies: Sequence[str] = ()) -> None:
    if output is not Format.TABLE:
        data({"file": str(file), "copies": list(copies), **plain(of)}, output)
        return
    line(f"file         {file}, {file.stat().st_size / 1e6:,.1f} MB")
    for copy in copies:
        line(f"copy         {printable(copy)}")
    line(f"cell         {printable(of.name)}, from the database {printable(of.database)}")
    line(f"as of        {clock(of.at)}, position {of.position} of the journal")
    line(f"holds        {_holds(of)}")
    line(f"incarnation  {of.incarnation}")
    line(f"made by      Stead {of.stead}, schema {of.revision}, {printable(of.server.split(' on ')[0])}")
    line(f"dump         {of.size / 1e6:,.1f} MB, SHA-256 {of.sha256}")
