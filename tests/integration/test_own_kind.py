"""The life of a kind of one's own, carried out by a program, over the death of everybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.drivers.program.driver import Config, ProgramDriver
from stead.lifecycle.decision import Rejection
from stead.lifecycle.document import load
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import Actor
from tests.action_requests import requested, retry
from tests.docs.blocks import DOCS, fenced
from tests.integration.whole import controller, running, settled, until

PACE = Pace(custody=3, call=2, resend=1, again=1)
CERTIFICATE = next(
    text for _, text in fenced(DOCS / "how-to" / "your-own-kind.md") if text.startswith("# certificate.yaml")
)
PROGRAM = """#!/bin/sh
kept=$(dirname "$0")/kept
mkdir -p "$kept"
echo "$1" >> "$kept/words"
case $1 in
create) echo valid > "$kept/$RESOURCE_TOKEN.begun"; while [ -e "$kept/wait" ]; do sleep 0.05; done
        mv "$kept/$RESOURCE_TOKEN.begun" "$kept/$RESOURCE_TOKEN.Valid"; echo '{"serial": 7}' ;;
revoke) echo '{"pending": "Revoked"}'; mv "$kept/$RESOURCE_TOKEN.Valid" "$kept/$RESOURCE_TOKEN.Revoked" ;;
delete) [ ! -e "$kept/no" ] || { echo "not today" >&2; exit 1; }; rm -f "$kept/$RESOURCE_TOKEN".* ;;
look|list)
    printf '['; between=
    for file in "$kept"/*.Valid "$kept"/*.Revoked; do
        [ -e "$file" ] || continue
        name=${file##*/}; printf '%s{"token": "%s", "state": "%s"}' "$between" "${name%.*}" "${name##*.}"; between=,
    done
    printf ']' ;;
esac
"""
PATH = "/shop/www"


@asynccontextmanager
async def agent(nats: Nats, cell: str, folder: Path) -> AsyncIterator[None]:
    """One that runs the program."""
    program = folder / "authority"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    driver = ProgramDriver(Config(program=str(program), kinds="certificate", timeout=2.0))
    async with Bus(nats.url, cell, agent="tls") as bus:
        await bus.connect(60)
        async with running(Agent(bus, "tls", {"tls.lab": driver}).run()):
            yield


async def ask(one: Controller, action: str, on_conflict: OnConflict = OnConflict.DEFAULT) -> str:
    request = Request(action, on_conflict=on_conflict)
    answer = await one.admission.admit(*requested("certificate", PATH, request, "ann", {}, "tls.lab"))
    assert isinstance(answer, Accepted), answer
    return answer.operation


async def registered(one: Controller) -> None:
    seen = {"worlds": 1, "steps": 1, "bounds": {}}
    assert await one.store.lifecycles.register(load(CERTIFICATE), 0, CERTIFICATE, [], seen, "ann") == []


async def test_a_life(migrated: str, nats_server: Nats, cell: str, tmp_path: Path) -> None:
    async with controller(migrated, nats_server, cell, pace=PACE) as one, agent(nats_server, cell, tmp_path):
        await registered(one)
        await ask(one, "create")
        await settled(one, "Valid", PATH)
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert row.facts == {"serial": 7}
        refused = await one.admission.admit(*requested("certificate", PATH, Request("delete"), "ann"))
        assert isinstance(refused, Rejection)
        assert refused.allowed == ("revoke", "refresh")
        await ask(one, "revoke")
        await settled(one, "Revoked", PATH)
        (tmp_path / "kept" / "no").touch()
        failed = await ask(one, "delete")
        await settled(one, "Failed", PATH)
        record = await one.store.operations.read(UUID(failed))
        assert record is not None
        assert (record["outcome"], record["says"].endswith("delete: not today")) == ("failed", True)
        (tmp_path / "kept" / "no").unlink()
        retried = await retry(one.admission, UUID(failed), "ann", Actor.USER)
        assert isinstance(retried, Accepted)
        await until(lambda: gone(one))


async def gone(one: Controller) -> bool:
    return await one.store.resources.read(PATH) is None


async def test_everybody_dies_in_the_middle(migrated: str, nats_server: Nats, cell: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "wait").touch()
    async with controller(migrated, nats_server, cell, pace=PACE) as one:
        await registered(one)
        async with agent(nats_server, cell, tmp_path):
            await ask(one, "create")
            await until(lambda: asyncio.to_thread(lambda: any(kept.glob("*.begun"))))
            waits = await ask(one, "revoke", OnConflict.QUEUE)
    (kept / "wait").unlink()
    # Others come, who have never heard of the kind but from the database.
    async with controller(migrated, nats_server, cell, pace=PACE) as one, agent(nats_server, cell, tmp_path):
        await settled(one, "Revoked", PATH)
        record = await one.store.operations.read(UUID(waits))
        assert record is not None

        async def ended() -> bool:
            found = await one.store.operations.read(UUID(waits))
            return found is not None and found["outcome"] == "succeeded"

        await until(ended)
        words = (kept / "words").read_text().split()
        assert words.count("revoke") == 1
        assert len(list(kept.glob("*.Revoked"))) == 1


async def test_what_somebody_else_removed_is_found(
    migrated: str, nats_server: Nats, cell: str, tmp_path: Path
) -> None:
    look = Pace(custody=3, call=2, resend=1, again=1, look=1)
    async with controller(migrated, nats_server, cell, pace=look) as one, agent(nats_server, cell, tmp_path):
        await registered(one)
        await ask(one, "create")
        await settled(one, "Valid", PATH)
        for file in (tmp_path / "kept").glob("*.Valid"):
            file.unlink()
        await until(lambda: gone(one), 40)
