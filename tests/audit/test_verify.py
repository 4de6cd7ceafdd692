"""Whatever is done to the journal by somebody who may everything in the database is found, and said where."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from stead.cli.output import Code
from tests.api.cell import Cell
from tests.audit.conftest import LINES, Sql
from tests.cli.remote import Stead
from tests.tiers import first_fast


def test_a_journal_that_nobody_touched_is_as_it_was_written(written: int, stead: Stead) -> None:
    answer = stead("journal", "verify")
    assert answer.code == Code.DONE, answer.err
    first, head = answer.out.splitlines()
    assert first == f"{written} lines are as they were written: 1 to {written}"
    assert head == f"head {stead('journal', 'head').out.strip()}"
    assert not answer.err


TAMPERED = {
    "changed": ("UPDATE journal SET principal = 'bob' WHERE position = 17", 17, "changed"),
    "changed deep in it": (
        "UPDATE journal SET change = jsonb_set(change, '{spec,share}', '9') WHERE position = 17",
        17,
        "changed",
    ),
    "when": ("UPDATE journal SET at = at + interval '1 microsecond' WHERE position = 17", 17, "changed"),
    "where from": ("UPDATE journal SET origin = '10.0.0.1' WHERE position = 17", 17, "changed"),
    "hash": ("UPDATE journal SET hash = sha256('x') WHERE position = 17", 17, "changed"),
    "removed": ("DELETE FROM journal WHERE position = 17", 17, "the line 17 is missing: removed"),
    "several removed": ("DELETE FROM journal WHERE position BETWEEN 17 AND 20", 17, "the lines 17 to 20 are missing"),
    "first removed": ("DELETE FROM journal WHERE position = 1", 1, "missing"),
    "swapped": (
        "UPDATE journal SET position = CASE position WHEN 17 THEN 20 ELSE 17 END WHERE position IN (17, 20)",
        17,
        "another is in its place",
    ),
    "swapped with hashes": (
        "UPDATE journal j SET position = o.position, hash = o.hash FROM journal o"
        " WHERE (j.position, o.position) IN ((17, 20), (20, 17))",
        17,
        "another is in its place",
    ),
    "put in beside": (
        "INSERT INTO journal (position, hash, path, kind, actor, trigger, detail, source, target)"
        " SELECT 17, hash, '/shop/x', 'vm', 'user', 'request', 'create', '', '' FROM journal WHERE position = 17",
        17,
        "",
    ),
    "put in between": (
        "WITH moved AS (UPDATE journal SET position = position + 1 WHERE position >= 17 RETURNING 1)"
        " INSERT INTO journal (position, path, kind, actor, trigger, detail, source, target)"
        " VALUES (17, '/shop/x', 'vm', 'user', 'request', 'create', '', '')",
        17,
        "no hash",
    ),
    "the end": ("DELETE FROM journal WHERE position > 35", 36, "the end was cut off"),
    "the end and where the next goes": (
        "WITH cut AS (DELETE FROM journal WHERE position > 35) UPDATE cell SET last_position = 35",
        36,
        "the end was cut off",
    ),
    "all of it": ("DELETE FROM journal", 1, "the end was cut off"),
    "the head": ("UPDATE journal_head SET hash = sha256('x')", 40, "not the one that was kept"),
}


@pytest.mark.parametrize("what", first_fast(TAMPERED, 6))
def test_tampering_is_found(what: str, written: int, sql: Sql, stead: Stead) -> None:
    text, position, says = TAMPERED[what]
    assert written == 40
    sql(text)
    answer = stead("journal", "verify")
    assert answer.code == Code.FAILED
    assert f"Position {position}: " in answer.err
    assert says in answer.err
    assert not answer.out


def test_a_line_put_in_is_found_also_where_a_page_ends(
    written: int, sql: Sql, stead: Stead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.client.audit.AuditClient.export_journal.__kwdefaults__", {"after": 0, "limit": 5})
    assert stead("journal", "verify").code == Code.DONE
    for position in (5, 7, 10):
        sql(
            "INSERT INTO journal (position, path, kind, actor, trigger, detail, source, target)"
            " VALUES ($1, '/shop/x', 'vm', 'user', 'request', 'create', '', '')",
            position,
        )
        answer = stead("journal", "verify")
        assert answer.code == Code.FAILED
        assert f"Position {position}: " in answer.err
        sql("DELETE FROM journal WHERE path = '/shop/x'")
    assert stead("journal", "verify").code == Code.DONE


REWRITE = """
WITH lines AS (
    SELECT at, id, journal_chain((SELECT hash FROM journal WHERE position = 16), journal_text(
               position, at, path, kind, operation, principal, actor, trigger, detail, source, target, change,
               rejections, origin, request)) OVER (ORDER BY position) AS hash
      FROM journal WHERE position >= 17
), rewritten AS (
    UPDATE journal j SET hash = l.hash FROM lines l WHERE j.at = l.at AND j.id = l.id RETURNING j.position, j.hash
)
UPDATE journal_head h SET hash = r.hash FROM rewritten r WHERE r.position = h.position
"""


def test_whoever_writes_all_of_it_anew_is_found_by_a_head_that_was_kept(
    written: int, sql: Sql, stead: Stead, cell: Cell
) -> None:
    kept = stead("journal", "head").out.strip()
    sql(LINES, 3)
    cell.numbered()
    assert stead("journal", "verify", "--head", kept).code == Code.DONE
    sql("UPDATE journal SET principal = 'bob' WHERE position = 17")
    sql(REWRITE)
    assert stead("journal", "verify").code == Code.DONE  # that is what a chain alone does not prove
    answer = stead("journal", "verify", "--head", kept)
    assert answer.code == Code.FAILED
    assert f"Position {written}: the hash is not the one that was kept" in answer.err


def test_a_kept_head_that_the_journal_does_not_reach_any_more_is_missed(written: int, sql: Sql, stead: Stead) -> None:
    kept = stead("journal", "head").out.strip()
    sql("DELETE FROM journal WHERE position > 35")
    sql("UPDATE cell SET last_position = 35")
    sql("UPDATE journal_head SET position = 35, hash = (SELECT hash FROM journal WHERE position = 35)")
    assert stead("journal", "verify").code == Code.DONE
    assert "Position 36: the lines 36 to 40 are missing" in stead("journal", "verify", "--head", kept).err


def test_whoever_goes_on_behind_what_was_cut_off_is_told_and_found_by_a_kept_head(
    written: int, sql: Sql, stead: Stead, cell: Cell
) -> None:
    """It looks as if a backup had been restored."""
    kept = stead("journal", "head").out.strip()
    sql("DELETE FROM journal WHERE position > 35")
    sql("UPDATE cell SET last_position = 1000")
    sql("UPDATE journal_head SET position = 35, hash = (SELECT hash FROM journal WHERE position = 35)")
    sql(LINES, 3)
    cell.numbered()
    answer = stead("journal", "verify")
    assert answer.code == Code.DONE
    assert "positions leap from 35 to 1001: a backup was restored there, or" in answer.err
    assert "38 lines are as they were written: 1 to 1003" in answer.out
    answer = stead("journal", "verify", "--head", kept)
    assert answer.code == Code.FAILED
    assert f"Position 36: the lines 36 to {written} are missing: removed, or a backup" in answer.err


def test_a_head_that_is_none_is_wrong_use(stead: Stead) -> None:
    answer = stead("journal", "verify", "--head", "17")
    assert answer.code == Code.USAGE
    assert "POSITION:HASH" in answer.err


def test_a_third_party_can_verify_an_export(written: int, stead: Stead, tmp_path: Path) -> None:
    """As docs/audit.md says it, with nothing of ours."""
    assert stead("journal", "export", "--to", str(tmp_path)).code == Code.DONE
    (file,) = tmp_path.iterdir()
    heading, *lines = file.read_bytes().splitlines()
    hash = hashlib.sha256(b"stead journal after 0").digest()
    assert json.loads(heading)["after"] == 0
    for position, raw in enumerate(lines, 1):
        said = json.loads(raw)
        hash = hashlib.sha256(hash + raw[raw.index(b'"line":') + 7 : -1]).digest()
        assert said["hash"] == hash.hex()
        assert said["line"]["position"] == position
    assert stead("journal", "head").out.strip() == f"{written}:{hash.hex()}"
    assert json.loads(lines[2])["line"]["change"]["spec"]["name"] == 'Jürgen "\\" \t \u2028 3'
