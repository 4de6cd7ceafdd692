"""Users of programs: an agent that is root runs them under an id of their namespace, and what that keeps apart."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from stead.drivers.base import Driver, Member
from stead.drivers.process import processes, spec
from stead.drivers.process.driver import APP, ProcessDriver
from stead.drivers.process.ending import end
from stead.drivers.process.keeper.program import VERSION
from stead.drivers.process.site import JOB
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import eventually, known, observe, until
from tests.drivers.edge_conformance import READY, act, changed, make
from tests.drivers.process_world import ProcessWorld
from tests.drivers.system_conformance import STABLE, SUCCEEDED, respecified, written
from tests.drivers.system_conformance import make as make_services
from tests.drivers.test_process import holds, shell

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as another user")

FIRST = 1_900_000_000


@pytest.fixture
def world() -> Iterator[ProcessWorld]:
    """A root that any user could reach, so that nothing but its own folders keeps users out."""
    folder = Path(tempfile.mkdtemp(prefix="stead-users-"))
    folder.chmod(0o711)
    place = ProcessWorld(folder / "site")
    yield place
    place.clean()
    shutil.rmtree(folder)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """Ids that no other test has given away."""
    return {"uid_file": str(tmp_path / "users" / "ids.json")}


@pytest.fixture(params=[True, False], ids=["isolated", "without isolation"])
def isolation(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def driver(world: ProcessWorld, settings: dict[str, Any]) -> AsyncIterator[ProcessDriver]:
    speaker = world.driver(**settings)
    yield speaker
    await speaker.close()


def inside(namespace: str, member: Member) -> Member:
    """The same in another namespace."""
    return changed(member, path=f"/{namespace}/{member.path.split('/', 2)[2]}", token=f"{namespace}-{member.token}")


def pid(world: ProcessWorld, member: Member) -> int:
    (one,) = world.processes(member)
    return int(one.split(":")[0])


def status(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: words.split() for name, _, words in (line.partition(":") for line in lines)}


def uid(world: ProcessWorld, member: Member) -> int:
    return int(status(pid(world, member))["Uid"][0])


async def said(driver: Driver, member: Member, good: Callable[[list[str]], object] = bool) -> list[str]:
    return await eventually(lambda: written(driver, member), good)


def commands(kind: Any, above: str = "") -> Iterator[str]:
    """All fields of a spec that name a command, however deep."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for part in (hint, *get_args(hint)):
            if part == spec.Command:
                yield f"{above}{name}"
            elif isinstance(part, type) and issubclass(part, msgspec.Struct):
                yield from commands(part, f"{above}{name}.")


