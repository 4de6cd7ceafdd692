"""Processes: a driver keeps every driver's promises with real ones, and nothing runs twice or is left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.dev.children import free_port
from stead.drivers import registry
from stead.drivers.base import TRANSITIONAL, Member
from stead.drivers.process import cgroups, processes
from stead.drivers.process.driver import ProcessDriver
from stead.drivers.process.folders import Root
from stead.drivers.process.processes import PACKAGES, PROGRAM
from stead.drivers.process.spec import Limits, size
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import eventually, known, observe
from tests.drivers.edge_conformance import READY, EdgeConformance, act, changed, furnished, make
from tests.drivers.process_world import ProcessWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ProcessWorld]:
    place = ProcessWorld(tmp_path / "site")
    yield place
    place.clean()


@pytest.fixture
async def driver(world: ProcessWorld) -> AsyncIterator[ProcessDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


def shell(*lines: str) -> list[str]:
    return ["sh", "-c", "\n".join(lines)]


async def seen(driver: ProcessDriver, state: str, app: Member) -> str:
    """Wait until a look shows the state; what it says besides."""
    found = await eventually(lambda: driver.describe([app]), lambda found: found[0].state == state)
    return found[0].error


async def lines(driver: ProcessDriver, app: Member, good: Callable[[list[str]], object]) -> list[str]:
    """What the app wrote, without the keeper's own words, as soon as it is good."""

    async def read() -> list[str]:
        return [line for line in (await driver.logs(app, 1000)).lines if not line.startswith("stead: ")]

    return await eventually(read, good)


async def holds(condition: Callable[[], object]) -> None:
    async def check() -> bool:
        return bool(condition())

    await eventually(check, bool)


class TestConformance(EdgeConformance):
    """With real processes."""


async def test_nothing_is_up_before_it_runs(driver: ProcessDriver, world: ProcessWorld) -> None:
    _, app = await furnished(driver, world)
    slow = {"TEST_SITE": world.root.mark, "PATH": "/:" * 10_000 + "/bin"}  # the program takes long to be found
    (result,) = await driver.perform("update", [changed(app, spec={**app.spec, "settle": 0, "env": slow})], "order")
    assert (result.ok, result.pending, len(world.processes(app))) == (True, "", 1)


