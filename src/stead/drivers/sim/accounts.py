"""What the simulated cloud can say about itself that no real one says: all that was done, and what was done twice.

`twice` is the proof that a controller kept its promises through crashes and lost answers. A token with two instances,
or an order that did the same thing to an instance twice, stands there; a repetition that changed nothing does not.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stead.drivers.sim.ledger import Ledger

_TWO_INSTANCES = """SELECT token, json_group_array(id) FROM instance
    WHERE token IN (SELECT token FROM instance GROUP BY token HAVING count(*) > 1) GROUP BY token"""
_TWO_DEEDS = """SELECT i.id, i.token, d.verb, d.order_token, count(*)
    FROM deed d JOIN instance i ON i.seq = d.instance
    WHERE d.order_token <> '' GROUP BY d.instance, d.verb, d.order_token HAVING count(*) > 1"""
_STATES = "SELECT provider, region, state, count(*) FROM instance WHERE kind = 'vm' GROUP BY provider, region, state"
_SHARED = "SELECT kind, count(*) FROM instance WHERE kind <> 'vm' AND state <> 'terminated' GROUP BY kind"
_RECORDED = "SELECT seq, at, provider, region, verb, order_token, outcome, reply, members FROM call"
_CALLS = """SELECT provider, region, verb, outcome, reply, count(*), sum(size) FROM call
    GROUP BY provider, region, verb, outcome, reply"""
_ASKED = "SELECT token, sum(asked) FROM instance GROUP BY token HAVING sum(asked) > 1"


def summary(ledger: Ledger) -> dict[str, Any]:
    """What there is, what was asked for, and what was done twice."""
    with ledger.transaction():
        states = ledger.db.execute(_STATES).fetchall()
        shared = ledger.db.execute(_SHARED).fetchall()
        calls = ledger.db.execute(_CALLS).fetchall()
        deeds = ledger.db.execute("SELECT verb, count(*) FROM deed GROUP BY verb").fetchall()
        instances = ledger.db.execute(_TWO_INSTANCES).fetchall()
        repeated = ledger.db.execute(_TWO_DEEDS).fetchall()
        asked = ledger.db.execute(_ASKED).fetchall()
    by_state: dict[str, int] = {}
    by_verb: dict[str, int] = {}
    for *_, state, count in states:
        by_state[state] = by_state.get(state, 0) + count
    for _, _, verb, _, _, count, _ in calls:
        by_verb[verb] = by_verb.get(verb, 0) + count
    return {
        "instances": by_state,
        "shared": dict(shared),
        "places": [
            {"provider": provider, "region": region, "state": state, "count": count}
            for provider, region, state, count in states
        ],
        "calls": by_verb,
        "calls_by_outcome": [
            {
                "provider": provider,
                "region": region,
                "verb": verb,
                "outcome": outcome,
                "reply": reply,
                "count": count,
                "members": members,
            }
            for provider, region, verb, outcome, reply, count, members in calls
        ],
        "deeds": dict(deeds),
        "twice": {
            "instances": [{"token": token, "ids": msgspec.json.decode(ids)} for token, ids in instances],
            "deeds": [
                {"id": id, "token": token, "verb": verb, "order": order, "times": times}
                for id, token, verb, order, times in repeated
            ],
        },
        "asked_twice": {token: times for token, times in asked},
    }


def instances(ledger: Ledger, after: int, limit: int, token: str) -> dict[str, Any]:
    """Every instance there ever was, with all that happened to it, oldest first."""
    query = "SELECT seq, id, provider, region, kind, token, state, spec, tags, made_at, revision FROM instance"
    query += " WHERE seq > ?"
    query += " AND token = ?" if token else ""
    with ledger.transaction():
        values = (after, token, limit + 1) if token else (after, limit + 1)
        rows = ledger.db.execute(f"{query} ORDER BY seq LIMIT ?", values).fetchall()
        told: dict[int, dict[str, Any]] = {}
        for seq, id, provider, region, kind, its_token, state, spec, tags, made_at, revision in rows[:limit]:
            told[seq] = {"id": id, "provider": provider, "region": region, "kind": kind, "token": its_token}
            told[seq] |= {"state": state, "revision": revision}
            told[seq] |= {"spec": msgspec.json.decode(spec), "tags": msgspec.json.decode(tags), "made_at": made_at}
            told[seq]["history"] = []
        deeds = ledger.db.execute(
            """SELECT instance, at, verb, before, after, call, order_token FROM deed
            WHERE instance IN (SELECT value FROM json_each(?)) ORDER BY instance, seq""",
            (msgspec.json.encode(list(told)).decode(),),
        )
        for seq, at, verb, before, state, call, order in deeds:
            line = {"at": at, "verb": verb, "before": before, "after": state, "call": call, "order": order}
            told[seq]["history"].append(line)
    page: dict[str, Any] = {"instances": list(told.values())}
    return page | ({"next": str(rows[limit - 1][0])} if len(rows) > limit else {})


def calls(ledger: Ledger, since: int, limit: int) -> dict[str, Any]:
    """Every call after a position, with the position to go on from."""
    with ledger.transaction():
        rows = ledger.db.execute(f"{_RECORDED} WHERE seq > ? ORDER BY seq LIMIT ?", (since, limit)).fetchall()
    told = [
        {
            "seq": seq,
            "at": at,
            "provider": provider,
            "region": region,
            "verb": verb,
            "order": order,
            "outcome": outcome,
            "reply": reply,
            "members": [
                {"token": token, "id": id, "did": did, "error": code}
                for token, id, did, code in msgspec.json.decode(members)
            ],
        }
        for seq, at, provider, region, verb, order, outcome, reply, members in rows
    ]
    return {"calls": told, "last": rows[-1][0] if rows else since}
