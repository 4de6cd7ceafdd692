"""Copies of a backup: each is whole or there is none, nothing is replaced, and the cell knows when all are there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from stead import backup
from stead.backup import CopyFailed
from stead.store import Store
from stead.telemetry import metrics
from tests.backup.s3 import S3

BUCKET = "backups.example"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with S3() as server:
        server.client().create_bucket(Bucket=BUCKET)
        yield server


@pytest.fixture
def at_s3(s3: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The server, of which this process knows, too."""
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)
    return s3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What is to be copied, larger than what is sent at once."""
    one = tmp_path / "monday.stead"
    one.write_bytes(os.urandom(9 << 20))
    return one


def create(dsn: str, file: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stead", "backup", "create", str(file), *words]
    environment = {**os.environ, "STEAD_DATABASE": dsn, **env}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


async def age(dsn: str) -> float:
    """Of the newest backup that the cell knows of."""
    async with Store.open(dsn, connections=2) as store:
        return float((await store.diagnostics.read_gauges(10, 30.0))["unsaved"] or 0.0)


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


async def test_a_copy_in_a_folder_is_the_same_file_for_its_owner_alone(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    where = await backup.copy(file, str(folder))
    assert Path(where) == folder / "monday.stead"
    assert Path(where).read_bytes() == file.read_bytes()
    assert stat.S_IMODE(Path(where).stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [Path(where)]


async def test_a_copy_at_s3_is_the_same_file(file: Path, at_s3: S3) -> None:
    where = await backup.copy(file, f"s3://{BUCKET}/stead/daily/")
    assert where == f"s3://{BUCKET}/stead/daily/monday.stead"
    body = at_s3.client().get_object(Bucket=BUCKET, Key="stead/daily/monday.stead")["Body"]
    assert body.read() == file.read_bytes()


async def test_nothing_is_replaced(file: Path, tmp_path: Path, at_s3: S3) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for to in (str(folder), f"s3://{BUCKET}/once"):
        await backup.copy(file, to)
        with pytest.raises(CopyFailed, match="is there already"):
            await backup.copy(file, to)
    shorter = file.with_name("monday.st")
    shorter.write_bytes(b"another file begins with its name")
    assert await backup.copy(shorter, f"s3://{BUCKET}/once") == f"s3://{BUCKET}/once/monday.st"


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("/nowhere/at/all", "No such file or directory"),
        ("s3://there-is-none/stead", "NoSuchBucket"),
        ("s3:///stead", "Invalid bucket name"),
    ],
)
async def test_why_there_is_no_copy_is_told(file: Path, at_s3: S3, to: str, says: str) -> None:
    with pytest.raises(CopyFailed, match=says):
        await backup.copy(file, to)


async def test_a_backup_without_its_copy_is_not_recorded(migrated: str, tmp_path: Path) -> None:
    await execute(migrated, "INSERT INTO backups VALUES (now() - interval '30 hours', 1, '')")
    file = tmp_path / "monday.stead"
    done = create(migrated, file, "--copy-to", "/nowhere/at/all")
    assert done.returncode == 1
    assert f"the backup is in {file}, and not everywhere: /nowhere/at/all/monday.stead: No such file" in done.stderr
    backup.verify(file)
    assert await age(migrated) > 29 * 3600


async def test_a_backup_is_recorded_when_all_copies_are_there(migrated: str, tmp_path: Path, s3: S3) -> None:
    await execute(migrated, "INSERT INTO backups VALUES (now() - interval '30 hours', 1, '')")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    places = ("--copy-to", str(folder), "--copy-to", f"s3://{BUCKET}")
    done = create(migrated, tmp_path / "monday.stead", *places, **s3.variables)
    assert done.returncode == 0, done.stderr
    copies = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("copy")]
    assert copies == [str(folder / "monday.stead"), f"s3://{BUCKET}/monday.stead"]
    assert await age(migrated) < 3600


async def test_a_database_that_takes_no_change_is_backed_up_and_does_not_know(migrated: str, tmp_path: Path) -> None:
    file = tmp_path / "monday.stead"
    await execute(migrated, f'ALTER DATABASE "{migrated.rpartition("/")[2]}" SET default_transaction_read_only = on')
    done = create(migrated, file)
    assert done.returncode == 0, done.stderr
    assert "the cell does not know of this backup" in done.stderr
    backup.verify(file)


async def test_without_a_backup_the_age_is_that_of_the_journal(migrated: str) -> None:
    assert await age(migrated) == 0.0
    await execute(migrated, "INSERT INTO backups VALUES (now() - interval '2 hours', 1, '')")
    assert 7190 < await age(migrated) < 7300
    assert metrics.BACKUP_AGE in metrics.CELL
