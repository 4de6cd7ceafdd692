"""A restored cell is held: it probes what was in progress, and no machine changes before an operator releases it.

Real controllers and agents, and a simulated cloud that remembers all that was done to each machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from stead import backup
from stead.cli.output import Code
from stead.client import Client
from tests.cli.remote import Nowhere, command
from tests.integration.doomed import PACE
from tests.integration.served import Served, served
from tests.integration.test_backup import Life, compared, life
from tests.integration.whole import agent, until

__all__ = ["life"]

TAKEN = "SELECT count(*) FROM resources WHERE (condition -> 'work' ->> 'taken')::boolean"
VERBS = "SELECT r.path, o.verb FROM resources r JOIN orders o ON o.id = r.order_id ORDER BY r.path"
STATES = "SELECT path, state FROM resources WHERE operation IS NULL ORDER BY path"


async def asked(client: Client, life: Life, **wishes: str) -> list[str]:
    """Ask for one action of each machine, by its number; the operations."""
    found = []
    for name, action in wishes.items():
        path = f"/ns/m/g/{name[1:]}"
        answer = await client.request_action(
            path, action, kind="vm", spec={"cpu": 2}, lane=life.lane, expect_agent=True
        )
        assert answer.operation is not None
        found.append(str(answer.operation.id))
    return found


async def deeds(life: Life, tokens: Sequence[str]) -> dict[str, list[str]]:
    """By token, all that was ever done to the machines of it."""
    found = {token: await life.world.history(token) for token in tokens}
    return {token: [line["verb"] for one in each for line in one["history"]] for token, each in found.items()}


async def probed(life: Life) -> None:
    """Until nothing waits for what an agent would say: what was in progress was looked at."""

    async def all_were() -> bool:
        return (await life.fetch(TAKEN))[0]["count"] == 0 and "probe" not in (await waiting(life)).values()

    await until(all_were, 60)


async def waiting(life: Life) -> dict[str, str]:
    """By path, the verbs of orders that stand."""
    return {r["path"]: r["verb"] for r in await life.fetch(VERBS)}


async def one_life(life: Life) -> tuple[list[str], list[str]]:
    """Three machines; a backup while three orders wait for an agent; then all are carried out, and two are overtaken.

    Answers with the tokens of the machines, and with the operations that were in progress at the backup.
    """
    async with served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s, Client(s.url) as client:
        async with agent(life.bus, life.cell, life.world, timeout=PACE.call):
            await life.all_end(await asked(client, life, m1="create", m2="create", m3="create", m4="create"))
        await s.known(life.lane)
        operations = await asked(client, life, m1="suspend", m2="reboot", m3="reboot", m4="suspend")
        await backup.take(life.dsn, life.folder / "one.stead", life.cell)
        async with agent(life.bus, life.cell, life.world, timeout=PACE.call):
            await life.all_end(operations)
            await life.all_end(await asked(client, life, m1="resume", m3="suspend"))
        tokens = await life.fetch("SELECT token::text FROM resources ORDER BY path")
        return [r["token"] for r in tokens], operations


async def restored(life: Life, *, hold: bool = True) -> None:
    await life.back(life.folder / "one.stead", hold=hold, custody=PACE.custody)


def by_path(found: Mapping[str, object]) -> dict[str, tuple[str, str | None, str]]:
    resources = found["resources"]
    assert isinstance(resources, list)
    return {one["path"][-1]: (one["recorded"], one["observed"], one["next_action"]) for one in resources}


@pytest.mark.long
async def test_restored_cell_changes_no_machine_before_it_is_released(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, operations = await one_life(life)
    before = await deeds(life, tokens)
    await restored(life)
    async with (
        served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s,
        agent(life.bus, life.cell, life.world, timeout=PACE.call),
    ):
        await probed(life)
        assert await deeds(life, tokens) == before
        # What is observed settles what was in progress; what is not is shown, and waits.
        assert await waiting(life) == {"/ns/m/g/1": "suspend"}
        found = await compared(s.url, monkeypatch, Code.FAILED)
        assert found["held_since"]
        assert by_path(found) == {
            "1": ("Suspending", "Running", "suspend"),
            "2": ("Running", "Running", ""),
            "3": ("Suspended", "Suspended", ""),
            "4": ("Suspended", "Suspended", ""),
        }
        outcomes = await life.all_end(operations[1:])
        assert [outcomes[one] for one in operations[1:]] == ["unknown", "failed", "succeeded"]
        await requested_while_held(s, life, tokens, before)
        await released_by_path(s, life, monkeypatch, tokens, before, operations[0])


async def requested_while_held(s: Served, life: Life, tokens: Sequence[str], before: Mapping[str, list[str]]) -> None:
    """A request is accepted, and waits like all others."""
    async with Client(s.url) as client:
        await asked(client, life, m4="resume")
    assert await waiting(life) == {"/ns/m/g/1": "suspend", "/ns/m/g/4": "resume"}
    await s.controller.slots.heal()
    assert await deeds(life, tokens) == before


async def released_by_path(
    s: Served,
    life: Life,
    monkeypatch: pytest.MonkeyPatch,
    tokens: Sequence[str],
    before: Mapping[str, list[str]],
    operation: str,
) -> None:
    """The operator lets one machine go on, then all."""
    stead = command(Nowhere(s.url), monkeypatch)
    answer = await asyncio.to_thread(stead, "backup", "release", "/ns/m/g/1")
    assert answer.code == Code.DONE, answer
    assert await life.all_end([operation]) == {operation: "succeeded"}
    assert await deeds(life, tokens) == {**before, tokens[0]: [*before[tokens[0]], "suspend"]}
    answer = await asyncio.to_thread(stead, "backup", "release")
    assert answer.code == Code.DONE, answer

    async def at_rest() -> bool:
        states = await life.fetch(STATES)
        return [r["state"] for r in states] == ["Suspended", "Running", "Suspended", "Running"]

    await until(at_rest, 60)
    lines = await life.fetch("SELECT detail, path FROM journal WHERE detail IN ('hold', 'release') ORDER BY id")
    assert [tuple(r) for r in lines] == [("hold", "/"), ("release", "/ns/m/g/1"), ("release", "/")]


@pytest.mark.long
async def test_restore_without_hold_probes_before_it_acts(life: Life) -> None:
    tokens, operations = await one_life(life)
    before = await deeds(life, tokens)
    await restored(life, hold=False)
    async with (
        served(life.dsn, life.bus, cell=life.cell, pace=PACE),
        agent(life.bus, life.cell, life.world, timeout=PACE.call),
    ):
        outcomes = await life.all_end(operations)
        assert [outcomes[one] for one in operations] == ["succeeded", "unknown", "failed", "succeeded"]
        after = await deeds(life, tokens)
        assert after == {**before, tokens[0]: [*before[tokens[0]], "suspend"]}
