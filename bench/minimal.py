"""Admission in its smallest form: how fast PostgreSQL accepts one action with all guarantees, and nothing else.

The counterpart that admission's own statements are measured against, in the same run:

    make bench ARGS="--only minimal"

The guarantees are those of Stead. The state changes by compare-and-set on a version. An idempotency key is used
once. A claim excludes others on its path, above it and below it, also under concurrency, by advisory locks.
Operation, claim, order and journal line are written in the same transaction. Two forms have them: a function with a
statement for each part, and a function that writes all parts in one statement.
"""

from __future__ import annotations

from itertools import product

import asyncpg

from bench.admit import CLIENTS, LANES, statements
from bench.figure import Figure, middle
from bench.ground import filled, pgbench, postgres
from bench.statement import PATH

BAR = 1.6

TABLES = """
CREATE TABLE minimal_resources AS SELECT id, path, state, version, fence, lane FROM resources;
ALTER TABLE minimal_resources ADD PRIMARY KEY (id);
ALTER TABLE minimal_resources ALTER path TYPE text COLLATE "C";
CREATE UNIQUE INDEX ON minimal_resources (path);
CREATE TABLE minimal_operations (
    id uuid PRIMARY KEY, path text, action text, principal text, state text DEFAULT 'in progress'
);
CREATE TABLE minimal_keys (principal text, key text, operation uuid, PRIMARY KEY (principal, key));
CREATE TABLE minimal_claims (path text COLLATE "C", mode "char", operation uuid, PRIMARY KEY (path, operation));
CREATE TABLE minimal_orders (
    id bigserial PRIMARY KEY, operation uuid, lane text, verb text, member bigint, fence bigint
);
CREATE TABLE minimal_journal (
    id bigserial PRIMARY KEY, at timestamptz DEFAULT now(), path text, operation uuid, source text, target text,
    principal text, action text
);
ANALYZE;
"""

FUNCTION = """
CREATE FUNCTION {name}(
    path_ text, ancestors text[], principal_ text, action_ text, key_ text, source_ text, target_ text,
    version_ bigint
) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
    operation_ uuid := gen_random_uuid();
    ancestor text;
    written bigint;
    member minimal_resources;
BEGIN
    -- Locks first: each statement after them sees what was committed before they were granted.
    FOREACH ancestor IN ARRAY ancestors LOOP
        PERFORM pg_advisory_xact_lock_shared(hashtextextended(ancestor, 0));
    END LOOP;
    PERFORM pg_advisory_xact_lock(hashtextextended(path_, 0));
    IF EXISTS (SELECT FROM minimal_claims WHERE path = ANY (ancestors) AND mode = 'x'
               UNION ALL SELECT FROM minimal_claims WHERE path = path_
               UNION ALL SELECT FROM minimal_claims WHERE path > path_ || '/' AND path < path_ || '0') THEN
        RETURN NULL;
    END IF;
    {writes}
EXCEPTION WHEN unique_violation THEN
    RETURN NULL;  -- the key was used
END $$;
"""

MANY_STATEMENTS = """
    INSERT INTO minimal_keys VALUES (principal_, key_, operation_);
    UPDATE minimal_resources SET state = target_, version = version + 1, fence = fence + 1
     WHERE path = path_ AND state = source_ AND version = version_ RETURNING * INTO member;
    IF NOT FOUND THEN RAISE EXCEPTION 'conflict'; END IF;
    INSERT INTO minimal_operations (id, path, action, principal) VALUES (operation_, path_, action_, principal_);
    INSERT INTO minimal_claims VALUES (path_, 'x', operation_);
    INSERT INTO minimal_orders (operation, lane, verb, member, fence)
    VALUES (operation_, member.lane, action_, member.id, member.fence);
    INSERT INTO minimal_journal (path, operation, source, target, principal, action)
    VALUES (path_, operation_, source_, target_, principal_, action_);
    RETURN operation_;
"""

