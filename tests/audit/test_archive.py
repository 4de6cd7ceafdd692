"""Old lines go to files, and out of the database only then; the chain goes on over them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from stead.cli.output import Code
from stead.client import SyncClient
from tests.api.cell import Cell
from tests.audit.conftest import LINES, Sql
from tests.cli.remote import Stead

OLD = """
INSERT INTO journal (at, path, kind, actor, trigger, detail, source, target)
SELECT $1::timestamptz + i * interval '1 second', '/shop/web/g/' || i, 'vm', 'user', 'request', 'create', '',
       'Creating'
  FROM generate_series(1, 10) i
"""


@pytest.fixture
def aged(cell: Cell, sql: Sql) -> datetime:
    """Ten lines of each of two days, of which the first has a partition, and ten of today; when today began."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = today - timedelta(days=2)
    sql(
        f"CREATE TABLE journal_{first:%Y%m%d} PARTITION OF journal"
        f" FOR VALUES FROM ('{first:%Y-%m-%d} 00:00+00') TO ('{first + timedelta(days=1):%Y-%m-%d} 00:00+00')"
    )
    for day in (first, first + timedelta(days=1)):
        sql(OLD, day)
    sql(LINES, 10)
    late = first + timedelta(hours=23)
    assert cell.numbered() == 30
    sql(OLD.replace("generate_series(1, 10)", "generate_series(1, 1)"), late)  # commits after others of later days
    assert cell.numbered() == 31
    return today


def test_archived_lines_are_in_files_and_the_chain_goes_on(
    aged: datetime, cell: Cell, sql: Sql, stead: Stead, tmp_path: Path
) -> None:
    kept = stead("journal", "head").out.strip()
    answer = stead("journal", "archive", "--before", f"{aged:%Y-%m-%d}", "--to", str(tmp_path))
    assert answer.code == Code.DONE, answer.err
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["journal-000000000001-000000000031.jsonl"]
    assert sql("SELECT count(*) AS n FROM journal WHERE at < $1", aged)[0]["n"] == 10  # those of the second day
    assert cell.numbered() == 32  # that it was archived is in the journal itself
    answer = stead("journal", "verify", "--head", kept)
    assert answer.code == Code.DONE, answer.err
    assert "lines up to 31 are archived" in answer.err
    assert answer.out.startswith("1 line is as it was written: 32 to 32")
    answer = stead("journal", "verify", "--head", kept, "--archives", str(tmp_path))
    assert answer.code == Code.DONE, answer.err
    assert answer.out.startswith("32 lines are as they were written: 1 to 32")
    assert stead("journal", "verify", "--head", kept, *map(str, files)).code == Code.DONE
    last = json.loads(files[0].read_bytes().splitlines()[-1])
    assert kept == f"31:{last['hash']}"
    again = stead("journal", "archive", "--before", f"{aged:%Y-%m-%d}", "--to", str(tmp_path))
    assert again.out == "there is nothing to archive\n"


