"""What every driver of a private cloud must pass, whatever its machines run on.

A driver's tests derive a class from `DatacenterConformance` and bring two fixtures: `driver`, which speaks to an
empty datacenter with two nodes, `n1` and `n2`, and `world`, the hand that breaks things there and the eye that sees
what is really there. What a place cannot promise is left out by overriding its test, with the reason.

A machine may be a real one that takes seconds to start, so a test goes a long way with the few that it has.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import msgspec
import pytest

from stead.catalog import KINDS
from stead.drivers.base import PROBE, TRANSITIONAL, Driver, Member, Result, RetryableError
from stead.lifecycle.rows import ABSENT
from tests.drivers.conformance import eventually, observe

RUNNING, PAUSED, HALTED, DELETED = "RUNNING", "PAUSED", "HALTED", "DELETED"
CREATED, ASSIGNED, TO_BE_DELETED, DISABLED, DEPLOYED = "CREATED", "ASSIGNED", "TOBEDELETED", "DISABLED", "DEPLOYED"
MACHINE, DISK, IMAGE, CLOUDSPACE, NODE = "machine", "disk", "image", "cloudspace", "node"


class DatacenterWorld(Protocol):
    """The datacenter, from behind."""

    detaches_while_paused: bool
    """Whether a paused machine lets go of a disk; a real guest has to run for that."""

    def member(self, kind: str, **spec: Any) -> Member:
        """A new one that can be made, with a token of its own, at revision 1; a machine is for node `n1`."""

    def driver(self) -> Driver:
        """Another one, as another agent would have it."""

    async def there(self, machine: Member) -> dict[str, str]:
        """On which nodes there is something of a machine, and how it really is."""

    async def disks(self, machine: Member) -> list[str]:
        """Where a machine has disks, such as `vdb`: those that it has now, or where it is off, will have."""

    async def networks(self, cloudspace: Member) -> dict[str, bool]:
        """On which nodes there is a network of it, and whether it is active."""

    def volume(self, member: Member) -> bool:
        """Whether there is a file of a disk, an image, or the first disk of a machine."""

    def file(self) -> str:
        """One that an image can be made of."""

    async def silence(self, *nodes: str) -> None:
        """These nodes, or all, answer nothing."""

    async def heal(self) -> None:
        """All is well again."""


def changed(member: Member, **changes: Any) -> Member:
    return msgspec.structs.replace(member, **changes)


async def act(driver: Driver, verb: str, member: Member, order: str = "") -> Member:
    """It is done, to the end of what is only accepted; the member with the facts that came of it."""
    result = await asked(driver, verb, member, order)
    assert (result.error, result.ok, result.path) == ("", True, member.path)
    return changed(member, facts=result.facts)


async def asked(driver: Driver, verb: str, member: Member, order: str = "") -> Result:
    """What came of it, after the last of the tries that an agent makes."""
    why = ""
    for _ in range(20):
        try:
            (result,) = await driver.perform(verb, [member], order or f"order-{verb}")
        except RetryableError as error:
            why = f"{error.message} ({error.detail})"
            await asyncio.sleep(min(error.after, 0.2))
            continue
        if result.ok and result.pending:
            end = [result.pending]
            await eventually(lambda: observe(driver, member), end.__eq__)
        return result
    pytest.fail(f"{verb} of {member.path} is still to be tried again: {why}")


async def refused(driver: Driver, verb: str, member: Member) -> str:
    """It is not done, and never will be: why."""
    (result,) = await driver.perform(verb, [member], f"order-{verb}")
    assert (result.ok, result.permanent) == (False, True)
    assert result.error
    return result.error


async def deployed(driver: Driver, world: DatacenterWorld, **spec: Any) -> Member:
    """A machine that runs."""
    return await act(driver, "deploy", world.member(MACHINE, **spec))


class DatacenterConformance:
    """The promises of `stead.drivers.base`, for what a datacenter has."""

    async def test_what_is_deployed_runs_on_its_node_and_brings_facts(
        self, driver: Driver, world: DatacenterWorld
    ) -> None:
        machine = await deployed(driver, world)
        other = await deployed(driver, world, node="n2")
        for made, node in ((machine, "n1"), (other, "n2")):
            assert (made.facts["node"], await world.there(made)) == (node, {node: RUNNING})
            (seen,) = await driver.describe([made])
            assert (seen.state, seen.facts, seen.revision) == (RUNNING, made.facts, 1)

    async def test_a_token_makes_one_machine_with_one_spec(self, driver: Driver, world: DatacenterWorld) -> None:
        made = await deployed(driver, world)
        bare = changed(made, facts={})
        assert (await act(driver, "deploy", bare, "order-other")).facts == made.facts
        moved = changed(bare, spec={**made.spec, "node": "n2"})  # whoever tries again may choose another node
        assert (await act(driver, "deploy", moved)).facts == made.facts
        assert await world.there(made) == {"n1": RUNNING}
        await refused(driver, "deploy", changed(bare, spec={**made.spec, "memory": 97}))
        await act(driver, "stop", made)
        await act(driver, "deploy", bare)  # a late one does not start it again
        assert await world.there(made) == {"n1": HALTED}

    async def test_many_deploys_at_once_make_one(self, driver: Driver, world: DatacenterWorld) -> None:
        machine, other = world.member(MACHINE), world.driver()
        elsewhere = changed(machine, spec={**machine.spec, "node": "n2"})
        made = await asyncio.gather(
            *(act(d, "deploy", m) for d in (driver, other) for m in (machine, elsewhere) for _ in range(3))
        )
        await other.close()
        assert len({str(one.facts) for one in made}) == 1
        assert list((await world.there(machine)).values()) == [RUNNING]

    async def test_a_machine_is_led_through_its_states(self, driver: Driver, world: DatacenterWorld) -> None:
        machine = await deployed(driver, world)
        for verb, state in (
            ("pause", PAUSED),
            ("resume", RUNNING),
            ("stop", HALTED),
            ("start", RUNNING),
            ("pause", PAUSED),
            ("stop", HALTED),
        ):
            for order in ("one", "one", "other"):  # it may be repeated
                assert (await act(driver, verb, changed(machine, facts={}), order)).facts == machine.facts
                assert await observe(driver, machine) == [state]
                assert await world.there(machine) == {"n1": state}
        for verb in ("pause", "resume", "reboot", "reset"):
            await refused(driver, verb, machine)
        assert await world.there(machine) == {"n1": HALTED}

    async def test_what_is_rebooted_or_reset_runs(self, driver: Driver, world: DatacenterWorld) -> None:
        machine = await deployed(driver, world)
        for verb in ("reset", "reboot"):
            await act(driver, verb, machine)
            await eventually(lambda: world.there(machine), lambda there: there == {"n1": RUNNING})
        await act(driver, "pause", machine)
        await act(driver, "reboot", machine)
        await eventually(lambda: world.there(machine), lambda there: there == {"n1": RUNNING})

    async def test_what_is_deleted_lies_there_until_it_is_restored_or_destroyed(
        self, driver: Driver, world: DatacenterWorld
    ) -> None:
        machine = await deployed(driver, world)
        for order in ("one", "one", "other"):
            assert (await act(driver, "delete", machine, order)).facts == machine.facts
            assert (await observe(driver, machine), await world.there(machine)) == ([DELETED], {"n1": HALTED})
        for verb in ("start", "pause", "resume", "reboot", "reset"):
            await refused(driver, verb, machine)
        await act(driver, "stop", machine)  # a machine is destroyed by stop, delete and destroy, wherever it is
        for order in ("one", "one", "other"):
            await act(driver, "restore", changed(machine, facts={}), order)
            assert (await observe(driver, machine), await world.there(machine)) == ([HALTED], {"n1": HALTED})
        await act(driver, "start", machine)
        for verb in ("stop", "delete", "destroy", "destroy", "stop", "delete", "destroy"):
            await act(driver, verb, machine)
        assert (await observe(driver, machine), await world.there(machine)) == ([ABSENT], {})
        await refused(driver, "deploy", changed(machine, facts={}))
        for verb in ("start", "restore", "pause"):
            await refused(driver, verb, machine)
        assert await driver.inventory() == []

    async def test_looks_find_what_is_there_and_nothing_else(self, driver: Driver, world: DatacenterWorld) -> None:
        assert await driver.inventory() == []
        machine, other = await deployed(driver, world), await deployed(driver, world, node="n2")
        await act(driver, "delete", other)
        never = world.member(MACHINE)
        assert await observe(driver, never, machine, other) == [ABSENT, RUNNING, DELETED]
        by_id, by_token = changed(machine, token="another"), changed(machine, facts={})
        seen = await driver.describe([by_id, by_token])
        assert [(s.state, s.facts) for s in seen] == [(RUNNING, machine.facts)] * 2
        found = {f.token: f for f in await driver.inventory()}
        assert {token: (f.kind, f.path, f.state, f.facts) for token, f in found.items()} == {
            machine.token: (MACHINE, machine.path, RUNNING, machine.facts),
            other.token: (MACHINE, other.path, DELETED, other.facts),
        }
        assert all(f.id for f in found.values())

    async def test_a_disk_is_attached_and_detached(self, driver: Driver, world: DatacenterWorld) -> None:
        machine = await deployed(driver, world)
        disk = await act(driver, "create", world.member(DISK, size=4))
        for order in ("one", "other"):
            assert (await act(driver, "create", disk, order)).facts == disk.facts
            assert (await observe(driver, disk), disk.facts["machine"]) == ([CREATED], None)
        await refused(driver, "attach", disk)
        disk = changed(disk, spec={**disk.spec, "machine": machine.path}, revision=2)
        for order in ("one", "one", "other"):
            made = await act(driver, "attach", changed(disk, facts={}), order)
            (seen,) = await driver.describe([disk])
            assert (seen.state, seen.facts["machine"], seen.facts) == (ASSIGNED, machine.path, made.facts)
            assert seen.revision == 2
            assert await world.disks(machine) == ["vdb"]
        second = await act(driver, "assign", world.member(DISK, size=4, machine=machine.path))
        assert (await observe(driver, second), await world.disks(machine)) == ([ASSIGNED], ["vdb", "vdc"])
        await refused(driver, "delete", second)
        for order in ("one", "one", "other"):
            made = await act(driver, "detach", changed(disk, facts={}), order)
            assert (await observe(driver, disk), made.facts["machine"]) == ([CREATED], None)
            assert await world.disks(machine) == ["vdc"]
        third = await act(driver, "assign", world.member(DISK, size=4, machine=machine.path))
        assert await world.disks(machine) == ["vdb", "vdc"]
        await act(driver, "destroy", machine)  # what is attached to it outlives it
        assert await observe(driver, disk, second, third) == [CREATED] * 3
        await refused(driver, "delete-with-machine", disk)
        for order in ("one", "other"):  # and follows it, though it is gone
            await act(driver, "delete-with-machine", second, order)
            assert await observe(driver, disk, second, third) == [CREATED, TO_BE_DELETED, CREATED]
        await refused(driver, "restore-with-machine", second)
        for verb, state in (("delete", DELETED), ("restore", CREATED)):  # it lies there by itself
            await act(driver, verb, second)
            assert await observe(driver, second) == [state]
        for each in (disk, second, third):
            await act(driver, "destroy", each)
        assert await driver.inventory() == []

    async def test_disk_is_attached_and_detached_in_every_state_of_a_machine(
        self, driver: Driver, world: DatacenterWorld
    ) -> None:
        machine = await deployed(driver, world)
        disk = await act(driver, "create", world.member(DISK, size=4, machine=machine.path))
        for verb, state in (("pause", PAUSED), ("resume", RUNNING), ("stop", HALTED)):
            await act(driver, verb, machine)
            disk = await act(driver, "attach", disk)
            assert (await observe(driver, machine), await world.disks(machine)) == ([state], ["vdb"])
            if state == PAUSED and not world.detaches_while_paused:
                await refused(driver, "detach", disk)
                assert await world.disks(machine) == ["vdb"]
                continue
            disk = await act(driver, "detach", disk)
            assert (await observe(driver, machine), await world.disks(machine)) == ([state], [])

    async def test_disks_lie_in_the_bin_alone_or_with_their_machine(
        self, driver: Driver, world: DatacenterWorld
    ) -> None:
        machine = await deployed(driver, world)
        alone = await act(driver, "create", world.member(DISK, size=4))
        with_it = await act(driver, "assign", world.member(DISK, size=4, machine=machine.path))
        await refused(driver, "delete-with-machine", alone)
        for order in ("one", "other"):
            await act(driver, "delete", alone, order)
            await act(driver, "delete-with-machine", with_it, order)
            await act(driver, "delete", machine, order)
            assert await observe(driver, alone, with_it) == [DELETED, TO_BE_DELETED]
        assert await world.disks(machine) == ["vdb"]
        for member in (alone, with_it):
            await refused(driver, "attach", changed(member, spec={**member.spec, "machine": machine.path}))
        await refused(driver, "restore", with_it)
        await refused(driver, "restore-with-machine", alone)
        for order in ("one", "other"):
            await act(driver, "restore", alone, order)
            await act(driver, "restore", machine, order)
            await act(driver, "restore-with-machine", with_it, order)
            assert await observe(driver, alone, with_it) == [CREATED, ASSIGNED]
        found = {f.token: (f.kind, f.state) for f in await driver.inventory()}
        assert found == {
            machine.token: (MACHINE, HALTED),
            alone.token: (DISK, CREATED),
            with_it.token: (DISK, ASSIGNED),
        }
        for disk in (alone, with_it):
            for order in ("one", "other"):
                await act(driver, "destroy", disk, order)
                assert (await observe(driver, disk), world.volume(disk)) == ([ABSENT], False)
            await refused(driver, "create", changed(disk, facts={}))
        assert await world.disks(machine) == []

    def test_every_verb_of_a_lifecycle_is_known(self, driver: Driver) -> None:
        for kind in sorted(driver.kinds):
            for action in KINDS[kind].actions:
                for verb in action.verbs:
                    assert driver.batch_limit(verb, kind) > 0, f"{verb} of a {kind}"

    async def test_a_machine_has_a_copy_of_its_image(self, driver: Driver, world: DatacenterWorld) -> None:
        image = await act(driver, "create", world.member(IMAGE, file=world.file()))
        for order in ("one", "other"):
            assert (await act(driver, "create", image, order)).facts == image.facts
        for verb, state in (
            ("disable", DISABLED),
            ("enable", CREATED),
            ("delete", DELETED),
            ("restore", CREATED),
            ("disable", DISABLED),
        ):
            for order in ("one", "other"):
                await act(driver, verb, image, order)
                assert await observe(driver, image) == [state]
        machine = world.member(MACHINE, image=image.path)
        assert DISABLED in await refused(driver, "deploy", machine)
        await act(driver, "enable", image)
        machine = await act(driver, "deploy", machine)
        assert (await world.disks(machine), world.volume(machine)) == (["vda"], True)
        (found,) = [f for f in await driver.inventory() if f.kind == IMAGE]
        assert (found.token, found.path, found.state) == (image.token, image.path, CREATED)
        await act(driver, "destroy", image)
        await act(driver, "destroy", image)
        assert (await observe(driver, image), world.volume(image)) == ([ABSENT], False)
        assert (await observe(driver, machine), world.volume(machine)) == ([RUNNING], True)
        await refused(driver, "create", changed(image, facts={}))
        await act(driver, "destroy", machine)
        assert not world.volume(machine)

    async def test_a_cloudspace_is_a_network_on_every_node(self, driver: Driver, world: DatacenterWorld) -> None:
        space = world.member(CLOUDSPACE)
        assert await observe(driver, space) == [ABSENT]
        for verb, state in (
            ("deploy", DEPLOYED),
            ("disable", DISABLED),
            ("enable", DEPLOYED),
            ("pause", PAUSED),
            ("resume", DEPLOYED),
            ("reset", DEPLOYED),
            ("pause", PAUSED),
            ("reset", DEPLOYED),
            ("delete", DELETED),
            ("restore", DEPLOYED),
            ("disable", DISABLED),
            ("deploy", DISABLED),  # a late one changes nothing
            ("delete", DELETED),
        ):
            for order in ("one", "other"):
                space = await act(driver, verb, space, order)
                (seen,) = await driver.describe([changed(space, facts={})])
                assert (seen.state, seen.facts, seen.revision) == (state, space.facts, 1)
                assert await world.networks(space) == dict.fromkeys(("n1", "n2"), state == DEPLOYED)
        for verb in ("enable", "pause", "resume", "disable", "reset"):
            await refused(driver, verb, space)
        (found,) = await driver.inventory()
        assert (found.kind, found.token, found.path, found.state) == (CLOUDSPACE, space.token, space.path, DELETED)
        for order in ("one", "other"):
            await act(driver, "destroy", space, order)
            assert (await observe(driver, space), await world.networks(space)) == ([ABSENT], {})
        await refused(driver, "deploy", changed(space, facts={}))

    async def test_a_node_is_there_while_it_answers(self, driver: Driver, world: DatacenterWorld) -> None:
        node, other = (changed(world.member(NODE), path=f"/dc/{name}") for name in ("n1", "n2"))
        node = await act(driver, "enable", node)
        (seen,) = await driver.describe([node])
        assert (seen.state, seen.facts) == ("ENABLED", node.facts)
        assert node.facts["cpus"] > 0
        assert node.facts["memory"] > 0
        assert await observe(driver, changed(node, path="/dc/n7")) == [ABSENT]
        await refused(driver, "enable", changed(node, path="/dc/n7"))
        machine = await deployed(driver, world)
        assert machine.path in await refused(driver, "decommission", node)
        for order in ("one", "other"):
            await act(driver, "decommission", other, order)
            assert await observe(driver, node, other) == ["ENABLED", ABSENT]
        await refused(driver, "deploy", world.member(MACHINE, node="n2"))
        await refused(driver, "migrate", changed(machine, spec={**machine.spec, "node": "n2"}))
        await act(driver, "enable", other)
        assert await observe(driver, node, other) == ["ENABLED"] * 2

    @pytest.mark.parametrize("state", [RUNNING, PAUSED, HALTED])
    async def test_a_machine_migrates_and_nobody_sees_it(
        self, driver: Driver, world: DatacenterWorld, state: str
    ) -> None:
        machine = await deployed(driver, world)
        disk = await act(driver, "assign", world.member(DISK, size=4, machine=machine.path))
        if state != RUNNING:
            await act(driver, "pause" if state == PAUSED else "stop", machine)
        states: set[str] = set()
        for revision, node in enumerate(("n2", "n1", "n2"), 2):
            moving = changed(machine, spec={**machine.spec, "node": node}, revision=revision)
            going = asyncio.create_task(act(driver, "migrate", moving))
            while not going.done():
                states |= {*await observe(driver, machine)}
            assert (await going).facts == {**machine.facts, "node": node}
            assert await world.there(machine) == {node: state}
            assert await act(driver, "migrate", moving, "other") == await going  # it may be repeated
            (seen,) = await driver.describe([machine])
            assert (seen.state, seen.facts["node"], seen.revision) == (state, node, revision)
            (found,) = [f for f in await driver.inventory() if f.kind == MACHINE]
            assert (found.state, found.facts["node"]) == (state, node)
            assert (await observe(driver, disk), await world.disks(machine)) == ([ASSIGNED], ["vdb"])
        assert states <= {state, TRANSITIONAL}
        await refused(driver, "migrate", changed(machine, spec={**machine.spec, "node": "n7"}))
        await act(driver, "delete", machine)
        await refused(driver, "migrate", changed(machine, spec={**machine.spec, "node": "n1"}))

    async def test_two_at_once_do_not_get_in_each_others_way(self, driver: Driver, world: DatacenterWorld) -> None:
        machine, other = await deployed(driver, world), world.driver()
        away, back = (changed(machine, spec={**machine.spec, "node": node}) for node in ("n2", "n1"))
        disk = await act(driver, "create", world.member(DISK, size=4, machine=machine.path))
        await asyncio.gather(
            act(driver, "migrate", away),
            act(other, "migrate", back),
            act(driver, "attach", disk),
            act(other, "attach", disk),
            act(other, "migrate", away),
        )
        assert list((await world.there(machine)).values()) == [RUNNING]
        assert (
            await observe(
                driver,
                machine,
            ),
            await observe(other, disk),
        ) == ([RUNNING], [ASSIGNED])
        assert await world.disks(machine) == ["vdb"]
        await asyncio.gather(
            *(act(d, verb, machine) for d in (driver, other) for verb in ("stop", "delete", "destroy"))
        )
        assert (await world.there(machine), await observe(other, machine)) == ({}, [ABSENT])
        await other.close()

    async def test_no_answer_is_no_absence(self, driver: Driver, world: DatacenterWorld) -> None:
        machine, other = await deployed(driver, world), await deployed(driver, world, node="n2")
        await world.silence("n1")
        with pytest.raises(RetryableError):
            await driver.describe([machine])
        with pytest.raises(RetryableError):
            await driver.inventory()
        with pytest.raises(RetryableError):
            await driver.perform("stop", [machine], "order")
        with pytest.raises(RetryableError):
            await driver.perform("migrate", [changed(other, spec={**other.spec, "node": "n1"})], "order")
        assert await observe(driver, other) == [RUNNING]  # who is on another node is none the worse
        assert await observe(driver, machine, other) == [TRANSITIONAL, RUNNING]
        await act(driver, "stop", other)
        late = await deployed(driver, world, node="n2")
        await world.heal()
        await eventually(lambda: healed(driver, machine), bool)
        assert await observe(driver, machine, other, late) == [RUNNING, HALTED, RUNNING]

    async def test_another_driver_finds_all_of_it_and_goes_on(self, driver: Driver, world: DatacenterWorld) -> None:
        machine = await deployed(driver, world)
        await driver.close()
        other = world.driver()
        (found,) = await other.inventory()
        assert (found.token, found.path, found.state) == (machine.token, machine.path, RUNNING)
        bare = changed(machine, facts={})
        assert (await act(other, "deploy", bare)).facts == machine.facts
        await act(other, "destroy", bare)
        assert await world.there(machine) == {}
        await other.close()

    async def test_too_large_a_batch_is_never_begun(self, driver: Driver, world: DatacenterWorld) -> None:
        for verb in ("deploy", "stop", "destroy"):
            members = [world.member(MACHINE) for _ in range(driver.batch_limit(verb, MACHINE) + 1)]
            with pytest.raises(ValueError, match="at most"):
                await driver.perform(verb, members, "order")
        with pytest.raises(ValueError, match="at most"):
            await driver.describe([world.member(MACHINE) for _ in range(driver.batch_limit(PROBE, MACHINE) + 1)])
        assert await driver.inventory() == []

    async def test_what_is_no_verb_or_no_kind_is_never_begun(self, driver: Driver, world: DatacenterWorld) -> None:
        for verb in ("paint", "terminate", PROBE):
            with pytest.raises(ValueError, match=verb):
                await driver.perform(verb, [world.member(MACHINE)], "order")
        with pytest.raises(ValueError, match="vm"):
            await driver.perform("create", [changed(world.member(MACHINE), kind="vm")], "order")
        assert await driver.inventory() == []

    async def test_what_cannot_be_is_refused(self, driver: Driver, world: DatacenterWorld) -> None:
        for spec in ({"node": "n7"}, {"node": ""}, {"memory": 0}, {"cpu": "many"}, {"image": "/dc/none"}):
            machine = world.member(MACHINE, **spec)
            await refused(driver, "deploy", machine)
            assert (await observe(driver, machine), await world.there(machine)) == ([ABSENT], {})
        for member in (world.member(DISK, size=0), world.member(IMAGE, file="/no/such/file"), world.member(IMAGE)):
            await refused(driver, "create", member)
            assert (await observe(driver, member), world.volume(member)) == ([ABSENT], False)
        for kind in (DISK, IMAGE, CLOUDSPACE):
            await refused(driver, "delete", world.member(kind))
        assert await driver.inventory() == []

    async def test_nobody_asked_for_is_no_work(self, driver: Driver) -> None:
        assert await driver.perform("deploy", [], "order") == []
        assert await driver.describe([]) == []

    async def test_calls_end_in_time(self, driver: Driver) -> None:
        assert 0 < driver.longest_call < 3600

    async def test_close_may_be_repeated(self, driver: Driver) -> None:
        await driver.close()
        await driver.close()


async def healed(driver: Driver, member: Member) -> bool:
    """Whether it can be looked at again, after its node was silent."""
    try:
        return await observe(driver, member) != [TRANSITIONAL]
    except RetryableError:
        return False