ONE_STATEMENT = """
    WITH changed AS (
        UPDATE minimal_resources SET state = target_, version = version + 1, fence = fence + 1
         WHERE path = path_ AND state = source_ AND version = version_ RETURNING id, lane, fence
    ), key AS (INSERT INTO minimal_keys SELECT principal_, key_, operation_ FROM changed
    ), operation AS (
        INSERT INTO minimal_operations (id, path, action, principal)
        SELECT operation_, path_, action_, principal_ FROM changed
    ), claim AS (INSERT INTO minimal_claims SELECT path_, 'x', operation_ FROM changed
    ), ordered AS (
        INSERT INTO minimal_orders (operation, lane, verb, member, fence)
        SELECT operation_, lane, action_, id, fence FROM changed
    ), line AS (
        INSERT INTO minimal_journal (path, operation, source, target, principal, action)
        SELECT path_, operation_, source_, target_, principal_, action_ FROM changed
    )
    SELECT count(*) INTO written FROM changed;
    IF written = 0 THEN RAISE EXCEPTION 'conflict'; END IF;
    RETURN operation_;
"""

MANY, ONE, OWN = "minimal_statements", "minimal_statement", "stead"
FORMS = {MANY: MANY_STATEMENTS, ONE: ONE_STATEMENT}

REQUEST = """\\set n :n + 1
\\set i :first + :client_id * :each + :n
\\set g :i % 100
SELECT id AS vm, version AS seen FROM minimal_resources WHERE path = {path} \\gset
SELECT {name}({path}, ARRAY['/bench', '/bench/fleet', '/bench/fleet/g' || lpad((:g)::text, 2, '0')], 'ann', 'suspend',
              'key' || :i, 'Running', 'Suspending', :seen);
"""


async def measure(small: bool) -> list[Figure]:
    """What Stead's own statements cost in times of the cheaper form, from one client and from many."""
    vms, seconds, times = (40_000, 1, 1) if small else (300_000, 3, 3)
    counts = (1, CLIENTS)
    share = vms // (len(FORMS) * times * len(counts))
    """VMs for one run of one form; Stead's own statements change others, those of its own tables."""
    with postgres() as server:
        dsn = await filled(server, "minimal", vms + 1, LANES)
        connection = await asyncpg.connect(dsn)
        await connection.execute(TABLES)
        for name, writes in FORMS.items():
            await connection.execute(FUNCTION.format(name=name, writes=writes))
        scripts = {name: REQUEST.format(name=name, path=PATH) for name in FORMS}
        scripts[OWN] = await statements(dsn, vms + 1, ":each")
        rates: dict[tuple[str, int], list[float]] = {}
        for run, (count, name) in enumerate(product(counts, [*scripts] * times)):
            first = run // len(scripts) * len(FORMS) * share + (name == ONE) * share
            begin = f"\\set first {first}\n\\set each {share // count}\n"
            rate = pgbench(server, "minimal", begin + scripts[name], count, seconds)
            rates.setdefault((name, count), []).append(rate)
        accepted = await connection.fetchval("SELECT count(*) FROM minimal_claims")
        lines = await connection.fetchval("SELECT count(*) FROM minimal_journal")
        assert accepted == lines > 0, "each request has its claim and its line of the journal"
        await connection.close()
    return [figure(rates, count) for count in counts]


def figure(rates: dict[tuple[str, int], list[float]], count: int) -> Figure:
    """From so many clients."""
    found = {name: middle(rates[name, count]) for name in (*FORMS, OWN)}
    cost = max(found[MANY], found[ONE]) / found[OWN]
    detail = {
        "Stead's statements, a second": round(found[OWN]),
        "minimal, a statement for each part": round(found[MANY]),
        "minimal, one statement": round(found[ONE]),
    }
    beside = f"minimal admission, {count} client{'s' if count > 1 else ''}"
    return Figure(f"minimal-{count}", cost, "times the cost", beside, BAR, at_most=True, detail=detail)
