"""A server of one's own, whose journal may be spoiled, and the command that speaks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest

from tests.api.cell import Cell
from tests.cli.remote import Stead, command

type Sql = Callable[..., Any]

LINES = """
INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change)
SELECT '/shop/web/g/' || i, 'vm', 'ann', 'user', 'request', 'create', '', 'Creating', jsonb_build_object(
           'spec', jsonb_build_object('name', E'Jürgen "\\\\" \\t \\u2028 ' || i, 'share', 0.1 * i,
                                      'whole', 1.0, 'huge', 1e30))
  FROM generate_series(1, $1) i
"""


@pytest.fixture
def cell(migrated: str) -> Iterator[Cell]:
    with Cell(migrated) as one:
        yield one


@pytest.fixture
def stead(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Stead:
    return command(cell, monkeypatch)


@pytest.fixture
def sql(cell: Cell) -> Sql:
    """Whoever may everything in the database."""

    def run(text: str, *values: Any) -> Any:
        async def do() -> Any:
            connection = await asyncpg.connect(cell.dsn)
            try:
                return await connection.fetch(text, *values)
            finally:
                await connection.close()

        return cell.run(do())

    return run


@pytest.fixture
def written(cell: Cell, sql: Sql) -> int:
    """So many lines are in the journal, and numbered."""
    sql(LINES, 40)
    return cell.numbered()
