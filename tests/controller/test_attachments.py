"""Disks follow their machine into the recycle bin and out of it."""

from __future__ import annotations

from typing import Any

import pytest

from stead.controller.reconcilers.attachments import AttachmentReconciler
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.rows import Actor, Trigger
from tests.controller.test_queues import DISK, MACHINE, Controller, controller

OTHER = "/acme/space/other"


async def healed(c: Controller) -> None:
    await c.store.journal.number()
    await AttachmentReconciler(c.admission)()


async def machine_does(c: Controller, action: str, orders: int, **extra: Any) -> None:
    await c.begin(MACHINE, action, "machine", **extra)
    for _ in range(orders):
        await c.report(MACHINE)


async def furnished(c: Controller) -> None:
    """A machine with a disk, and one that lies by itself."""
    await c.make(MACHINE, "deploy", "machine")
    await c.make(DISK, "assign", "disk", spec={"machine": MACHINE})
    await c.make(OTHER, "create", "disk")
    await healed(c)


@pytest.mark.req("S2-08")
async def test_a_disk_goes_into_the_bin_with_its_machine_and_comes_back_with_it(migrated: str) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        await machine_does(c, "delete", 2)
        assert (await c.state(MACHINE), await c.state(DISK)) == ("DELETED", "ASSIGNED")
        await healed(c)
        assert await c.state(DISK) == "DELETING"
        await c.report(DISK)
        assert (await c.state(DISK), await c.state(OTHER)) == ("TOBEDELETED", "CREATED")
        await machine_does(c, "restore", 1)
        await healed(c)
        await c.report(DISK)
        assert (await c.state(MACHINE), await c.state(DISK)) == ("HALTED", "ASSIGNED")
        (*_, line) = await c.lines(DISK)
        assert (line["principal"], line["target"]) == ("agent", "ASSIGNED")


@pytest.mark.req("S2-08")
async def test_a_disk_that_was_detached_stays(migrated: str) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        await c.begin(DISK, "detach", "disk")
        await c.report(DISK, machine=None)
        await machine_does(c, "delete", 2)
        await healed(c)
        assert (await c.state(DISK), await c.under_way(DISK)) == ("CREATED", None)
        await c.make(DISK, "delete", "disk")
        assert await c.state(DISK) == "DELETED"


@pytest.mark.req("S2-07", "S2-08")
@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize(("choice", "there"), [("", "DELETED"), ("delete", "DELETED"), ("keep", "CREATED")])
async def test_disks_of_destroyed_machine_are_kept_or_restorable(
    migrated: str, choice: str, there: str, binned: bool
) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        if binned:
            await machine_does(c, "delete", 2)
            await healed(c)
            await c.report(DISK, machine=MACHINE)
            assert await c.state(DISK) == "TOBEDELETED"
        await machine_does(c, "destroy", 3, spec={"disks": choice} if choice else {})
        assert await c.state(MACHINE) == "DESTROYED"
        await healed(c)
        await c.report(DISK, machine=None)
        assert await c.state(DISK) == there
        if there == "DELETED":  # a way back, without the machine
            await c.make(DISK, "restore", "disk")
        assert await c.state(DISK) == "CREATED"


@pytest.mark.req("S2-08")
async def test_disk_is_deleted_with_its_machine_and_not_before(migrated: str) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        for actor in (Actor.USER, Actor.CONTROLLER):
            refused = await c.ask(DISK, "delete-with-machine", "disk", actor=actor)
            assert isinstance(refused, Rejection)
            assert refused.code is Code.PARENT
        assert await c.state(DISK) == "ASSIGNED"
        await machine_does(c, "delete", 2)
        await c.begin(DISK, "delete-with-machine", "disk")


@pytest.mark.req("S2-08")
async def test_disk_follows_machine_that_was_restored_and_started(migrated: str) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        await machine_does(c, "delete", 2)
        await healed(c)
        await c.report(DISK)
        await machine_does(c, "restore", 1)
        await machine_does(c, "start", 1)
        await healed(c)
        await c.report(DISK)
        assert (await c.state(MACHINE), await c.state(DISK)) == ("RUNNING", "ASSIGNED")


@pytest.mark.req("S2-08")
async def test_a_disk_that_could_not_follow_is_asked_again(migrated: str) -> None:
    async with controller(migrated) as c:
        await furnished(c)
        await c.begin(DISK, "detach", "disk")
        attachments = AttachmentReconciler(c.admission)
        waits = await c.wait(MACHINE, "delete", "machine")  # one thing at a time
        await c.report(DISK, Trigger.FAILED)
        assert await c.state(DISK) == "ERROR"
        assert await c.queues.heal() == 1
        assert await c.under_way(MACHINE) == waits
        for _ in range(2):
            await c.report(MACHINE)
        assert await attachments.follow(MACHINE, "DELETED")  # a person has to look at it
