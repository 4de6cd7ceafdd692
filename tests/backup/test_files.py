"""A backup is whole or none; it comes back whole or not at all, and never under its old incarnation."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from stead import backup
from stead.backup import (
    BackupFailed,
    BrokenArchive,
    IncarnationNotRaised,
    Manifest,
    RestoreFailed,
    ToolFailed,
    ToolMissing,
    clients,
)
from stead.backup.archive import DUMP, MANIFEST
from stead.dev.children import signal_process
from stead.dev.engines import Postgres
from stead.store import Store
from stead.store.cell import CellMissing
from stead.store.migrate import newest
from tests.store.next_release import add_next_release
from tests.tiers import first_fast

type New = Callable[[], str]


@pytest.fixture
def new(postgres: Postgres) -> Iterator[New]:
    """Makes empty databases."""
    names: list[str] = []

    def make() -> str:
        names.append(f"empty_{os.urandom(6).hex()}")
        return postgres.create_database(names[-1])

    yield make
    for name in names:
        postgres.drop_database(name)


@pytest.fixture
async def taken(migrated: str, tmp_path: Path) -> tuple[Path, Manifest]:
    """A backup of a cell of which something is known."""
    connection = await asyncpg.connect(migrated)
    await connection.execute("INSERT INTO policies (name, text, changed_by) VALUES ('own', '', 'ann')")
    await connection.execute("UPDATE cell SET incarnation = 7, last_position = 40")
    await connection.close()
    file = tmp_path / "monday.stead"
    return file, await backup.take(migrated, file, "main")


async def value(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        if query.lstrip().startswith("CREATE"):
            return await connection.execute(query)
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def empty(dsn: str) -> bool:
    query = "SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace)"
    return bool(await value(dsn, query))


async def test_what_is_in_a_backup_comes_back_under_a_higher_incarnation(
    taken: tuple[Path, Manifest], new: New
) -> None:
    file, manifest = taken
    assert backup.verify(file) == manifest
    assert (manifest.incarnation, manifest.position, manifest.name) == (7, 40, "main")
    dsn = new()
    done = await backup.restore(dsn, file)
    assert done.incarnation > 7
    assert not done.migrated
    async with Store.open(dsn, connections=1) as store:
        assert store.incarnation == done.incarnation
    assert await value(dsn, "SELECT changed_by FROM policies") == "ann"


@pytest.mark.long
async def test_the_same_backup_twice_gives_two_incarnations(taken: tuple[Path, Manifest], new: New) -> None:
    """Or what was said in the first life after it would be believed in the second."""
    first = await backup.restore(new(), taken[0])
    await asyncio.sleep(1)  # sleep: an incarnation is a time in whole seconds
    assert (await backup.restore(new(), taken[0])).incarnation > first.incarnation


async def test_positions_of_the_journal_go_on_after_all_that_can_have_been_given(
    migrated: str, tmp_path: Path, new: New
) -> None:
    line = (
        "INSERT INTO journal (at, position, path, kind, actor, trigger, detail, source, target) "
        "VALUES (now() - interval '1 hour', 40, '/a', 'vm', 'user', 'asked', 'create', '', 'Creating')"
    )
    await value(migrated, line)
    await value(migrated, "UPDATE cell SET last_position = 40")
    await backup.take(migrated, tmp_path / "b", "main")
    dsn = new()
    await backup.restore(dsn, tmp_path / "b")
    last = await value(dsn, "SELECT last_position FROM cell")
    assert isinstance(last, int)
    assert 3600 * 100_000 < last < 2**53


def test_only_its_owner_reads_a_backup(taken: tuple[Path, Manifest]) -> None:
    assert stat.S_IMODE(taken[0].stat().st_mode) == 0o600
    assert [file.name for file in taken[0].parent.iterdir()] == [taken[0].name]


async def test_a_database_without_a_cell_is_not_backed_up(new: New, tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="no cell"):
        await backup.take(new(), tmp_path / "x", "main")
    assert list(tmp_path.iterdir()) == []


async def test_a_database_with_a_cell_is_refused(taken: tuple[Path, Manifest], migrated: str, new: New) -> None:
    with pytest.raises(RestoreFailed, match="there is a cell in this database already"):
        await backup.restore(migrated, taken[0])
    dsn = new()
    done = await backup.restore(dsn, taken[0])
    with pytest.raises(RestoreFailed, match="there is a cell in this database already"):
        await backup.restore(dsn, taken[0])
    assert await value(dsn, "SELECT incarnation FROM cell") == done.incarnation


async def test_a_database_with_something_else_is_refused(taken: tuple[Path, Manifest], new: New) -> None:
    dsn = new()
    await value(dsn, "CREATE TABLE mine (id integer)")
    with pytest.raises(RestoreFailed, match=r"not empty, there is public\.mine"):
        await backup.restore(dsn, taken[0])


async def test_whoever_is_connected_is_in_the_way(taken: tuple[Path, Manifest], new: New, migrated: str) -> None:
    dsn = new()
    for where, says in ((dsn, "stop it first"), (migrated, "the cell that was backed up is still in use")):
        connection = await asyncpg.connect(where)
        with pytest.raises(RestoreFailed, match=says):
            await backup.restore(dsn, taken[0])
        await connection.close()
        assert await empty(dsn)


@pytest.mark.long
async def test_two_restores_at_once_are_one(taken: tuple[Path, Manifest], new: New) -> None:
    dsn = new()
    ends = await asyncio.gather(*(backup.restore(dsn, taken[0]) for _ in range(2)), return_exceptions=True)
    assert sum(isinstance(end, backup.RestoreSummary) for end in ends) <= 1
    assert all(isinstance(end, backup.RestoreSummary | RestoreFailed | ToolFailed) for end in ends), ends


WAITS = """
CREATE FUNCTION wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{go}') LOOP PERFORM pg_sleep(0.01); END LOOP;
END $$;
CREATE EVENT TRIGGER wait ON ddl_command_end WHEN TAG IN ('{tag}') EXECUTE FUNCTION wait()
"""
"""Statements that wait for a role, of which all databases know."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("tag", "all_of_it"), first_fast([("CREATE FUNCTION", False), ("CREATE INDEX", True), ("ALTER TABLE", False)])
)
async def test_whoever_is_killed_in_the_middle_leaves_nothing(
    taken: tuple[Path, Manifest], new: New, postgres: Postgres, tag: str, all_of_it: bool
) -> None:
    """It is stopped at a statement in the middle, and the command is killed there, with its children or alone.

    Where it had told `psql` all by then, and `psql` lives, the restore comes to its end, and is whole.
    """
    dsn, go = new(), f"go_{os.urandom(4).hex()}"
    name = dsn.rpartition("/")[2]
    await value(dsn, WAITS.format(tag=tag, go=go))
    words = [sys.executable, "-m", "stead", "backup", "restore", str(taken[0]), "--database", dsn]
    process = await asyncio.create_subprocess_exec(*words, start_new_session=True)
    there = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}' AND application_name = 'psql'"
    try:
        while not await value(postgres.dsn(), f"{there} AND wait_event = 'PgSleep'"):
            assert process.returncode is None, "it came to its end before it could be killed"
            await asyncio.sleep(0.02)
    finally:
        if all_of_it:
            signal_process(process.pid, signal.SIGKILL, group=True)
        else:
            process.kill()
        await process.wait()
        await value(postgres.dsn(), f"CREATE ROLE {go}")
    while await value(postgres.dsn(), there):
        await asyncio.sleep(0.02)
    await value(postgres.dsn(), f"DROP ROLE {go}")
    if not await empty(dsn):
        assert not all_of_it
        assert await value(dsn, "SELECT incarnation > 7 FROM cell")


