"""Controllers and agents in processes of their own, each of which can be made to die at a chosen write.

Run as a program, this is a nursery: it has imported everything once, and forks a process for every connection that it
gets. The connection is that process's line to the test: it comes with what to be and what to do, and each write is
told on it before it is made. When the line ends at one side, the process has died, or is to.

A write is whatever changes something outside of the process on behalf of an operation: a statement that writes, a
word on the bus, a call to the provider. What keeps house (numbering the journal, greetings, full states) is beside
it, and told as such.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import re
import signal
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import asyncpg
from nats.aio.client import Client

from stead import build as controller_engine
from stead.access.authorized import Authorized
from stead.agent import build
from stead.agent.order_work import OrderExecution
from stead.bus import Bus, Delivery
from stead.controller.admission.request import ActionRequest
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import Actor
from stead.store.statements import _SQL

PACE = Pace(custody=6, call=2, resend=1, again=1)
"""Short waits, but custody that a busy machine does not lose."""

ACK_WAIT = 1.0
"""Seconds until a message that was not acknowledged comes again."""

SELDOM = {"numbering": 2.0, "orphans": 600.0}
"""Healers that are not needed here: there are many of us, and an unasked full state would come at any moment."""

WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b|commit_changes|grant_orders")
BESIDE = {
    "statement": {
        "number_journal",
        "delete_empty_counts",
        "chain_journal",
        "lock_cell",
        "due_observations",
        "due_inventory",
        "record_inventory",
        "record_agents",
        "list_unannounced_agents",
        "list_missing_agents",
        "due_scaling",
        "schedule_scaling",
        "due_attachments",
        "due_events",
        "due_reclaims",
        "due_repairs",
        "due_notices",
        "flag_degraded",
        "schedule_attachments",
        "collect_durations",
        "put_durations",
        "delete_unused_durations",
        "delete_old_keys",
        "mark_unchanged",
        "set_bus",
    }
    | {"record_orphans", "delete_unseen_orphans"},
    "word": {
        "hello",
        "site",
        "site-reply",
        "full-state",
        "presence",
        "inventory",
        "inventory-reply",
        "state-sync",
        "state-sync-reply",
    },
}
"""What no operation waits for."""


class Fate:
    """Tells every write, and ends the process at the chosen one."""

    def __init__(self, say: Callable[[Mapping[str, Any]], None]) -> None:
        self.say = say
        self.seen: Counter[str] = Counter()
        self.chosen: Mapping[str, Any] = {}

    def choose(self, chosen: Mapping[str, Any]) -> None:
        """From now on count; strike before or after the nth write of that name."""
        self.seen.clear()
        self.chosen = chosen

    async def write[T](
        self,
        name: str,
        write: Callable[[], Awaitable[T]],
        arrived: Callable[[], Awaitable[None]] | None = None,
        beside: bool = False,
    ) -> T:
        """Make a write. `arrived` waits until it has reached the other side."""
        self.say({"beside" if beside else "write": name})
        self.seen[name] += 1
        here = self.chosen.get("write") == name and self.chosen["nth"] == self.seen[name]
        if here and self.chosen["when"] == "before":
            self.strike()
        result = await write()
        if here and self.chosen["when"] == "after":
            if arrived is not None:
                await arrived()
            self.strike()
        return result

    def strike(self) -> None:
        """With SIGKILL nothing follows: no block is left, no connection closed. With SIGSTOP it may go on later."""
        self.say({"struck": self.chosen["write"]})
        os.kill(os.getpid(), signal.Signals[self.chosen["signal"]])

    # Where writes are made

    def watch_database(self) -> None:
        names = {file.read_text(): file.name.removesuffix(".sql") for file in _SQL.iterdir() if file.is_file()}
        for method in ("fetch", "fetchval", "fetchrow", "execute", "executemany"):
            self._watch_statements(method, names)

    def _watch_statements(self, method: str, names: Mapping[str, str]) -> None:
        original = getattr(asyncpg.Connection, method)

        async def watched(connection: Any, query: str, *values: Any, **options: Any) -> Any:
            name = names.get(query, "statement")
            if not WRITES.search(query) or name in BESIDE["statement"]:
                return await original(connection, query, *values, **options)
            if "commit_changes" in query:
                name = f"commit {'; '.join(map(told_of_change, values[0]))}"
            return await self.write(name, lambda: original(connection, query, *values, **options))

        setattr(asyncpg.Connection, method, watched)

    def watch_bus(self) -> None:
        publish, ack = Client.publish, Delivery.ack

        async def published(client: Client, subject: str, payload: bytes = b"", *rest: Any, **options: Any) -> None:
            if subject.startswith("$JS."):
                return await publish(client, subject, payload, *rest, **options)
            word = json.loads(payload)["t"]
            send = partial(publish, client, subject, payload, *rest, **options)
            return await self.write(f"say {word}", send, client.flush, word in BESIDE["word"])

        async def acknowledged(delivery: Delivery[Any]) -> None:
            word, flush = type(delivery.message).__struct_config__.tag, delivery._link.client().flush
            await self.write(f"acknowledge {word}", partial(ack, delivery), flush, word in BESIDE["word"])

        setattr(Client, "publish", published)  # noqa: B010
        setattr(Delivery, "ack", acknowledged)  # noqa: B010

    def watch_provider(self) -> None:
        perform, look = SimDriver.perform, OrderExecution._observe

        async def performed(driver: SimDriver, verb: str, *rest: Any) -> Any:
            return await self.write(f"call {verb}", partial(perform, driver, verb, *rest))

        async def looked(execution: OrderExecution, *rest: Any) -> Any:
            return await self.write("look", partial(look, execution, *rest))

        setattr(SimDriver, "perform", performed)  # noqa: B010
        setattr(OrderExecution, "_observe", looked)  # noqa: B010


def told_of_change(template: Mapping[str, Any]) -> str:
    parts = ["begin" if "start_operation" in template else "", "take" if template["take_order"] else ""]
    parts += [
        f"order {template['verb']}" if "verb" in template else "",
        "end" if "end_operations" in template else "",
    ]
    return ", ".join(filter(None, parts)) or "change"


# What a process can be


async def no_migration(dsn: str) -> None:
    """The schema is there already."""


async def be_controller(what: Mapping[str, Any], line: Line) -> None:
    """A controller, which also lets requests in that come down the line."""
    setattr(controller_engine, "migrate", no_migration)  # noqa: B010
    place = (what["database"], what["nats"], what["cell"])
    async with controller_engine.open_engine(*place, connections=2, pace=PACE) as engine:

        async def ask(wish: Mapping[str, Any]) -> None:
            request = ActionRequest(
                wish["path"],
                wish["action"],
                wish.get("kind", "vm"),
                wish.get("spec", {"cpu": 2}),
                wish["lane"],
                force=wish.get("force", False),
                reason=wish.get("reason", ""),
                key=wish["key"],
            )
            ann = Authorized.of_record("ann", Actor.USER, request.action)
            answer = await engine.controller.admission.admit(request, ann)
            line.say({"answer": {**asdict(answer), "kind": type(answer).__name__}})

        for healer in engine.controller.healers:
            healer.every = SELDOM.get(healer.name, healer.every)
        line.on_ask = ask
        line.say({"ready": os.getpid()})
        await engine.controller.run()


async def be_agent(what: Mapping[str, Any], line: Line) -> None:
    """An agent on one lane of the simulated cloud."""
    config = build.lane_config("sim", what["lane"], {"url": what["cloud"], "timeout": PACE.call})
    line.say({"ready": os.getpid()})
    await build.run(what["nats"], what["cell"], what["name"], {what["lane"]: config})


class Line:
    """The line to the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.fate = Fate(self.say)
        self.on_ask: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None
        self.asks: set[asyncio.Task[None]] = set()

    def say(self, word: Mapping[str, Any]) -> None:
        """At once: what is said is with the other side, whatever becomes of this process."""
        self.writer.write(json.dumps(word, default=str).encode() + b"\n")

    async def listen(self) -> None:
        """Until the other side is gone; then this process goes too."""
        try:
            while text := await self.reader.readline():
                word = json.loads(text)
                if "choose" in word:
                    self.fate.choose(word["choose"])
                    self.say({"chosen": True})
                if "ask" in word and self.on_ask is not None:
                    self.asks.add(asyncio.ensure_future(self.on_ask(word["ask"])))
        finally:
            os._exit(0)


async def live(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    line = Line(reader, writer)
    what = json.loads(await reader.readline() or b"null")
    if what is None:
        return
    line.fate.choose(what.get("chosen") or {})
    listening = asyncio.create_task(line.listen())
    for method in (Bus.orders, Bus.reports):
        assert method.__kwdefaults__ is not None
        method.__kwdefaults__["ack_wait"] = ACK_WAIT
    line.fate.watch_bus()
    line.fate.watch_database()
    line.fate.watch_provider()
    try:
        await (be_controller if what["role"] == "controller" else be_agent)(what, line)
    except Exception:
        logging.exception("a %s failed", what["role"])
    listening.cancel()


def nursery(port: int) -> None:
    """Until interrupted: a process for every connection."""
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
        while True:
            connection, _ = listener.accept()
            if os.fork():
                connection.close()
                continue
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                asyncio.run(live(connection))
            finally:
                os._exit(0)


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("STEAD_LOG", "WARNING"), format="%(process)d %(asctime)s %(message)s")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
    try:
        nursery(int(sys.argv[1]))
    except KeyboardInterrupt:
        os.killpg(0, signal.SIGKILL)  # with all who came from here, also those who were stopped
