"""The life of a guest: one script, whatever the hypervisor.

It is made in a cloudspace of an account, is paused and resumed, gets a disk, loses it and gets it again, is stopped,
deleted and restored with its disk, and started. Its node is put in maintenance, so that it moves to the other one,
and while it does, somebody stops it: that is let in at once, and waits. At last it is destroyed.

After each step all are asked who know: the interface for its state, the journal for all the states that it has been
in, the bus for what agents were told to do, libvirt for what is on which node, and the guest itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stead.client import Client, Operation, Problem, Rejected
from tests.drivers.libvirt_world import LibvirtWorld
from tests.integration.datacenter import LANE, Datacenter, Orders

ACCOUNT, SPACE, MACHINE, DISK = "/acme", "/acme/space", "/acme/space/web", "/acme/space/data"
MORE = "/acme/space/more"
N1, N2 = "/dc/n1", "/dc/n2"

PATIENCE = 60.0
"""Seconds for anything, on a machine that has other things to do."""


class Guest:
    """What the guest itself says. Where there is none, nothing."""

    async def has_booted(self, times: int) -> None:
        """It has come up so often."""

    async def is_frozen(self) -> None:
        """It does nothing."""

    async def goes_on(self) -> None:
        """It does something."""

    async def has_disks(self, count: int) -> None:
        """It sees so many disks."""


@dataclass
class Life:
    """One that is lived."""

    place: Datacenter
    spec: Mapping[str, Any]
    """Of the machine."""
    guest: Callable[[str], Guest] = lambda _name: Guest()
    """By the name that the machine has at libvirt."""
    walks: dict[str, list[str]] = field(default_factory=lambda: {MACHINE: ["VIRTUAL"], DISK: ["MODELED"]})
    """The states that the machine and its disk have been in."""

    async def live(self) -> None:
        """From the beginning to the end."""
        await self.furnish()
        await self.boot()
        await self.rest()
        await self.get_a_disk_and_lose_it()
        await self.lie_in_the_bin()
        await self.move_while_somebody_stops_it()
        await self.end()

    async def furnish(self) -> None:
        """Two nodes, an account, and a cloudspace."""
        for node in (N1, N2):
            await self.done(node, "create", kind="node", lane=LANE)
        await self.done(ACCOUNT, "create", kind="account", lane=LANE)
        await self.done(SPACE, "deploy", kind="cloudspace", lane=LANE)
        assert [await self.state(path) for path in (N1, N2, ACCOUNT, SPACE)] == [
            "ENABLED",
            "ENABLED",
            "CONFIRMED",
            "DEPLOYED",
        ]

    async def boot(self) -> None:
        """It is put on a node, and runs."""
        await self.machine("deploy", "DEPLOYING", "RUNNING", kind="machine", lane=LANE, spec=self.spec)
        await (await self.itself()).has_booted(1)

    async def rest(self) -> None:
        """It is paused, and resumed."""
        await self.machine("pause", "PAUSING", "PAUSED")
        await (await self.itself()).is_frozen()
        await self.machine("resume", "RESUMING", "RUNNING")
        await (await self.itself()).goes_on()

    async def get_a_disk_and_lose_it(self) -> None:
        """While it runs; and it gets the disk again. The disk is asked, and then the machine: it is all the same."""
        await self.disk("assign", "ADDING_DISK", kind="disk", lane=LANE, spec={"size": 8, "machine": MACHINE})
        await self.has_disk("ASSIGNING", "ASSIGNED", 1)
        of_machine: dict[str, Any] = {"spec": {"disk": "data"}}
        for detach, attach, asked, said in (
            ("detach", "attach", DISK, {}),
            ("detach-disk", "attach-disk", MACHINE, of_machine),
        ):
            await self.disk(detach, "DETACHING_DISK", asked, **said)
            await self.has_disk("DETACHING", "CREATED", 0)
            await self.disk(attach, "ATTACHING_DISK", asked, **said)
            await self.has_disk("ATTACHING", "ASSIGNED", 1)

    async def lie_in_the_bin(self) -> None:
        """It is stopped, deleted together with its disk, restored with it, and started."""
        await self.machine("stop", "STOPPING", "HALTED")
        await self.get_another_disk_while_it_is_halted()
        await self.machine("delete", "DELETING", "DELETED", there="HALTED", verbs=["stop", "delete"])
        await self.goes_through(DISK, "DELETING", "TOBEDELETED")
        await self.machine("restore", "RESTORING", "HALTED")
        await self.goes_through(DISK, "RESTORING", "ASSIGNED")
        await self.machine("start", "STARTING", "RUNNING")
        await (await self.itself()).has_booted(2)
        await (await self.itself()).has_disks(1)

    async def get_another_disk_while_it_is_halted(self) -> None:
        """By the machine; and it loses the disk for good."""
        said = {"spec": {"disk": "more", "size": 8}}
        for action, meanwhile, asked, disks in (
            ("add-disk", "ADDING_DISK", MACHINE, 2),
            ("destroy", "DETACHING_DISK", MORE, 1),
        ):
            await self.disk(action, meanwhile, asked, "HALTED", **(said if asked == MACHINE else {}))
            assert len(await asyncio.to_thread(self.world.targets, await self.name())) == disks
        assert await self.state(MORE) == "DESTROYED"

    async def move_while_somebody_stops_it(self) -> None:
        """Its node is put in maintenance. The other one takes its time to answer, so that there is some to ask in."""
        name = await self.name()
        await asyncio.to_thread(self.world.daemons["n2"].freeze)
        try:
            maintenance = await self.begun(N1, "maintain")
            migration = await self.until(self.migration)
            assert await self.state(MACHINE) == "RUNNING"  # nobody sees it
            stop = await self.begun(MACHINE, "stop")
            assert await self.state(MACHINE) == "STOPPING"  # at once
            refused = await self.refusal(MACHINE, "pause")  # a second request is one too many
            assert refused.holder is not None
            assert (refused.status, refused.holder.operation, refused.holder.action) == (409, stop, "stop")
            assert (await self.client.operation(migration)).outcome is None
            assert await asyncio.to_thread(self.world.on, "n1", name) == "RUNNING"  # and waits
        finally:
            await asyncio.to_thread(self.world.daemons["n2"].heal)
        ends = [await self.client.wait(id, PATIENCE) for id in (migration, stop, maintenance)]
        assert [end.outcome for end in ends] == ["succeeded"] * 3
        assert self.orders.of(MACHINE, migration, stop) == ["migrate", "stop"]
        await self.goes_through(MACHINE, "STOPPING", "HALTED")
        await self.is_on("n2", "HALTED")
        assert await self.state(N1) == "MAINTENANCE"
        assert (await self.refusal(N2, "decommission")).code == "not-empty"  # now it is there

    async def end(self) -> None:
        """It is destroyed, and nothing is left of it but its disk, in the recycle bin."""
        name = await self.name()
        await self.done(MACHINE, "destroy", verbs=["stop", "delete", "destroy"])
        await self.goes_through(MACHINE, "DESTROYING", "DESTROYED")
        assert await asyncio.to_thread(self.world.observe, name) == {}
        await self.goes_through(DISK, "DELETING", "DELETED")
        await self.done(DISK, "destroy")
        await self.goes_through(DISK, "DESTROYING", "DESTROYED")
        for node in (N1, N2):
            await self.done(node, "decommission")  # nobody is there

    # What is asked for

    async def machine(self, action: str, moving: str, state: str, *, there: str = "", **wishes: Any) -> None:
        """Have something done to the machine, which leads it through one state to another."""
        await self.done(MACHINE, action, **wishes)
        await self.goes_through(MACHINE, moving, state)
        await self.is_on("n1", there or state)

    async def disk(
        self, action: str, meanwhile: str, path: str = DISK, state: str = "RUNNING", **wishes: Any
    ) -> None:
        """Have something done to the machine's disk: an operation of the machine, whose state shows it."""
        asked = await self.begun(path, action, **wishes)
        ended = await self.other.wait(asked, PATIENCE)
        assert (ended.outcome, ended.path) == ("succeeded", MACHINE), ended
        await self.goes_through(MACHINE, meanwhile, state)

    async def done(self, path: str, action: str, *, verbs: list[str] | None = None, **wishes: Any) -> None:
        """Have something done, for which agents get one order, unless they get others."""
        asked = await self.begun(path, action, **wishes)
        ended = await self.other.wait(asked, PATIENCE)
        assert ended.outcome == "succeeded", ended
        if path in self.walks:
            assert self.orders.of(path, asked) == (verbs or [action])

    async def begun(self, path: str, action: str, **wishes: Any) -> str:
        """The operation that something is let in as."""
        operation = (await self.client.request_action(path, action, **wishes)).operation
        assert operation is not None
        return operation.id

    async def refusal(self, path: str, action: str) -> Problem:
        """How somebody else is told no."""
        try:
            await self.other.request_action(path, action)
        except Rejected as error:
            return error.problem
        raise AssertionError(f"{action} of {path} was let in")

    # What is seen

    async def goes_through(self, path: str, moving: str, state: str) -> None:
        """From where it was, through one state to another: the interface shows the last, the journal has all."""
        self.walks[path] += [moving, state]

        async def arrived() -> bool:
            journaled = len(await self.journaled(path)) >= len(self.walks[path])  # numbers come a moment later
            return journaled and await self.state(path) == state

        await self.until(arrived)
        assert await self.journaled(path) == self.walks[path]

    async def is_on(self, node: str, state: str) -> None:
        """By libvirt's word it is on this node, in that state, and on no other; it is known to be there."""
        assert await asyncio.to_thread(self.world.observe, await self.name()) == {node: state}
        assert (await self.client.resource(MACHINE)).facts["node"] == node

    async def has_disk(self, moving: str, state: str, count: int) -> None:
        """The machine has so many disks, and runs."""
        await self.goes_through(DISK, moving, state)
        assert len(await asyncio.to_thread(self.world.targets, await self.name())) == count
        await self.is_on("n1", "RUNNING")
        await (await self.itself()).has_disks(count)

    async def journaled(self, path: str) -> list[str]:
        """The states that the journal has led something through."""
        lines = [line async for line in self.other.journal(path=path)]
        moves = [line for line in lines if not line.rejections and line.source != line.target]
        return [line.source for line in moves[:1]] + [line.target for line in moves]

    async def state(self, path: str) -> str:
        return (await self.other.resource(path)).state

    async def name(self) -> str:
        """Of the machine, at libvirt."""
        return str((await self.client.resource(MACHINE)).facts["id"])

    async def itself(self) -> Guest:
        return self.guest(await self.name())

    async def migration(self) -> str:
        """The operation that moves the machine, if one does."""
        running: list[Operation] = [one async for one in self.client.operations(below=MACHINE, running=True)]
        return next((one.id for one in running if one.action == "migrate"), "")

    async def until[T](self, found: Callable[[], Awaitable[T]]) -> T:
        """What is found, once it is something."""
        async with asyncio.timeout(PATIENCE):
            while not (there := await found()):
                await asyncio.sleep(0.05)
        return there

    @property
    def client(self) -> Client:
        return self.place.client

    @property
    def other(self) -> Client:
        """Of the other controller, which knows the same."""
        return self.place.other

    @property
    def world(self) -> LibvirtWorld:
        return self.place.world

    @property
    def orders(self) -> Orders:
        return self.place.orders