@pytest.mark.long
async def test_a_restore_that_fails_leaves_nothing(taken: tuple[Path, Manifest], new: New, tmp_path: Path) -> None:
    """The last of all that can fail: the row of the cell does not fit."""
    dsn, bad = new(), tmp_path / "bad"
    _rewrite(taken[0], bad, incarnation="many")
    with pytest.raises(ToolFailed, match=r"psql.*integer"):
        await backup.restore(dsn, bad)
    assert await empty(dsn)


def _rewrite(file: Path, to: Path, dump: bytes | None = None, **cell: object) -> None:
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(to, "w") as archive:
        manifest = json.loads(old.read(MANIFEST))
        manifest["cell"] |= cell
        archive.writestr(DUMP, dump or old.read(DUMP))
        archive.writestr(MANIFEST, json.dumps(manifest))


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
async def test_a_file_that_was_cut_off_is_none(
    taken: tuple[Path, Manifest], new: New, tmp_path: Path, share: float
) -> None:
    cut, dsn = tmp_path / "cut", new()
    whole = taken[0].read_bytes()
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BrokenArchive, match="no whole backup"):
        backup.verify(cut)
    with pytest.raises(BrokenArchive):
        await backup.restore(dsn, cut)
    assert await empty(dsn)


def test_a_dump_that_was_changed_is_noticed(taken: tuple[Path, Manifest], tmp_path: Path) -> None:
    other = tmp_path / "other"
    with zipfile.ZipFile(taken[0]) as archive:
        dump = archive.read(DUMP)
    _rewrite(taken[0], other, dump[:-1] + b"?")
    with pytest.raises(BrokenArchive, match="was changed"):
        backup.verify(other)
    flipped = bytearray(taken[0].read_bytes())
    flipped[len(flipped) // 2] ^= 1
    other.write_bytes(flipped)
    with pytest.raises(BrokenArchive):
        backup.verify(other)


@pytest.mark.long
async def test_an_older_schema_is_brought_up_to_date(
    migrated: str, new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, file = new(), tmp_path / "old"
    assert (await backup.take(migrated, file, "main")).revision == "0001"
    add_next_release(monkeypatch)
    done = await backup.restore(dsn, file)
    assert done.migrated
    assert await value(dsn, "SELECT version_num FROM alembic_version") == newest()
    assert newest() > "0001"
    assert await value(dsn, "SELECT held_since IS NOT NULL FROM cell")


async def test_a_newer_schema_is_refused(migrated: str, new: New, tmp_path: Path) -> None:
    await value(migrated, "UPDATE alembic_version SET version_num = '9999'")
    await backup.take(migrated, tmp_path / "b", "main")
    dsn = new()
    with pytest.raises(RestoreFailed, match="its schema is 9999"):
        await backup.restore(dsn, tmp_path / "b")
    assert await empty(dsn)


async def test_a_dump_brought_back_by_hand_is_of_no_use_until_it_is_raised(
    taken: tuple[Path, Manifest], new: New, tmp_path: Path
) -> None:
    dsn = new()
    with zipfile.ZipFile(taken[0]) as archive:
        dump = archive.extract(DUMP, tmp_path)
    tool = clients.clients(int(re.findall(r"\d+", taken[1].server)[0])).folder / "pg_restore"
    await asyncio.to_thread(subprocess.check_call, [str(tool), f"--dbname={dsn}", dump])
    with pytest.raises(CellMissing):
        async with Store.open(dsn, connections=1):
            pass
    with pytest.raises(BackupFailed, match="by hand"):
        await backup.take(dsn, tmp_path / "again", "main")
    with pytest.raises(IncarnationNotRaised, match="--backup"):
        await backup.raise_incarnation(dsn)
    before, after = await backup.raise_incarnation(dsn, backup.read_manifest(taken[0]))
    assert before == 7 < after
    async with Store.open(dsn, connections=1) as store:
        assert store.incarnation == after


@pytest.mark.long
async def test_controller_on_a_dump_brought_back_by_hand_ends_with_what_to_do(migrated: str) -> None:
    await value(migrated, "DELETE FROM cell")
    words = [sys.executable, "-m", "stead", "controller", "--database", migrated, "--nats", "nats://127.0.0.1:1"]
    run = await asyncio.to_thread(subprocess.run, words, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode != 0
    assert "Traceback" not in run.stderr
    assert "stead backup raise" in run.stderr


async def test_connections_to_the_database_are_named(migrated: str) -> None:
    async with Store.open(migrated, connections=1):
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stead'"
        )
        assert await value(migrated, query)


async def test_an_incarnation_is_raised_where_nobody_is_connected(migrated: str, new: New) -> None:
    with pytest.raises(IncarnationNotRaised, match="no cell"):
        await backup.raise_incarnation(new())
    async with Store.open(migrated, connections=1):
        with pytest.raises(IncarnationNotRaised, match="stop controllers"):
            await backup.raise_incarnation(migrated)
        first = await backup.raise_incarnation(migrated, running=True)
    second = await backup.raise_incarnation(migrated)
    assert first[0] < first[1] == second[0] < second[1]


def test_missing_programs_are_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(
        ToolMissing, match=r"the server is PostgreSQL 99, and the newest pg_dump here, in .*apt install"
    ):
        clients.clients(99)
    monkeypatch.setattr(clients, "_folders", lambda: [tmp_path])
    with pytest.raises(ToolMissing, match="pg_dump, pg_restore, psql were not found: install"):
        clients.clients(15)


def test_a_fitting_version_goes_before_a_newer_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for major in (18, 16, 14):
        folder = tmp_path / str(major)
        folder.mkdir()
        for name in clients.PROGRAMS:
            (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {major}.2 (somewhere)'\n")
            (folder / name).chmod(0o755)
    monkeypatch.setattr(clients, "_folders", lambda: [tmp_path / n for n in ("18", "16", "14")])
    assert [clients.clients(major).major for major in (14, 15, 16, 17)] == [14, 16, 16, 18]
    shutil.rmtree(tmp_path / "14")