class TestApart:
    """What an app sees of the machine, and what it may use of it."""

    async def test_an_app_sees_itself_alone(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        cluster, other = await furnished(driver, world)
        says = shell(
            "echo $$; hostname; pwd; ls /proc | grep -c '^[0-9]'; env | sort | cut -d= -f1 | tr '\\n' ' '; echo",
            f"echo mine > /tmp/mine; ls {world.folder}/clusters/*/apps; exec sleep 1000",
        )
        (app,) = await make(driver, world.app(cluster, command=says))
        name = world.place(app).folder.name
        told = await lines(driver, app, lambda told: len(told) == 6)
        assert told[:3] == ["2", name, str(world.place(app).work)]
        assert int(told[3]) <= 6  # its keeper, itself, and what it runs to count them
        assert told[4].split() == [
            "APP_PATH",
            "HOME",
            "LOGNAME",
            "PATH",
            "PWD",
            "TEST_SITE",
            "USER",
        ]  # nothing of the agent's own
        assert told[5] == name  # and nobody else
        assert not Path("/tmp/mine").exists()
        assert (world.root.cluster(cluster.path).tmp / "mine").read_text() == "mine\n"
        assert world.place(other).folder.is_dir()
        for space in ("pid", "mnt", "uts", "ipc"):
            pids = [(await world.running(one))[0].split(":")[0] for one in (app, other)]
            inside = {Path(f"/proc/{pid}/ns/{space}").readlink() for pid in (*pids, "self")}
            assert len(inside) == 3, space

    async def test_a_cluster_may_have_a_network_of_its_own(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        port = free_port()
        (own, common) = await make(driver, world.cluster(net="own"), world.cluster())
        serves = shell(f"exec busybox httpd -f -p 127.0.0.1:{port} -h .")
        await make(driver, world.app(own, command=serves, health={"tcp": {"port": port}}))
        asks = shell(
            "grep -c eth0 /proc/net/dev",
            f"busybox nc 127.0.0.1 {port} < /dev/null 2> /dev/null && echo there || echo not",
        )
        asks[-1] += "\nexec sleep 1000"
        inside, outside = await make(driver, world.app(own, command=asks), world.app(common, command=asks))
        assert await lines(driver, inside, lambda told: len(told) == 2) == ["0", "there"]
        assert (await lines(driver, outside, lambda told: len(told) == 2))[1] == "not"
        (refused,) = await driver.perform("update", [changed(own, spec={"net": "host"})], "order")
        assert (refused.ok, "network" in refused.error) == (False, True)

    async def test_limits_are_held(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster(memory="64M", cpu=0.5, pids=20))
        trees = cgroups.found()
        assert trees is not None
        group = f"stead/{world.root.mark}/{world.root.cluster(cluster.path).folder.name}"
        assert int(in_group(trees, group, "pids", "pids.max", "pids.max")) == 20
        greedy = shell("sleep 0.2; echo now; dd if=/dev/zero of=/dev/null bs=200M count=1 && echo unharmed")
        (app,) = await make(driver, world.app(cluster, command=greedy, memory="32M", restart="never"))
        assert "137" in await seen(driver, BROKEN, app) or "SIGKILL" in await seen(driver, BROKEN, app)
        assert await lines(driver, app, bool) == ["now", "Killed"]
        many = shell("for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait")
        crowd = world.app(cluster, command=many, pids=4, restart="never", settle=0.3)
        (failed,) = await act(driver, "create", [crowd])
        assert (failed.ok, "fork" in failed.error) == (False, True)
        (wider,) = await act(driver, "update", [changed(cluster, spec={"pids": 50})])
        assert wider.ok
        assert int(in_group(trees, group, "pids", "pids.max", "pids.max")) == 50

    async def test_an_app_runs_as_another_user(self, world: ProcessWorld) -> None:
        driver = world.driver(allowed_users="1234")
        (cluster,) = await make(driver, world.cluster())
        (app,) = await make(driver, world.app(cluster, command=shell("id -u; > file; exec sleep 1000"), user=1234))
        assert await lines(driver, app, bool) == ["1234"]
        await holds((world.place(app).work / "file").exists)
        await driver.close()

    def test_a_place_without_control_groups_refuses_limits(self) -> None:
        assert cgroups.found("none / ext4 rw 0 0") is None

    def test_control_groups_of_the_second_kind(self, tmp_path: Path) -> None:
        """What is written where; the kernel of the machine may have the first kind alone."""
        (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
        trees = cgroups.found(f"cgroup2 {tmp_path} cgroup2 rw 0 0")
        assert trees is not None
        trees.limit("stead/x/one", Limits(cpu=0.5, memory="64M", pids=9))
        group = tmp_path / "stead/x/one"
        said = {file.name: file.read_text() for file in group.iterdir()}
        assert said == {"cpu.max": "50000 100000", "memory.max": str(64 * 2**20), "pids.max": "9"}
        assert (tmp_path / "stead/x/cgroup.subtree_control").read_text() == "+cpu +memory +pids"
        assert trees.entrances("stead/x/one") == [str(group / "cgroup.procs")]


def in_group(trees: cgroups.Cgroups, group: str, tree: str, first: str, second: str) -> str:
    return (trees.trees[tree] / group / (second if trees.second else first)).read_text().strip()


class TestRestart:
    """What happens when an app ends by itself."""

    async def test_always(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        (app,) = await make(driver, world.app(cluster, backoff={"first": 0.05}))
        (before,) = world.processes(app)
        os.kill(int(before.split(":")[0]), signal.SIGKILL)
        await holds(lambda: before not in (running := world.processes(app)) and running != [])
        assert await seen(driver, READY, app) == ""
        assert "SIGKILL" in "\n".join((await driver.logs(app, 10)).lines)

    @pytest.mark.parametrize(
        ("restart", "code", "state"),
        [("on-failure", 0, READY), ("never", 0, READY), ("never", 5, BROKEN)],
    )
    async def test_not_at_all(
        self, driver: ProcessDriver, world: ProcessWorld, restart: str, code: int, state: str
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        says = shell("echo once; read go < go", f"exit {code}")
        says[-1] = "mkfifo go; " + says[-1]
        (app,) = await make(driver, world.app(cluster, command=says, restart=restart))
        (world.place(app).work / "go").write_text("go\n")
        await holds(lambda: not processes.has_keeper(world.place(app)))
        assert await observe(driver, app) == [state]
        assert await lines(driver, app, bool) == ["once"]
        assert world.processes(app) == []

    async def test_too_often_is_broken_and_can_begin_anew(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        flaky = shell("echo begun; sleep 0.1; test -e well && exec sleep 1000; exit 7")
        backoff = {"first": 0.01, "most": 600, "tries": 2}
        app = world.app(cluster, command=flaky, settle=0.02, backoff=backoff | {"most": 0.05})
        await act(driver, "create", [app])
        assert "exit code 7" in await seen(driver, BROKEN, app)
        (world.place(app).work / "well").touch()
        known([app], await act(driver, "restore", [app]))
        assert await observe(driver, app) == [READY]
        await holds(lambda: len(world.processes(app)) == 1)
        assert len(world.keepers()) == 1

    async def test_what_an_app_left_behind_ends_with_it(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        daemon = shell("setsid sleep 1000 & setsid setsid sleep 1000 & read go < go")
        daemon[-1] = "mkfifo go; " + daemon[-1]
        (app,) = await make(driver, world.app(cluster, command=daemon, restart="never"))
        await holds(lambda: len(world.processes(app)) == 3)
        (world.place(app).work / "go").write_text("go\n")
        await holds(lambda: world.processes(app) == [])


class TestHealth:
    """Up is what is well."""

    async def test_it_is_up_when_it_is_well_and_started_again_when_it_is_ill(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        port = free_port()
        health = {"http": {"port": port, "path": "/well"}, "every": 0.1, "failures": 2, "timeout": 2}
        serves = shell(f"exec busybox httpd -f -p 127.0.0.1:{port} -h .")
        app = world.app(cluster, command=serves, health=health, backoff={"first": 0.01}, stop={"grace": 0.5})
        hasty = world.driver(patience=0.2)
        (result,) = await hasty.perform("create", [app], "order")
        assert (result.ok, result.pending) == (True, READY)
        assert await observe(driver, app) == [TRANSITIONAL]
        page = world.place(app).work / "well"
        page.touch()
        await seen(driver, READY, app)
        (before,) = world.processes(app)
        page.unlink()
        await holds(lambda: before not in (running := world.processes(app)) and running != [])
        page.touch()
        await seen(driver, READY, app)
        assert "404" in "\n".join((await driver.logs(app, 100)).lines)
        await hasty.close()

    async def test_who_does_not_become_well_in_time_has_failed(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        health: dict[str, Any] = {"command": shell("echo not yet; exit 4"), "every": 0.05, "grace": 0.4}
        app = world.app(cluster, health=health)
        (failed,) = await act(driver, "create", [app])
        assert not failed.ok
        assert "0.4 s" in failed.error
        assert "not yet" in failed.error
        assert world.processes(app) == []
        refused = world.app(cluster, health={"tcp": {"port": free_port()}, "every": 0.05, "grace": 0.3})
        (failed,) = await act(driver, "create", [refused])
        assert "refused" in failed.error

    async def test_a_check_that_hangs_is_a_failed_one(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        health = {"command": ["sleep", "100"], "timeout": 0.1, "grace": 0.4}
        (failed,) = await act(driver, "create", [world.app(cluster, health=health)])
        assert "longer than 0.1 s" in failed.error

    async def test_a_command_may_be_the_check(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        health = {"command": ["test", "-e", "well"], "grace": 8}
        says = shell("sleep 0.3; > well; exec sleep 1000")
        (app,) = await make(driver, world.app(cluster, command=says, health=health))
        assert (world.place(app).work / "well").exists()


class TestStop:
    """However an app behaves, it ends."""

    async def test_an_app_is_asked_first(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        polite = shell("trap 'echo bye; exit 0' USR1; echo up; while :; do sleep 0.05; done")
        (app,) = await make(driver, world.app(cluster, command=polite, stop={"signal": "USR1", "grace": 20}))
        await lines(driver, app, bool)
        new = changed(app, spec=world.other_spec())
        known([new], await act(driver, "update", [new]))
        assert await lines(driver, app, bool) == ["up", "bye"]

    async def test_who_does_not_listen_is_killed(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        deaf = shell("trap '' TERM HUP INT; sleep 1000 & sleep 1000 & wait; sleep 1000")
        (app,) = await make(driver, world.app(cluster, command=deaf, stop={"grace": 0.2}))
        await act(driver, "delete", [app])
        assert world.processes() == []
        assert world.keepers() == []
        assert await observe(driver, app) == [ABSENT]

    async def test_what_takes_longer_than_a_call_is_looked_at(self, world: ProcessWorld) -> None:
        driver = world.driver(timeout=4)
        (cluster,) = await make(driver, world.cluster())
        deaf = shell("trap '' TERM; while :; do sleep 0.05; done")
        (app,) = await make(driver, world.app(cluster, command=deaf, stop={"grace": 3}))
        (result,) = await driver.perform("delete", [app], "order")
        assert (result.ok, result.pending) == (True, ABSENT)
        assert await observe(driver, app) == [TRANSITIONAL]
        (refused,) = await driver.perform("delete", [cluster], "order")
        assert not refused.ok
        await seen(driver, ABSENT, app)
        assert (world.processes(), world.keepers()) == ([], [])
        assert not world.place(app).folder.exists()
        await driver.close()

    async def test_a_keeper_that_hangs_is_ended(
        self, driver: ProcessDriver, world: ProcessWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stead.drivers.process.leading.OVERDUE", 0.2)
        (cluster,) = await make(driver, world.cluster())
        (app,) = await make(driver, world.app(cluster, stop={"grace": 0.1}))
        os.kill(world.keeper(app), signal.SIGSTOP)
        known([app], await act(driver, "delete", [app]))
        assert (world.processes(), world.keepers()) == ([], [])


class TestCrashes:
    """Whoever is killed, nothing runs twice, and nothing is left behind."""

    async def test_a_killed_keeper_takes_its_app_along(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        cluster, app = await furnished(driver, world)
        keeper = world.keeper(app)
        os.kill(keeper, signal.SIGKILL)
        await holds(lambda: world.processes(app) == [])
        assert "keeper" in await seen(driver, BROKEN, app)
        assert [f.state for f in await driver.inventory() if f.token == app.token] == [BROKEN]
        known([app], await act(driver, "restore", [app]))
        assert len(world.processes(app)) == len(world.keepers()) == 1
        assert world.keeper(app) != keeper
        os.kill(world.keeper(app), signal.SIGKILL)
        known([app], await act(driver, "delete", [app]))
        known([cluster], await act(driver, "delete", [cluster]))
        assert (world.processes(), world.keepers()) == ([], [])

    async def test_a_killed_agent_leaves_apps_running_and_the_next_finds_them(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        app = world.app(cluster, settle=0.2)
        agent = f"""
import asyncio, msgspec, sys
from stead.drivers import registry
from stead.drivers.base import Member
driver = registry.make("process", {{"root": {str(world.folder)!r}}})
app = msgspec.json.decode(sys.stdin.readline(), type=Member)
async def main():
    print("begins", flush=True)
    print(await driver.perform("create", [app], "order"), flush=True)
    await asyncio.sleep(100)
asyncio.run(main())
"""
        for _ in range(2):  # killed while it makes the app, and after that
            with subprocess.Popen(
                [sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(msgspec.json.encode(app) + b"\n")
                process.stdin.flush()
                assert process.stdout.readline() == b"begins\n"
                if _:
                    assert b"ok=True" in process.stdout.readline()
                else:
                    await holds(world.keepers)
                os.killpg(process.pid, signal.SIGKILL)
        before = await eventually(lambda: world.running(app), bool)
        await seen(driver, READY, app)
        known([app], await act(driver, "create", [app]))
        assert world.processes(app) == before
        assert len(world.keepers()) == 1

    async def test_a_second_keeper_goes_away(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        _, app = await furnished(driver, world)
        before = world.processes(app)
        folder = str(world.place(app).folder)
        for program in (PROGRAM, (sys.executable, "-m", "stead.drivers.process.keeper.program")):
            second = subprocess.run([*program, folder], env={"PYTHONPATH": PACKAGES}, timeout=60, check=False)
            assert second.returncode == 3
        assert (world.processes(app), len(world.keepers())) == (before, 1)

    async def test_a_number_is_trusted_only_with_its_time(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        _, app = await furnished(driver, world)
        place = world.place(app)
        said = processes.read(place)
        assert said is not None
        with subprocess.Popen(["sleep", "1000"]) as other:
            place.state.write_bytes(msgspec.json.encode(msgspec.structs.replace(said, keeper=(other.pid, 1))))
            assert not processes.tell(place, signal.SIGKILL)
            assert other.poll() is None
            other.kill()

    async def test_an_agent_that_died_before_the_keeper_began(
        self, driver: ProcessDriver, world: ProcessWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        app = world.app(cluster)
        with monkeypatch.context() as patched:
            patched.setattr(processes.Processes, "start", lambda *_: None)
            await driver.perform("create", [app], "order")
        assert await observe(driver, app) == [BROKEN]
        known([app], await act(driver, "create", [app]))
        assert await observe(driver, app) == [READY]

    @pytest.mark.long
    @pytest.mark.slow
    async def test_fifty_at_once_and_nothing_is_left(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        apps = [world.app(cluster) for _ in range(50)]
        others = world.driver()
        halves = [act(driver, "create", apps[:30]), act(others, "create", apps[20:])]
        first, second = await asyncio.gather(*halves)
        assert [r.error for r in (*first, *second) if not r.ok] == []
        await holds(lambda: len(world.processes()) == len(world.keepers()) == 50)
        assert len(await driver.inventory()) == 51
        known(apps, await act(driver, "delete", apps))
        known([cluster], await act(others, "delete", [cluster]))
        assert (world.processes(), world.keepers()) == ([], [])
        assert await driver.inventory() == []
        assert [f for f in (world.folder / "clusters").iterdir()] == []
        assert [f for f in (world.folder / "bin").iterdir()] == []
        trees = cgroups.found()
        assert trees is None or not any(g.exists() for g in trees.group(f"stead/{world.root.mark}"))
        await others.close()


class TestLogs:
    """What an app writes."""

    async def test_files_are_begun_anew_and_nothing_is_lost_to_a_follower(self, world: ProcessWorld) -> None:
        driver = world.driver(log_size=2000, log_files=3)
        (cluster,) = await make(driver, world.cluster())
        writes = shell(
            "mkfifo go",
            "for i in $(seq 1 200); do echo line $i of the first part; done; read x < go",
            "for i in $(seq 201 250); do echo line $i of the other part; done; exec sleep 1000",
        )
        (app,) = await make(driver, world.app(cluster, command=writes))
        told = await lines(driver, app, lambda told: told and told[-1].startswith("line 200 "))
        assert 2000 < sum(len(line) + 1 for line in told) <= 6000
        place = world.place(app)
        assert sorted(file.name for file in place.folder.glob("log*")) == ["log", "log.1", "log.2"]
        assert all(file.stat().st_size <= 2000 for file in place.folder.glob("log*"))
        tail = await driver.logs(app, 3)
        assert [line.split()[1] for line in tail.lines] == ["198", "199", "200"]
        (place.work / "go").write_text("x\n")
        await lines(driver, app, lambda told: told[-1].startswith("line 250 "))
        more = await driver.logs(app, 1000, tail.position)
        assert [int(line.split()[1]) for line in more.lines] == list(range(201, 251))
        assert (await driver.logs(app, 1000, more.position)).lines == []
        assert len((await driver.logs(app, 1000, "1:77")).lines) > 50  # a place that nobody knows any more
        await driver.close()

    async def test_an_app_that_never_stops_writing_can_be_stopped(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (cluster,) = await make(driver, world.cluster())
        (app,) = await make(driver, world.app(cluster, command=["yes"]))
        known([app], await act(driver, "delete", [app]))
        assert (world.processes(), world.keepers()) == ([], [])


class TestWithout:
    """Less than all that a machine can give."""

    async def test_without_isolation_an_app_is_a_plain_process_and_ends_all_the_same(
        self, world: ProcessWorld
    ) -> None:
        driver = world.driver(isolation=False)
        (cluster,) = await make(driver, world.cluster())
        family = shell("setsid sleep 1000 & sleep 1000 & exec sleep 1000")
        app, other = await make(driver, world.app(cluster, command=family), world.app(cluster))
        await holds(lambda: len(world.processes(app)) == 3)
        pid = world.processes(other)[0].split(":")[0]
        assert Path(f"/proc/{pid}/ns/pid").readlink() == Path("/proc/self/ns/pid").readlink()
        known([app], await act(driver, "delete", [app]))
        assert world.processes(app) == []
        os.kill(world.keeper(other), signal.SIGKILL)
        await holds(lambda: world.processes() == [])
        assert await observe(driver, other) == [BROKEN]
        (refused,) = await driver.perform("create", [world.cluster(net="own")], "order")
        assert (refused.ok, "isolation" in refused.error) == (False, True)
        await driver.close()

    @pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv")
    async def test_who_may_little_has_namespaces_of_users(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        """An agent that is not root: here, one that may as little."""
        (cluster,) = await make(driver, world.cluster())
        app = world.app(cluster)
        with pytest.MonkeyPatch.context() as patched:
            without = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
            patched.setattr(processes, "PROGRAM", (*without, *PROGRAM))
            await make(driver, app)
        (pid,) = (one.split(":")[0] for one in world.processes(app))
        for space in ("user", "pid", "mnt"):
            assert Path(f"/proc/{pid}/ns/{space}").readlink() != Path(f"/proc/self/ns/{space}").readlink()

    def test_a_keeper_is_small(self) -> None:
        """There is one for every app: whatever it reads costs as often."""
        asks = "import sys, stead.drivers.process.keeper.program; print(*sys.modules)"
        said = subprocess.run(
            [sys.executable, "-S", "-P", "-c", asks], env={"PYTHONPATH": PACKAGES}, capture_output=True, check=True
        )
        read = set(said.stdout.decode().split())
        assert read.isdisjoint({"typing", "asyncio", "socket", "subprocess", "pathlib", "threading", "msgspec"})
        assert len(read) < 75


class TestSettings:
    """What it is told, by people and by specs."""

    def test_a_wrong_configuration_says_what_is_wrong(self, tmp_path: Path) -> None:
        for config, says in (({}, "root"), ({"root": "here"}, "whole path"), ({"root": str(tmp_path), "x": 1}, "x")):
            with pytest.raises(ValueError, match=f"processes is wrong: .*{says}"):
                registry.make("process", config)

    @pytest.mark.parametrize(
        ("spec", "says"),
        [
            ({}, "command"),
            ({"command": []}, "command"),
            ({"command": ["x"], "env": {"A=B": "c"}}, "env"),
            ({"command": ["x"], "health": {}}, "one of"),
            ({"command": ["x"], "health": {"tcp": {"port": 1}, "http": {"port": 1}}}, "one of"),
            ({"command": ["x"], "health": {"tcp": {"port": 1}, "evry": 3}}, "evry"),
            ({"command": ["x"], "stop": {"signal": "NONE"}}, "NONE"),
            ({"command": ["x"], "memory": "much"}, "much"),
            ({"command": ["x"], "memory": "1K"}, "less than"),
            ({"command": ["x"], "restart": "perhaps"}, "perhaps"),
        ],
    )
    async def test_a_wrong_spec_says_what_is_wrong(
        self, driver: ProcessDriver, world: ProcessWorld, spec: dict[str, Any], says: str
    ) -> None:
        (refused,) = await driver.perform("create", [changed(world.app(world.cluster()), spec=spec)], "order")
        assert (refused.ok, refused.permanent) == (False, True)
        assert says in refused.error

    def test_sizes(self) -> None:
        assert [size(said) for said in (7, "7", "1K", "2Mi", "3GB", "1T")] == [7, 7, 2**10, 2**21, 3 * 2**30, 2**40]

    @pytest.mark.parametrize("path", ["/lab/../x/y", "/lab/a b/ü/y", "/lab/.hidden/one/y"])
    async def test_no_path_leads_out_of_the_root(self, driver: ProcessDriver, world: ProcessWorld, path: str) -> None:
        (cluster,) = await make(driver, changed(world.cluster(), path=path.rpartition("/")[0]))
        app = changed(world.app(cluster), path=path)
        await make(driver, app)
        assert world.place(app).folder.resolve().is_relative_to(world.folder / "clusters")
        (found,) = [f for f in await driver.inventory() if f.token == app.token]
        assert found.path == path

    async def test_names_of_folders_are_refused_where_they_are_none(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        for path in ("/.", "/..", "/" + "x" * 300, "/"):
            (refused,) = await driver.perform("create", [changed(world.cluster(), path=path)], "order")
            assert (refused.ok, refused.permanent) == (False, True)

    def test_marks_of_what_is_gone_do_not_grow_for_ever(self, tmp_path: Path) -> None:
        root = Root(tmp_path)
        root.spend("old")
        (old,) = (tmp_path / "spent").iterdir()
        os.utime(old, (0, 0))
        for number in range(400):
            root.spend(f"token-{number}")
        assert (root.is_spent("old"), root.is_spent("token-399")) == (False, True)


@pytest.mark.req("S1-05")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder immutable")
async def test_delete_that_the_machine_rejects_fails_with_its_error(
    driver: ProcessDriver, world: ProcessWorld
) -> None:
    _, app = await furnished(driver, world)
    place = world.place(app)
    if subprocess.run(["chattr", "+i", str(place.folder)], check=False).returncode != 0:
        pytest.skip("this file system knows no immutable folders")
    try:
        (result,) = await driver.perform("delete", [app], "order")
        assert (result.ok, result.permanent) == (False, True)
        assert "Operation not permitted" in result.error
        assert str(place.folder) in result.error
        assert (await observe(driver, app)) == [READY]
    finally:
        subprocess.run(["chattr", "-i", str(place.folder)], check=True)
    (result,) = await act(driver, "delete", [app])
    assert result.ok


@pytest.mark.req("S1-05")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder immutable")
async def test_delete_whose_last_step_the_machine_rejects_is_broken_and_says_why(
    driver: ProcessDriver, world: ProcessWorld
) -> None:
    _, app = await furnished(driver, world)
    place = world.place(app)
    if subprocess.run(["chattr", "+i", str(place.work)], check=False).returncode != 0:
        pytest.skip("this file system knows no immutable folders")
    subprocess.run(["chattr", "-i", str(place.work)], check=True)
    apps = place.folder.parent
    results = asyncio.create_task(driver.perform("delete", [app], "order"))
    await holds(lambda: (there := place.wanted()) is None or there.absent)
    subprocess.run(["chattr", "+i", str(apps)], check=True)
    try:
        (result,) = await results
        if not result.ok:
            assert "Operation not permitted" in result.error
            (seen,) = await driver.describe([app])
            assert (seen.state, "Operation not permitted" in seen.error) == (BROKEN, True)
    finally:
        subprocess.run(["chattr", "-i", str(apps)], check=True)