class TestIds:
    """Under which user a program runs."""

    async def test_program_of_root_agent_runs_under_id_of_its_namespace(
        self, world: ProcessWorld, settings: dict[str, Any], isolation: bool
    ) -> None:
        driver = world.driver(isolation=isolation, **settings)
        service = world.service(1)
        first, second = await make_services(driver, service, inside("other", service))
        for member, id in ((first, uid(world, first)), (second, uid(world, second))):
            found = status(pid(world, member))
            assert id in (FIRST, FIRST + 1)
            assert found["Uid"] == found["Gid"] == [str(id)] * 4
            assert (found["Groups"], found["CapEff"], found["NoNewPrivs"]) == ([], ["0" * 16], ["1"])
            work = world.place(member).work
            assert (work.stat().st_uid, work.stat().st_mode & 0o777) == (id, 0o700)
            assert status(world.keeper(member))["Uid"] == ["0"] * 4
        assert uid(world, first) != uid(world, second)
        await driver.close()

    async def test_every_command_of_every_spec_runs_under_the_id(
        self, world: ProcessWorld, settings: dict[str, Any], isolation: bool
    ) -> None:
        assert sorted(commands(spec.App)) == ["command", "health.command"], "a new command has to be added below"
        driver = world.driver(isolation=isolation, **settings)
        id = str(FIRST)
        checks = {"command": shell("{ id -u; id -G; } > checking; mv checking checked"), "every": 0.05}
        says = shell("id -u; id -G; echo > $HOME/file; echo out > /dev/stdout; exec sleep 1000")
        (cluster,) = await make(driver, world.cluster())
        (app,) = await make(driver, world.app(cluster, command=says, health=checks))
        (service,) = await make_services(driver, world.service(1, command=says, health=checks))
        for member in (app, service):
            assert await said(driver, member, lambda told: len(told) == 3) == [id, id, "out"]
            work = world.place(member).work
            assert (work / "checked").read_text().split() == [id, id]
            assert {(work / name).stat().st_uid for name in ("file", "checked")} == {FIRST}
        job = world.job("id -u; id -G; echo $USER $LOGNAME")
        known([job], await act(driver, "run", [job]))
        assert await said(driver, job) == [id, id, "stead-lab stead-lab"]
        await driver.close()

    async def test_id_is_durable_and_never_given_to_another_namespace(
        self, world: ProcessWorld, settings: dict[str, Any]
    ) -> None:
        driver = world.driver(**settings)
        (service,) = await make_services(driver, world.service(1))
        assert uid(world, service) == FIRST
        known([service], await act(driver, "delete", [service]))
        await driver.close()
        after = world.driver(**settings)  # the agent was started anew, or replaced by another version
        other, again = await make_services(after, inside("other", world.service(1)), world.service(1))
        assert (uid(world, other), uid(world, again)) == (FIRST + 1, FIRST)
        await after.close()

    async def test_agents_of_one_machine_share_ids_whatever_their_roots(
        self, world: ProcessWorld, settings: dict[str, Any]
    ) -> None:
        elsewhere = ProcessWorld(world.folder.parent / "elsewhere")
        drivers = [world.driver(**settings), elsewhere.driver(**settings)]
        (one,) = await make_services(drivers[0], world.service(1))
        same, other = await make_services(drivers[1], elsewhere.service(1), inside("other", elsewhere.service(1)))
        assert [uid(world, one), uid(elsewhere, same), uid(elsewhere, other)] == [FIRST, FIRST, FIRST + 1]
        for driver in drivers:
            await driver.close()
        elsewhere.clean()

    async def test_range_without_free_id_fails_the_order_and_runs_nothing(
        self, world: ProcessWorld, settings: dict[str, Any]
    ) -> None:
        driver = world.driver(uids=f"{FIRST}-{FIRST}", **settings)
        await make_services(driver, world.service(1))
        for verb, member in (("create", world.service(1)), ("run", world.job("true"))):
            late = inside("other", member)
            (failed,) = await driver.perform(verb, [late], "order")
            assert (failed.ok, failed.permanent) == (False, True)
            assert f"all of {FIRST}-{FIRST} are taken" in failed.error
            assert (await observe(driver, late), world.processes(late)) == ([ABSENT], [])
        await driver.close()

    async def test_agent_that_is_not_root_runs_programs_as_itself(self, world: ProcessWorld) -> None:
        """The agent is a process of another user, that may read all files since Python is not everyone's to read."""
        service = world.service(1)
        world.folder.mkdir()
        os.chown(world.folder, 65534, 65534)
        agent = f"""
import asyncio, msgspec, os, sys
from stead.drivers import registry
from stead.drivers.base import Member
driver = registry.make("process", {{"root": {str(world.folder)!r}, "isolation": False}})
members = msgspec.json.decode(sys.stdin.read(), type=list[Member])
for member in members:
    print(asyncio.run(driver.perform("create", [member], "order")))
os._exit(0)
"""
        cap = "+dac_read_search"
        words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", cap]
        done = subprocess.run(
            [*words, "--ambient-caps", cap, sys.executable, "-c", agent],
            input=msgspec.json.encode([service, changed(world.service(1, user=0))]),
            capture_output=True,
            timeout=60,
            check=True,
        )
        made, refused = done.stdout.decode().splitlines()
        assert "ok=True" in made, made
        assert "only an agent that runs as root" in refused
        await holds(lambda: world.processes(service))
        assert status(pid(world, service))["Uid"] == ["65534"] * 4
        assert status(world.keeper(service))["Uid"] == ["65534"] * 4


