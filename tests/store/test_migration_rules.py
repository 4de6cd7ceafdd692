"""Migrations after the first hold to the rules; and the rules find what they are there for."""

from __future__ import annotations

import pytest

from stead.store.concurrent_indexes import statements
from stead.store.migrate import version_folders
from tests.store.migration_rules import wrong, wrong_ahead
from tests.store.next_release import FOLDER

FILES = {
    file.name: file.read_text(encoding="utf-8")
    for folder in (*version_folders(), FOLDER)
    for file in folder.iterdir()
    if file.name.endswith(".sql") and file.name[:4] > "0001"
}
"""Those of the store that change a database with rows in it, and those that upgrades are tested with."""
PLAIN = [name for name in FILES if not name.endswith("_ahead.sql")]


def test_every_migration_holds_to_the_rules() -> None:
    found = {name: wrong(FILES[name], FILES.get(name.replace(".sql", "_ahead.sql"), "")) for name in PLAIN}
    assert len(found) >= 2
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize("name", [name for name in FILES if name not in PLAIN])
def test_what_is_made_ahead_can_be(name: str) -> None:
    assert wrong_ahead(FILES[name]) == []
    assert list(statements(FILES[name]))
    assert name.replace("_ahead.sql", ".sql") in PLAIN


BAD = {
    "CREATE INDEX a ON resources (b);": "is locked while it is built",
    "CREATE UNIQUE INDEX IF NOT EXISTS a ON journal (b);": "is locked while it is built",
    "ALTER TABLE resources ADD COLUMN a uuid DEFAULT gen_random_uuid();": "written anew",
    "ALTER TABLE resources ADD COLUMN a bigserial;": "written anew",
    "ALTER TABLE resources ADD COLUMN a int GENERATED ALWAYS AS (b + 1) STORED;": "written anew",
    "ALTER TABLE resources ADD COLUMN a int, ALTER COLUMN b TYPE bigint;": "written anew",
    "ALTER TABLE resources ALTER COLUMN a SET NOT NULL;": "read under a lock",
    "ALTER TABLE resources ADD CONSTRAINT c CHECK (a > 0);": "say NOT VALID",
    "ALTER TABLE orders ADD FOREIGN KEY (operation) REFERENCES operations;": "say NOT VALID",
    "ALTER TABLE resources ADD CONSTRAINT c UNIQUE (a);": "built under a lock",
    "ALTER TABLE resources ADD CONSTRAINT c CHECK (a > 0) NOT VALID;\nALTER TABLE resources VALIDATE CONSTRAINT c;": (
        "validate ahead"
    ),
    "ALTER TABLE resources SET UNLOGGED;": "written anew",
    "UPDATE resources SET a = 1;": "a healer's",
    "DELETE FROM journal WHERE at < now();": "a healer's",
    "LOCK TABLE resources;": "locks a table",
    "VACUUM FULL resources;": "locks a table",
    "REINDEX TABLE resources;": "locks a table",
    "ALTER TABLE resources DROP COLUMN a;": "still asks for it",
    "ALTER TABLE resources RENAME COLUMN a TO b;": "still asks for it",
    "DROP FUNCTION IF EXISTS f(int);": "still asks for it",
}


@pytest.mark.parametrize(("sql", "says"), BAD.items(), ids=list(BAD))
def test_what_locks_writes_anew_or_takes_away_is_found(sql: str, says: str) -> None:
    (said,) = wrong(sql)
    assert says in said


GOOD = [
    "CREATE TABLE a (b int);\nCREATE INDEX c ON a (b);\nALTER TABLE a ADD CHECK (b > 0);\nUPDATE a SET b = 1;",
    "ALTER TABLE resources ADD COLUMN a text NOT NULL DEFAULT '', ADD COLUMN b timestamptz DEFAULT now();",
    "ALTER TABLE resources ADD CONSTRAINT c CHECK (a > 0) NOT VALID;",
    "-- contract: no release since 0.3 asks for it\nDROP FUNCTION IF EXISTS f(int);",
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE resources SET a = 1; LOCK TABLE a; $$;",
    "INSERT INTO settings VALUES ('DROP TABLE a; VACUUM');",
]


@pytest.mark.parametrize("sql", GOOD)
def test_what_disturbs_nobody_is_let_in(sql: str) -> None:
    assert wrong(sql) == []


def test_an_index_that_is_built_ahead_is_let_in() -> None:
    ahead = "CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON resources (b);"
    assert wrong("CREATE INDEX IF NOT EXISTS a ON resources (b);", ahead) == []
    assert wrong("CREATE INDEX a ON resources (b);", ahead) == ["a: it was made ahead; say IF NOT EXISTS"]
    checked = "ALTER TABLE resources VALIDATE CONSTRAINT c;"
    assert wrong("ALTER TABLE resources ALTER COLUMN a SET NOT NULL;", checked) == []


@pytest.mark.parametrize("sql", ["CREATE INDEX a ON b (c);", "ALTER TABLE a ADD COLUMN b int;", "DROP INDEX a;"])
def test_nothing_else_is_made_ahead(sql: str) -> None:
    assert wrong_ahead(sql)
