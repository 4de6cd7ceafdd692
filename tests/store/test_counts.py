"""What is below a path, counted by state: the sum of what the journal tells."""

from __future__ import annotations

from collections import Counter

from stead.lifecycle.events import Request
from tests.action_requests import requested
from tests.controller.test_groups import GROUP, Engine, engine


async def counted(e: Engine, path: str) -> dict[str, int]:
    while (await e.store.journal.number(7))[1]:
        pass
    found = (await e.store.groups.read_counts([path], "vm"))[path]
    return {state: members for state, members in found.items() if state != "Absent"}


async def there(e: Engine, path: str) -> Counter[str]:
    rows = await e.store.pool.fetch(
        "SELECT state, count(*) AS n FROM resources WHERE kind = 'vm' AND path LIKE $1 || '/%' GROUP BY state", path
    )
    return Counter({row["state"]: row["n"] for row in rows})


async def test_counts_are_what_the_journal_adds_up_to(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make([])
        for group in ("a", "a-b", "b"):
            for i in range(5):
                path = f"{GROUP}/{group}/{i}"
                await e.admission.admit(*requested("vm", path, Request("create"), "ann", {"cpu": 1}, "sim.a"))
        assert await counted(e, GROUP) == {"Creating": 15}
        await e.carry([f"{GROUP}/a/0"])
        for path in (GROUP, f"{GROUP}/a", f"{GROUP}/a-b", "/ns"):
            assert await counted(e, path) == await there(e, path), path
        await e.ask("suspend")
        await e.carry()
        assert await counted(e, GROUP) == await there(e, GROUP) == {"Failed": 1, "Suspended": 14}
        assert await counted(e, f"{GROUP}/a") == {"Failed": 1, "Suspended": 4}
        assert await counted(e, f"{GROUP}/b/1") == {}


async def test_groups_that_come_and_go_leave_nothing_behind(migrated: str) -> None:
    kept = "SELECT path, kind, state, members FROM counts WHERE path LIKE '/ns/%' AND members <> 0 ORDER BY 1, 2, 3"
    async with engine(migrated) as e:
        pool = e.store.pool
        line = "INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target)"
        line += " SELECT '/ns/m/' || g || '/' || n, 'vm', 'ann', 'user', 'request', 'x', $1, $2"
        line += " FROM unnest($3::text[]) g, generate_series(1, 3) n"
        for source, target in (("Absent", "Creating"), ("Creating", "Running")):
            await pool.execute(line, source, target, ["stays", "goes"])
        await e.store.journal.number()
        before = await pool.fetch(kept)
        assert ("/ns/m/goes", "vm", "Running", 3) in [tuple(r) for r in before]
        await pool.execute(line, "Running", "Terminating", ["goes"])
        await e.store.journal.number()
        await pool.execute(line, "Terminating", "Absent", ["goes"])
        await e.store.journal.number(most=2)  # one of three is still there
        assert ("/ns/m/goes", "vm", "Terminating", 1) in [tuple(r) for r in await pool.fetch(kept)]
        await e.store.journal.number()
        left = {r["path"] for r in await pool.fetch("SELECT path FROM counts")}
        assert left == {"/ns", "/ns/m", "/ns/m/stays"}
        assert ("/ns/m", "vm", "Running", 3) in [tuple(r) for r in await pool.fetch(kept)]
        await pool.execute(line, "Absent", "Creating", ["goes"])  # again, under the same name
        await e.store.journal.number()
        assert ("/ns/m/goes", "vm", "Creating", 3) in [tuple(r) for r in await pool.fetch(kept)]