class TestChosen:
    """What the field `user` of a spec can choose."""

    @pytest.mark.parametrize("user", [0, "root", "0", 1, "daemon", 1234, FIRST + 1, FIRST + 7, "none-such"])
    async def test_user_that_was_not_allowed_is_rejected_and_nothing_done(
        self, driver: ProcessDriver, world: ProcessWorld, user: int | str
    ) -> None:
        (mine,) = await make_services(driver, world.service(0))
        await make_services(driver, inside("other", world.service(0)))
        (cluster,) = await make(driver, world.cluster())
        before = await driver.inventory()
        rejected = [("create", world.service(1, user=user)), ("create", world.app(cluster, user=user))]
        for verb, member in (*rejected, ("run", world.job("true", user=user))):
            (result,) = await driver.perform(verb, [member], "order")
            assert (result.ok, result.permanent) == (False, True)
            assert f"user {user}" in result.error
            assert "allowed_users" in result.error
        (result,) = await driver.perform(
            "update", [respecified(mine, 2, command=["true"], user=user, count=1)], "order"
        )
        assert not result.ok
        assert (await driver.inventory(), world.keepers()) == (before, [])

    async def test_own_id_of_the_namespace_may_be_named(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make_services(driver, world.service(1))
        (named,) = await make_services(driver, world.service(1, user=FIRST))
        assert uid(world, service) == uid(world, named) == FIRST

    @pytest.mark.parametrize(("user", "id"), [("root", 0), (0, 0), ("daemon", 1), (1234, 1234)])
    async def test_user_that_an_operator_allowed_is_used(
        self, world: ProcessWorld, settings: dict[str, Any], user: int | str, id: int, isolation: bool
    ) -> None:
        driver = world.driver(allowed_users="root, daemon,1234", isolation=isolation, **settings)
        says = shell("id -u; echo > $HOME/file; exec sleep 1000")
        (service,) = await make_services(driver, world.service(1, command=says, user=user))
        assert await said(driver, service) == [str(id)]
        await holds((world.place(service).work / "file").exists)
        assert uid(world, service) == id
        await driver.close()

    async def test_allowance_that_was_taken_back_holds_at_the_next_order(
        self, world: ProcessWorld, settings: dict[str, Any]
    ) -> None:
        driver = world.driver(allowed_users="root", **settings)
        (service,) = await make_services(driver, world.service(1, user="root"))
        await driver.close()
        strict = world.driver(**settings)
        assert await observe(strict, service) == [STABLE]
        os.kill(world.keeper(service), signal.SIGKILL)
        await until(strict, BROKEN, service)
        for verb in ("restore", "create"):
            (result,) = await strict.perform(verb, [service], "order")
            assert (result.ok, "not allowed" in result.error) == (False, True)
        assert world.processes(service) == []
        await strict.close()

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"allowed_users": "none-such"}, "no user none-such"),
            ({"allowed_users": str(FIRST)}, "one of uids"),
            ({"uids": "many"}, "FIRST-LAST"),
            ({"uids": "0-10"}, "between 1"),
            ({"uids": "9-3"}, "fewer"),
            ({"uid_file": "here"}, "absolute"),
        ],
    )
    def test_wrong_settings_are_told_at_the_start(
        self, world: ProcessWorld, wrong: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(ValueError, match=says):
            world.driver(**wrong)


class TestApart:
    """What one namespace cannot do to another, or to its keeper."""

    async def test_namespace_cannot_reach_another_or_any_keeper(
        self, world: ProcessWorld, settings: dict[str, Any], isolation: bool
    ) -> None:
        driver = world.driver(isolation=isolation, **settings)
        writes = shell("echo secret > file; exec sleep 1000")
        (victim,) = await make_services(driver, inside("victim", world.service(1, command=writes)))
        place = world.place(victim)
        await holds((place.work / "file").exists)
        names = [place.file, place.state, place.lock, place.log, place.above / "service.json"]
        tries = [
            *(f"cat {file}" for file in (*names, place.work / "file")),
            *(f"echo x >> {file}" for file in (*names, place.work / "file", place.above / "tmp" / "x")),
            *(f"ls {folder}" for folder in (place.work, place.folder, place.above, world.folder / "services")),
            *(f"kill -0 {number}" for number in (pid(world, victim), world.keeper(victim))),
            f"cat /proc/{pid(world, victim)}/environ",
            *("kill -9 $PPID", "cat /proc/$PPID/environ", "cat $HOME/../app.json", "echo > $HOME/../log"),
            *("rmdir $HOME", "mv $HOME $HOME.old", "ln -sfn /etc $HOME/../log"),
        ]
        hidden = f"ls {world.folder}/services | grep victim"  # isolated, there is a folder, with itself in it
        tries = [hidden if one == f"ls {world.folder / 'services'}" else one for one in tries]
        script = "\n".join(f"({one}) > /dev/null 2>&1 && echo 'could: {one}'" for one in tries)
        job = world.job(f"{script}\necho tried; cat $HOME/../work/none 2> /dev/null; > $HOME/mine; cat $HOME/mine")
        before = {file: file.read_bytes() for file in names}
        known([job], await act(driver, "run", [job]))
        assert await said(driver, job, lambda told: "tried" in told) == ["tried"]
        assert await observe(driver, victim) == [STABLE]
        assert {file: file.read_bytes() for file in names} == before
        await driver.close()

    async def test_links_in_a_working_folder_change_no_file_of_root(
        self, world: ProcessWorld, settings: dict[str, Any], isolation: bool
    ) -> None:
        treasure = world.folder.parent / "treasure"
        (treasure / "inner").mkdir(parents=True)
        files = [treasure / "file", treasure / "inner" / "file", treasure / "hard"]
        for file in files:
            file.write_text("root's")
        before = {path: facts(path) for path in (treasure, *treasure.rglob("*"))}
        driver = world.driver(isolation=isolation, **settings)
        plants = shell(
            f"ln -s {treasure} folder; ln -s {files[0]} file; mkdir -p deep/er; ln -s {treasure} deep/er/link",
            f"for name in log state.json app.json keeper.lock work; do ln -s {files[0]} $name; done",
            "> planted; exec sleep 1000",
        )
        health = {"command": ["test", "-e", "planted"], "every": 0.05}
        (service,) = await make_services(driver, world.service(1, command=plants, health=health))
        work = world.place(service).work
        os.link(files[2], work / "hard")  # as it may be where the kernel does not protect hard links
        before[files[2]] = facts(files[2])
        os.kill(world.keeper(service), signal.SIGKILL)
        await until(driver, BROKEN, service)
        known([service], await act(driver, "restore", [service]))
        await driver.close()
        moved = world.driver(isolation=isolation, **settings, uids=f"{FIRST + 500}-{FIRST + 600}")
        new = respecified(service, 2, command=["sleep", "1000"], env=world.app_spec()["env"])
        known([new], await act(moved, "update", [new]))
        assert uid(world, new) == FIRST + 500
        assert (work / "planted").stat().st_uid == (work / "deep" / "er").stat().st_uid == FIRST + 500
        assert {path: facts(path) for path in before} == before
        known([new], await act(moved, "delete", [new]))
        before[files[2]] = facts(files[2])  # it has one name less
        assert {path: facts(path) for path in (treasure, *treasure.rglob("*"))} == before
        assert [file.read_text() for file in files] == ["root's"] * 3
        await moved.close()

    async def test_link_in_tmp_leads_no_mount_elsewhere(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        """The root is below `/tmp`, of which the program has one of its own."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as treasure:
            (cluster,) = await make(driver, world.cluster())
            (world.root.cluster(cluster.path).tmp / world.folder.parent.name).symlink_to(treasure)
            (failed,) = await act(driver, "create", [world.app(cluster, restart="never")])
            assert (failed.ok, "cannot be run" in failed.error) == (False, True)
            assert [*Path(treasure).iterdir()] == []

    async def test_lock_in_a_working_folder_ends_no_process(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make_services(driver, world.service(1))
        trap = world.place(service).work / "trap"
        trap.mkdir()
        lock = os.open(trap / "keeper.lock", os.O_RDWR | os.O_CREAT)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        with subprocess.Popen(["sleep", "1000"]) as bystander:
            keeper = (bystander.pid, processes.began_at(bystander.pid) or 0)
            (trap / "state.json").write_bytes(msgspec.json.encode(processes.State(keeper, "up", "x")))
            assert await asyncio.to_thread(end, world.folder) == 1
            assert bystander.poll() is None
            bystander.kill()
        os.close(lock)
        assert world.keepers() == []


class TestUpgrade:
    """Programs that an earlier version has started run as root."""

    @pytest.fixture
    async def before(
        self, world: ProcessWorld, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[ProcessDriver]:
        """An agent that runs all as itself, and keepers that are older than the next agent."""
        with monkeypatch.context() as patched:
            patched.setattr("stead.drivers.process.machine.make_users", lambda *_, **__: None)
            old = world.driver(timeout=4, **settings)
        monkeypatch.setattr(processes, "VERSION", VERSION + 1)
        yield old
        await old.close()

    @pytest.mark.parametrize("verb", ["restore", "update", "scale"])
    async def test_program_goes_on_until_its_next_order_then_has_the_id(
        self, before: ProcessDriver, driver: ProcessDriver, world: ProcessWorld, verb: str
    ) -> None:
        writes = shell("mkdir -p deep; echo 1 >> deep/file; exec sleep 1000")
        (cluster,) = await make(before, world.cluster())
        (service,) = await make_services(before, world.service(2, command=writes))
        (app,) = await make(before, world.app(cluster, command=writes))
        running = world.processes(service)
        members = (service, app) if verb != "scale" else (service,)
        for member in members:
            assert await observe(driver, member) == [READY if member.kind == APP else STABLE]
            assert status(int(world.processes(member)[0].split(":")[0]))["Uid"] == ["0"] * 4
            await holds((world.place(member).work / "deep" / "file").exists)
        assert world.processes(service) == running
        for member in members:
            fresh = {"env": {**member.spec["env"], "NEW": "1"}} if verb == "update" else {}
            new = changed(member, spec={**member.spec, **fresh}, revision=2)
            keeper = world.keeper(member)
            known([member], await act(driver, verb, [new]))
            await holds(partial(world.processes, member))
            assert world.keeper(member) != keeper, "an older keeper cannot hand a folder over"
            for one in world.processes(member):
                assert status(int(one.split(":")[0]))["Uid"] == [str(FIRST)] * 4
            file = world.place(member).work / "deep" / "file"
            await eventually(partial(asyncio.to_thread, file.read_text), "1\n1\n".__eq__)
            assert (file.stat().st_uid, file.parent.stat().st_uid) == (FIRST, FIRST)
        assert len(world.keepers()) == 2 + 1

    @pytest.mark.parametrize("kind", [APP, JOB, "service"])
    async def test_program_that_is_started_again_has_the_id(
        self,
        before: ProcessDriver,
        driver: ProcessDriver,
        world: ProcessWorld,
        kind: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A repeated order starts what was written down by the earlier version."""
        (cluster,) = await make(before, world.cluster())
        member = {APP: world.app(cluster), JOB: world.job("id -u; exec sleep 1000"), "service": world.service(1)}[
            kind
        ]
        verb = "run" if kind == JOB else "create"
        with monkeypatch.context() as patched:
            patched.setattr(processes.Processes, "start", lambda *_: None)
            await before.perform(verb, [member], "order")
        await eventually(lambda: driver.perform(verb, [member], "order"), lambda results: results[0].ok)
        await holds(lambda: world.processes(member))
        assert uid(world, member) == FIRST

    async def test_job_that_succeeded_is_not_run_again(
        self, before: ProcessDriver, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        job = world.job("echo ran")
        known([job], await act(before, "run", [job]))
        known([job], await act(driver, "run", [job]))
        assert (await observe(driver, job), await said(driver, job)) == ([SUCCEEDED], ["ran"])


def facts(path: Path) -> tuple[int, int, int, int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid, found.st_mode, found.st_nlink, found.st_size