def test_day_by_day_they_make_one_chain(cell: Cell, sql: Sql, stead: Stead, tmp_path: Path) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for day in (3, 2, 1):
        sql(OLD, today - timedelta(days=day))
        cell.numbered()
    stead("journal", "archive", "--before", f"{today - timedelta(days=2):%Y-%m-%d}", "--to", str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1
    answer = stead("journal", "archive", "--before", f"{today:%Y-%m-%d}", "--to", str(tmp_path))
    assert len(answer.out.splitlines()) == 2
    cell.numbered()
    assert sql("SELECT count(*) AS n FROM journal WHERE detail = 'create'")[0]["n"] == 0
    answer = stead("journal", "verify", "--archives", str(tmp_path))
    assert answer.out.startswith("33 lines are as they were written: 1 to 33"), answer
    file = sorted(tmp_path.iterdir())[1]
    text = file.read_bytes()
    file.write_bytes(text.replace(b"/shop/web/g/3", b"/shop/web/g/4"))
    answer = stead("journal", "verify", "--archives", str(tmp_path))
    assert answer.code == Code.USAGE
    assert f"{file} is not the file that was archived" in answer.err
    assert "Position 13: " in stead("journal", "verify", *map(str, tmp_path.iterdir())).err
    file.unlink()
    assert f"{file} is missing" in stead("journal", "verify", "--archives", str(tmp_path)).err
    remaining = stead("journal", "verify", *map(str, tmp_path.iterdir()))
    assert "Position 11: " in remaining.err
    assert "in none of the files" in remaining.err


class Stopped(Exception):
    """Somebody has pulled the plug."""


@pytest.mark.parametrize("when", ["before", "after"])
def test_whoever_is_stopped_on_the_way_has_lost_nothing(
    when: str, aged: datetime, cell: Cell, sql: Sql, stead: Stead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("journal", "archive", "--before", f"{aged:%Y-%m-%d}", "--to", str(tmp_path))
    whole: Any = SyncClient.archive_journal

    def dies(self: SyncClient, what: Any) -> Any:
        if when == "after":
            whole(self, what)
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(SyncClient, "archive_journal", dies)
        with pytest.raises(Stopped):
            stead(*words)
    there = sql("SELECT count(*) AS n FROM journal WHERE detail = 'create'")[0]["n"]
    assert there == (31 if when == "before" else 20)
    assert stead(*words).code == Code.DONE
    cell.numbered()
    assert stead("journal", "verify", "--archives", str(tmp_path)).out.startswith(
        "32 lines are as they were written: 1 to 32"
    )


def test_lines_stay_where_the_file_is_not_what_is_in_the_database(
    aged: datetime, cell: Cell, sql: Sql, stead: Stead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("journal", "archive", "--before", f"{aged:%Y-%m-%d}", "--to", str(tmp_path))
    whole: Any = SyncClient.archive_journal

    def late(self: SyncClient, what: Any) -> Any:
        sql("UPDATE journal SET principal = 'bob' WHERE position = 3")
        return whole(self, what)

    with monkeypatch.context() as patched:
        patched.setattr(SyncClient, "archive_journal", late)
        answer = stead(*words)
    assert answer.code == Code.REJECTED
    assert "[not-archived]" in answer.err
    assert sql("SELECT count(*) AS n FROM journal")[0]["n"] == 31
    answer = stead(*words)  # what was changed is not archived as if it were right
    assert answer.code == Code.FAILED
    assert "Position 3: " in answer.err


def test_lines_of_today_stay(aged: datetime, cell: Cell, stead: Stead, tmp_path: Path) -> None:
    tomorrow = aged + timedelta(days=1)
    assert stead("journal", "archive", "--before", f"{tomorrow:%Y-%m-%d}", "--to", str(tmp_path)).code == Code.DONE
    cell.numbered()
    # A line of the first day came last, so all are in the file; those of later days stay until these are archived.
    assert [line["position"] for line in cell.run(cell.store.journal.read(0))] == [*range(11, 31), 32]


def test_whoever_wants_what_is_archived_is_told(cell: Cell, sql: Sql, stead: Stead, tmp_path: Path) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    sql(OLD, today - timedelta(days=1))
    cell.numbered()
    sql(LINES, 3)
    assert stead("journal", "archive", "--before", f"{today:%Y-%m-%d}", "--to", str(tmp_path)).code == Code.DONE
    cell.numbered()
    shown = stead("journal", "--all")
    assert shown.err == "lines up to 10 are in archive files\n"
    assert [row[0] for row in shown.rows] == ["POSITION", "11", "12", "13", "14"]
    with httpx.Client(base_url=cell.url, trust_env=False) as web:
        page = web.get("/v1/journal", params={"after": 3}).json()
        assert (page["archived"], page["items"][0]["position"]) == (10, 11)
        for answer in (
            web.get("/v1/events", params={"after": 3}),
            web.get("/v1/resources/shop/web/g/5", params={"at": (today - timedelta(hours=3)).isoformat()}),
            web.get("/v1/resources/shop/web/g/5", params={"at": datetime.now(UTC).isoformat()}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (410, "archived")
            assert "up to 10" in answer.json()["detail"]
    assert "lines up to 10 are archived" in stead("journal", "export", "--to", str(tmp_path / "rest")).err
