"""What the simulated cloud has and what was done there, on disk.

One call is one transaction, committed before it is answered: instances, the changes made to them and the record of
the call appear together or not at all. A server that is killed forgets nothing that it answered: the write-ahead log
is with the operating system by then, which outlives the process. (Only the loss of the machine itself could take the
last moments, since the log is not synced on every commit; a simulation can live with that.)

SQLite has one writer at a time, so the rules are checked and applied as if calls came one after the other.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from stead.drivers.sim.faults import Call, CallPlan
from stead.drivers.sim.rules import BROKEN, CREATE, DRIFTS, MAKES, RESPEC, RUNNING, TERMINATED, VERBS, Verb
from stead.drivers.sim.wire import BREAKS, OWNER_TAG, PATH_TAG, Answer, Ask, Drift, Error, Instance, Page, Pick

PREFIXES = {
    "vm": "i",
    "network": "net",
    "securitygroup": "sg",
    "sshkey": "key",
    "clusterinst": "cluster",
    "appinst": "app",
    "reservation": "res",
}
"""What the ids of each kind begin with."""

_encoder = msgspec.json.Encoder(order="sorted")

_MARK = "UPDATE instance SET state = ?, next_state = ?, due_at = ?, shown_state = ?, shown_until = ? WHERE seq = ?"
_MAKE = """INSERT INTO instance
    (seq, id, provider, region, kind, token, spec, revision, tags, state, next_state, due_at, visible_at, made_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_RESPEC = "UPDATE instance SET first = coalesce(first, spec), spec = ?, revision = ? WHERE seq = ?"
_INSIDE = f"""SELECT count(*) FROM instance AS cluster JOIN instance AS app
    ON app.provider = cluster.provider AND app.region = cluster.region
    WHERE cluster.seq = ? AND cluster.kind = 'clusterinst' AND app.kind = 'appinst' AND app.state <> 'terminated'
    AND instr(app.tags ->> '$.{PATH_TAG}', (cluster.tags ->> '$.{PATH_TAG}') || '/') = 1"""
_DEED = "INSERT INTO deed (instance, at, verb, before, after, call, order_token) VALUES (?, ?, ?, ?, ?, ?, ?)"
_CALL = """INSERT INTO call (seq, at, provider, region, verb, order_token, outcome, reply, size, members)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_BY_ID = """SELECT seq, id, token, spec, state, shown_state, shown_until, revision, first FROM instance
    WHERE id IN (SELECT value FROM json_each(?)) AND provider = ? AND region = ?"""
_BY_TOKEN = """SELECT seq, id, token, spec, state, shown_state, shown_until, revision, first FROM instance
    WHERE provider = ? AND region = ? AND token IN (SELECT value FROM json_each(?))"""
_LOOK = """SELECT seq, id, token, CASE WHEN shown_until > :now THEN shown_state ELSE state END, spec, tags, made_at,
    revision FROM instance WHERE provider = :provider AND region = :region AND kind = :kind AND seq > :after
    AND visible_at <= :now"""
_THESE = """ AND seq IN (
    SELECT seq FROM instance WHERE id IN (SELECT value FROM json_each(:ids))
    UNION SELECT seq FROM instance
        WHERE provider = :provider AND region = :region AND token IN (SELECT value FROM json_each(:tokens)))"""


@dataclass(slots=True)
class _Row:
    seq: int
    id: str
    token: str
    spec: str
    state: str
    shown_state: str | None
    shown_until: float
    revision: int
    first: str | None = None


class Ledger:
    """The simulated cloud itself."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self.db = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.executescript(files(__package__).joinpath("schema.sql").read_text())

    def close(self) -> None:
        """Leave the file in order."""
        self.db.close()

    def create(self, call: Call, asks: Sequence[Ask], plan: CallPlan) -> list[Answer]:
        """Make instances, each at most once per token."""
        with self.transaction() as now:
            known = {row.token: row for row in self._by_token(call, [ask.token for ask in asks])}
            room = None if plan.quota is None else plan.quota - self._count(call)
            seq = self._next("instance")
            number = self._next("call")
            made: list[tuple[Any, ...]] = []
            repeated: list[tuple[int]] = []
            deeds: list[tuple[Any, ...]] = []
            answers: list[Answer] = []
            for ask in asks:
                spec = _json(ask.spec)
                if (row := known.get(ask.token)) is not None:
                    repeated.append((row.seq,))
                    answers.append(_made_before(row, spec))
                elif (error := plan.member_error(ask.token)) is not None:
                    answers.append(Answer("failed", token=ask.token, error=error))
                elif room is not None and len(made) >= room:
                    error = Error("InstanceLimitExceeded", f"{call.provider} {call.region} has room for {plan.quota}")
                    answers.append(Answer("failed", token=ask.token, error=error))
                else:
                    state, next_state, due_at = _course(CREATE, now, plan, ask.spec)
                    id = f"{PREFIXES[call.kind]}-{seq:012x}"
                    row = known[ask.token] = _Row(seq, id, ask.token, spec, state, None, 0, ask.revision)
                    place = (call.provider, call.region, call.kind, ask.token)
                    course = (state, next_state, due_at, now + plan.stale, now)
                    made.append((row.seq, row.id, *place, spec, ask.revision, _json(ask.tags), *course))
                    deeds.append((row.seq, now, "create", "", state, number, call.order))
                    answers.append(Answer("made", id=row.id, token=row.token, state=state))
                    seq += 1
            self.db.executemany(_MAKE, made)
            self.db.executemany("UPDATE instance SET asked = asked + 1 WHERE seq = ?", repeated)
            self.db.executemany(_DEED, deeds)
            self._record(number, now, call, answers, reply=plan.reply)
        return answers

    def act(self, call: Call, picks: Sequence[Pick], plan: CallPlan) -> list[Answer]:
        """Do one of the verbs to instances."""
        verb = VERBS[call.deed]
        with self.transaction() as now:
            by_id = {row.id: row for row in self._by_id(call, [pick.id for pick in picks if pick.id])}
            missed = [pick.token for pick in picks if pick.token and pick.id not in by_id]
            by_token = {row.token: row for row in self._by_token(call, missed)}
            number = self._next("call")
            marks: list[tuple[Any, ...]] = []
            deeds: list[tuple[Any, ...]] = []
            specs: list[tuple[Any, ...]] = []
            answers: list[Answer] = []
            for pick in picks:
                row = by_id.get(pick.id) or by_token.get(pick.token)
                answer = _judge(call.deed, verb, pick, row, plan) or self._in_use(verb, row)
                if answer is None:
                    row = row or self._room(call, pick, now + plan.stale, now)
                    state, next_state, due_at = _course(verb, now, plan, pick.spec)
                    describe = row.shown_state if row.shown_until > now else row.state
                    marks.append((state, next_state, due_at, describe, now + plan.stale, row.seq))
                    deeds.append((row.seq, now, call.deed, row.state, state, number, call.order))
                    row.state = state
                    if call.deed in RESPEC:
                        row.spec, row.revision = _json(pick.spec), pick.revision
                        specs.append((row.spec, row.revision, row.seq))
                    answer = Answer("done", id=row.id, token=row.token, state=state)
                answers.append(answer)
            self.db.executemany(_MARK, marks)
            self.db.executemany(_RESPEC, specs)
            self.db.executemany(_DEED, deeds)
            self._record(number, now, call, answers, reply=plan.reply)
        return answers

    def observe(
        self,
        call: Call,
        ids: Sequence[str],
        tokens: Sequence[str],
        owner: str,
        after: int,
        limit: int,
        plan: CallPlan,
    ) -> Page:
        """What can be seen: of the named instances, or of everything that is not terminated."""
        named = call.deed == "describe"
        query = _LOOK + (_THESE if named else " AND state <> 'terminated'")
        if owner:
            query += f" AND json_extract(tags, '$.{OWNER_TAG}') = :owner"
        with self.transaction() as now:
            values: dict[str, Any] = {"now": now, "provider": call.provider, "region": call.region, "kind": call.kind}
            values |= {"owner": owner, "after": after, "limit": limit + 1, "ids": _json(ids), "tokens": _json(tokens)}
            rows = self.db.execute(f"{query} ORDER BY seq LIMIT :limit", values).fetchall()
            seen = [
                Instance(id, token, state, msgspec.json.decode(spec), msgspec.json.decode(tags), made_at, revision)
                for _, id, token, state, spec, tags, made_at, revision in rows[:limit]
            ]
            members: list[Answer] = []
            if named:
                got = {i.id for i in seen} | {i.token for i in seen}
                members = [Answer("found", id=i.id, token=i.token, state=i.state) for i in seen]
                members += [Answer("gone", token=token) for token in tokens if token not in got]
            self._record(self._next("call"), now, call, members, reply=plan.reply)
        return Page(seen, next=str(rows[limit - 1][0]) if len(rows) > limit else "")

    def note(self, call: Call, outcome: str, reply: str = "sent") -> None:
        """Record a call that did nothing."""
        with self.transaction() as now:
            self._record(self._next("call"), now, call, [], outcome=outcome, reply=reply)

    def drift(self, drift: Drift) -> list[str]:
        """Change instances, or make some, with nobody having asked; looks show it at once."""
        place = Call(drift.provider, drift.region, "drift")
        with self.transaction() as now:
            if drift.do == "create":
                return self._appear(drift, now)
            state = DRIFTS[drift.do]
            named = self._by_id(place, drift.ids) + self._by_token(place, drift.tokens)
            rows = {row.seq: row for row in named if row.state != TERMINATED}.values()
            self.db.executemany(_MARK, [(state, None, None, None, 0, row.seq) for row in rows])
            deeds = [(row.seq, now, f"drift:{drift.do}", row.state, state, None, "") for row in rows]
            self.db.executemany(_DEED, deeds)
            return [row.id for row in rows]

    def _room(self, call: Call, pick: Pick, visible_at: float, now: float) -> _Row:
        """Where something that is not there is going to be."""
        seq = self._next("instance")
        row = _Row(seq, f"{PREFIXES[call.kind]}-{seq:012x}", pick.token, _json(pick.spec), "", None, 0, pick.revision)
        place = (call.provider, call.region, call.kind, pick.token)
        course = (TERMINATED, None, None, visible_at, now)
        self.db.execute(_MAKE, (seq, row.id, *place, row.spec, row.revision, _json(pick.tags), *course))
        return row

    def _in_use(self, verb: Verb, row: _Row | None) -> Answer | None:
        """The answer where something is to go that others are in."""
        if row is None or verb.ends != TERMINATED:
            return None
        (inside,) = self.db.execute(_INSIDE, (row.seq,)).fetchone()
        if not inside:
            return None
        error = Error("DependencyViolation", f"{inside} apps are in the cluster")
        return Answer("failed", id=row.id, token=row.token, state=row.state, error=error)

    @contextmanager
    def transaction(self) -> Iterator[float]:
        """All or nothing, with everything that is due by now having happened."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            now = self._clock()
            self._settle(now)
            yield now
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def _settle(self, now: float) -> None:
        """What was on its way and is due has arrived."""
        due = self.db.execute(
            "SELECT seq, state, next_state, due_at FROM instance WHERE next_state IS NOT NULL AND due_at <= ?", (now,)
        ).fetchall()
        if due:
            self.db.executemany(
                _DEED, [(seq, due_at, "arrive", state, to, None, "") for seq, state, to, due_at in due]
            )
            self.db.executemany(
                "UPDATE instance SET state = next_state, next_state = NULL, due_at = NULL WHERE seq = ?",
                [(row[0],) for row in due],
            )

    def _appear(self, drift: Drift, now: float) -> list[str]:
        first = self._next("instance")
        verb, spec, tags = CREATE, _json(drift.spec), _json(drift.tags)
        ids = []
        for seq in range(first, first + drift.count):
            ids.append(f"{PREFIXES[drift.kind]}-{seq:012x}")
            place = (drift.provider, drift.region, drift.kind, f"drift-{seq:012x}")
            self.db.execute(_MAKE, (seq, ids[-1], *place, spec, 0, tags, verb.ends, None, None, now, now))
            self.db.execute(_DEED, (seq, now, "drift:create", "", verb.ends, None, ""))
        return ids

    def _by_id(self, call: Call, ids: Sequence[str]) -> list[_Row]:
        return _rows(self.db.execute(_BY_ID, (_json(ids), call.provider, call.region))) if ids else []

    def _by_token(self, call: Call, tokens: Sequence[str]) -> list[_Row]:
        return _rows(self.db.execute(_BY_TOKEN, (call.provider, call.region, _json(tokens)))) if tokens else []

    def _count(self, call: Call) -> int:
        query = (
            "SELECT count(*) FROM instance WHERE provider = ? AND region = ? AND kind = ? AND state <> 'terminated'"
        )
        (count,) = self.db.execute(query, (call.provider, call.region, call.kind)).fetchone()
        return int(count)

    def _next(self, table: str) -> int:
        (last,) = self.db.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()
        return int(last) + 1

    def _record(
        self,
        seq: int,
        now: float,
        call: Call,
        answers: Iterable[Answer],
        *,
        outcome: str = "done",
        reply: str = "sent",
    ) -> None:
        members = [[a.token, a.id, a.did, a.error.code if a.error else ""] for a in answers]
        place = (call.provider, call.region, call.verb, call.order)
        self.db.execute(_CALL, (seq, now, *place, outcome, reply, len(members), _json(members)))


def _json(value: object) -> str:
    return _encoder.encode(value).decode()


def _rows(cursor: sqlite3.Cursor) -> list[_Row]:
    return [_Row(*row) for row in cursor]


def _course(verb: Verb, now: float, plan: CallPlan, spec: Mapping[str, Any]) -> tuple[str, str | None, float | None]:
    """The state right after the verb, where that leads, and when."""
    ends = BROKEN if (plan.broken or BREAKS in spec) and verb.ends == RUNNING else verb.ends
    return (verb.through, ends, now + plan.slow) if plan.slow > 0 else (ends, None, None)


def _made_before(row: _Row, spec: str) -> Answer:
    if spec not in (row.spec, row.first):
        error = Error("IdempotentParameterMismatch", "the token was used before, for a different request")
        return Answer("failed", token=row.token, error=error)
    return Answer("found", id=row.id, token=row.token, state=row.state)


def _judge(name: str, verb: Verb, pick: Pick, row: _Row | None, plan: CallPlan) -> Answer | None:
    """The answer where nothing is to be done; None where the verb is to be done."""
    id, token, state = (row.id, row.token, row.state) if row else (pick.id, pick.token, "")
    if (spoiled := plan.member_error(token)) is not None:
        return Answer("failed", id=id, token=token, state=state, error=spoiled)
    if row is None and verb.ends == TERMINATED:
        return Answer("gone", id=id, token=token)
    if row is None and name == MAKES:
        return None
    if row is None:
        return Answer("failed", id=id, token=token, error=Error("NotFound", "there is no such instance"))
    if state in verb.idle or (name in RESPEC and _is_so(row, verb, pick)):
        return Answer("idle", id=id, token=token, state=state)
    if state not in verb.starts:
        error = Error("IncorrectState", f"cannot {name} an instance that is {state}")
        return Answer("failed", id=id, token=token, state=state, error=error)
    return None


def _is_so(row: _Row, verb: Verb, pick: Pick) -> bool:
    """Whether something is, or is about to be, as it is to be changed to."""
    return row.state in (verb.through, verb.ends) and (row.spec, row.revision) == (_json(pick.spec), pick.revision)
