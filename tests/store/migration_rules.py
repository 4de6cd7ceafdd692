"""What a migration may not do while others work: whatever writes a large table anew, or locks it for as long as it is
read; and whatever takes away something that the release before still asks for.

It reads SQL as far as these rules need it. What is made by the migration itself may be made in any way: nobody works
on it yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_BODY = re.compile(r"\$(\w*)\$.*?\$\1\$", re.DOTALL)
_TEXT = re.compile(r"'(?:[^']|'')*'")
_CREATED = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)", re.IGNORECASE)
_INDEX = re.compile(
    r"CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?(IF NOT EXISTS )?(\w+)\s+ON (?:ONLY )?(\w+)", re.IGNORECASE
)
_ALTER = re.compile(r"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+)\s+(.*)", re.IGNORECASE | re.DOTALL)
_VOLATILE = re.compile(
    r"(random|gen_random_uuid|uuid_generate\w*|clock_timestamp|timeofday|nextval|txid_current)\s*\(", re.IGNORECASE
)
CONTRACT = re.compile(r"-- contract: .{10,}")
"""The line that stands in a file which takes something away: since when nobody asks for it."""

_AWAY = re.compile(
    r"\bDROP (TABLE|COLUMN|FUNCTION|TYPE|VIEW|TRIGGER|CONSTRAINT)|\bRENAME (TO|COLUMN)\b", re.IGNORECASE
)
_WHOLE = {
    r"^(CLUSTER|VACUUM|REINDEX(?! \w+ CONCURRENTLY)|LOCK|TRUNCATE)\b": "it locks a table until it is done",
    r"^REFRESH MATERIALIZED VIEW (?!CONCURRENTLY)": "it locks the view until it is done",
}


def wrong(sql: str, ahead: str = "") -> list[str]:
    """What is wrong with the file of a migration, beside the one that is run ahead of it."""
    found = list(_wrong(sql, ahead))
    if not CONTRACT.search(sql):
        taken = {match[0].upper() for one in _statements(sql) for match in _AWAY.finditer(one)}
        found += [
            f"{what}: the release before still asks for it; a line `-- contract: …` says why not" for what in taken
        ]
    return found


def wrong_ahead(sql: str) -> list[str]:
    """What is wrong with a file that is run ahead."""
    found = []
    for one in _statements(sql):
        index = _INDEX.match(one)
        if index and not (index[1] and index[2]):
            found.append(f"{index[3]}: say CREATE INDEX CONCURRENTLY IF NOT EXISTS")
        elif not index and not re.match(
            r"CREATE OR REPLACE FUNCTION|ALTER TABLE \w+ VALIDATE CONSTRAINT|ANALYZE", one, re.IGNORECASE
        ):
            found.append(
                f"{one[:60]}: only indexes, functions that they need, and checks of constraints are made ahead"
            )
    return found


def _statements(sql: str) -> list[str]:
    bare = _TEXT.sub("''", _BODY.sub("''", _COMMENT.sub("", sql)))
    return [" ".join(one.split()) for one in bare.split(";") if one.strip()]


def _wrong(sql: str, ahead: str) -> Iterator[str]:
    own = {name.lower() for name in _CREATED.findall(_COMMENT.sub("", sql))}
    ready = {match[3].lower() for one in _statements(ahead) if (match := _INDEX.match(one))}
    for one in _statements(sql):
        index, alter = _INDEX.match(one), _ALTER.match(one)
        if index:
            yield from _index(index, own, ready)
        elif alter and alter[1].lower() not in own:
            yield from _alter(alter[1], alter[2], ahead)
        elif (change := re.match(r"(UPDATE|DELETE FROM) (?:ONLY )?(\w+)", one, re.IGNORECASE)) and (
            change[2].lower() not in own
        ):
            yield f"{change[0]}: to change rows is a healer's, in small transactions"
        for pattern, why in _WHOLE.items():
            if re.match(pattern, one, re.IGNORECASE):
                yield f"{one[:60]}: {why}"


def _index(index: re.Match[str], own: set[str], ready: set[str]) -> Iterator[str]:
    _, unless, name, table = index.groups()
    if table.lower() in own:
        return
    if name.lower() not in ready:
        yield f"{name}: {table} is locked while it is built; build it ahead"
    elif not unless:
        yield f"{name}: it was made ahead; say IF NOT EXISTS"


def _alter(table: str, what: str, ahead: str) -> Iterator[str]:
    for part in re.split(r",\s*(?=ADD|ALTER|DROP|SET|VALIDATE|RENAME|ATTACH)", what, flags=re.IGNORECASE):
        if re.match(r"ADD COLUMN", part, re.IGNORECASE) and (
            _VOLATILE.search(part) or re.search(r"\bGENERATED\b|\b(big|small)?serial\b", part, re.IGNORECASE)
        ):
            yield f"{table}: {part[:60]}: each row is written anew for a value of its own"
        if re.search(r"\b(SET DATA )?TYPE\b", part, re.IGNORECASE) and re.match(r"ALTER", part, re.IGNORECASE):
            yield f"{table}: {part[:60]}: each row is written anew; add another column"
        if re.search(r"SET NOT NULL", part, re.IGNORECASE) and not re.search(
            rf"ALTER TABLE {table} VALIDATE CONSTRAINT", ahead, re.IGNORECASE
        ):
            yield f"{table}: {part[:60]}: all of it is read under a lock; add a check NOT VALID, validate that ahead"
        if re.match(r"ADD (CONSTRAINT \w+ )?(CHECK|FOREIGN KEY)", part, re.IGNORECASE) and not re.search(
            r"NOT VALID", part, re.IGNORECASE
        ):
            yield f"{table}: {part[:60]}: all of it is read under a lock; say NOT VALID"
        if re.match(r"ADD (CONSTRAINT \w+ )?(PRIMARY KEY|UNIQUE|EXCLUDE)", part, re.IGNORECASE) and not re.search(
            r"USING INDEX", part, re.IGNORECASE
        ):
            yield f"{table}: {part[:60]}: its index is built under a lock; build it ahead, and say USING INDEX"
        if re.match(r"VALIDATE", part, re.IGNORECASE):
            yield f"{table}: {part[:60]}: validate ahead, outside of the transaction"
        if re.match(r"SET (TABLESPACE|LOGGED|UNLOGGED|ACCESS METHOD)", part, re.IGNORECASE):
            yield f"{table}: {part[:60]}: all of it is written anew"
