"""Podman: its driver keeps every driver's promises with real containers."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stead.dev.children import signal_process
from stead.drivers import registry
from stead.drivers.base import Member
from stead.drivers.podman.driver import Config, PodmanDriver
from stead.drivers.podman.engine import PATH, SITE, Engine
from stead.lifecycle.rows import BROKEN
from tests.drivers.conformance import eventually, known, observe
from tests.drivers.edge_conformance import READY, EdgeConformance, act, changed, furnished, make
from tests.drivers.process_world import ProcessWorld
from tests.drivers.system_conformance import SystemConformance
from tests.tiers import brief

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("podman") is None or shutil.which("busybox") is None, reason="there is no podman, or no busybox"
    ),
]
ULIMITS = "--ulimit nofile=10000:10000 --ulimit nproc=10000:10000 --pull never"


class Podman:
    """Podman with storage of its own, and one small image in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        apart = f"--root {folder}/root --runroot {folder}/run --tmpdir {folder}/tmp"
        self.options = f"{apart} --runtime runc --cgroup-manager cgroupfs --events-backend file --log-level error"

    def __call__(self, *words: str, **more: Any) -> str:
        command = ["podman", *shlex.split(self.options), *words]
        done: subprocess.CompletedProcess[bytes] = subprocess.run(command, capture_output=True, check=False, **more)
        if done.returncode != 0:
            raise RuntimeError(f"podman {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def furnish(self) -> None:
        image = self.folder / "image"
        (image / "bin").mkdir(parents=True)
        busybox = shutil.which("busybox")
        assert busybox is not None
        shutil.copy(busybox, image / "bin" / "busybox")
        for name in ("sh", "sleep", "echo", "test", "httpd", "id"):
            (image / "bin" / name).symlink_to("busybox")
        packed = subprocess.run(["tar", "-C", str(image), "-c", "."], check=True, capture_output=True).stdout
        self("import", "-", "tiny", input=packed)

    def clean(self) -> None:
        self("rm", "--all", "--force", "--time", "0")
        self._unmount()

    def reboot(self) -> None:
        """What podman keeps in memory alone is gone, as after a restart of the machine."""
        self._unmount()
        for name in ("run", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _unmount(self) -> None:
        for mounted in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (where := mounted.split()[1]).startswith(str(self.folder)):
                subprocess.run(["umount", where], check=True)


class PodmanWorld(ProcessWorld):
    """What podman has for one root."""

    def __init__(self, folder: Path, podman: Podman) -> None:
        super().__init__(folder)
        self.podman = podman

    def driver(self, **config: Any) -> PodmanDriver:  # type: ignore[override]
        where = {"root": str(self.folder), "options": self.podman.options, "run_options": ULIMITS, "timeout": 60}
        return PodmanDriver(Config(**{**where, **config}))

    def app_spec(self) -> Mapping[str, Any]:
        return {**self.other_spec(), "env": {"COLOUR": "blue"}}

    def other_spec(self) -> Mapping[str, Any]:
        return {"image": "tiny", "command": ["sleep", "1000"], "settle": 0.05, "stop": {"grace": 0}}

    def bad_spec(self) -> Mapping[str, Any]:
        return {**self.other_spec(), "command": ["sh", "-c", "echo alas; exit 3"], "settle": 5}

    async def running(self, app: Member) -> list[str]:
        mine = ("--filter", f"label={SITE}={self.root.mark}", "--filter", f"label={PATH}={app.path}")
        return self.podman("ps", "--no-trunc", *mine, "--format", "{{.ID}} {{.Pid}}").splitlines()

    async def scrawl(self, app: Member) -> None:
        self.root.app(app.path).file.write_text('{"token": 7}')

    async def wreck(self, app: Member) -> None:
        one, *_ = await self.running(app)
        id = one.split()[0]
        # It can fail while podman still unmounts what the container had.
        for _ in range(20):
            with suppress(RuntimeError):
                self.podman("rm", "--force", "--ignore", "--time", "0", id)
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"container {id} cannot be removed")

    async def restart(self) -> None:
        mine = ("--filter", f"label={SITE}={self.root.mark}")
        for line in self.podman("ps", "--no-trunc", *mine, "--format", "{{.ID}} {{.Pid}}").splitlines():
            id, pid = line.split()
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    if id.encode() in process.read_bytes():
                        signal_process(int(process.parent.name), signal.SIGKILL)
            signal_process(int(pid), signal.SIGKILL)
        self.clean()
        self.podman.reboot()


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    # Podman takes no long paths.
    with tempfile.TemporaryDirectory(prefix="pod-", ignore_cleanup_errors=True) as folder:
        place = Podman(Path(folder))
        try:
            place.furnish()
            yield place
        finally:
            place.clean()


@pytest.fixture
def world(podman: Podman, tmp_path: Path) -> Iterator[PodmanWorld]:
    place = PodmanWorld(tmp_path / "site", podman)
    yield place
    mine = podman("ps", "--all", "--quiet", "--filter", f"label={SITE}={place.root.mark}").split()
    engine = Engine("podman", shlex.split(podman.options))
    for one in mine:
        engine.remove(one, 0)  # podman may refuse once, where it still cleans up after a container that ended
    place.clean()


@pytest.fixture
async def driver(world: PodmanWorld) -> AsyncIterator[PodmanDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


@brief(
    "test_an_app_is_updated_and_restored",
    "test_a_token_makes_one_thing_with_one_spec",
    "test_what_cannot_be_is_refused",
    "test_calls_end_in_time",
)
class TestConformance(EdgeConformance):
    """With real containers."""


@brief(
    "test_a_job_that_fails_says_why_and_is_not_run_again",
    "test_what_cannot_be_is_refused",
)
class TestSystems(SystemConformance):
    """With real containers."""


async def test_what_it_writes(driver: PodmanDriver, world: PodmanWorld) -> None:
    (cluster,) = await make(driver, world.cluster())
    says = ["sh", "-c", "echo one; echo two; while ! test -e /tmp/go; do sleep 0.05; done; echo three; sleep 1000"]
    (app,) = await make(driver, world.app(cluster, command=says))
    tail = await eventually(lambda: driver.logs(app, 10), lambda tail: len(tail.lines) == 2)
    assert tail.lines == ["one", "two"]
    (world.root.cluster(cluster.path).tmp / "go").touch()
    more = await eventually(lambda: driver.logs(app, 10, tail.position), lambda tail: tail.lines)
    assert more.lines == ["three"]
    assert (await driver.logs(app, 10, more.position)).lines == []


async def test_podman_restarts_what_was_up(driver: PodmanDriver, world: PodmanWorld) -> None:
    _, app = await furnished(driver, world)
    before = await world.running(app)
    os.kill(int(before[0].split()[1]), 9)
    await eventually(lambda: world.running(app), lambda now: now and now != before)
    await eventually(lambda: observe(driver, app), lambda states: states == [READY])


async def test_health_is_checked_by_whoever_looks(driver: PodmanDriver, world: PodmanWorld) -> None:
    (cluster,) = await make(driver, world.cluster(net="own", pids=50))
    health = {"command": ["test", "-e", "/tmp/well"], "grace": 20, "failures": 1}
    app = world.app(cluster, health=health, memory="32M")
    (result,) = await driver.perform("create", [app], "order")
    assert (result.ok, result.pending) == (True, READY)
    well = world.root.cluster(cluster.path).tmp / "well"
    well.touch()
    await eventually(lambda: observe(driver, app), lambda states: states == [READY])
    well.unlink()
    assert await observe(driver, app) == [BROKEN]
    well.touch()
    known([app], await act(driver, "restore", [app]))
    (pid,) = [line.split()[1] for line in await world.running(app)]
    assert Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    assert f"/stead/{world.root.mark}/" in Path(f"/proc/{pid}/cgroup").read_text()


async def test_app_that_runs_out_of_memory_says_so(driver: PodmanDriver, world: PodmanWorld) -> None:
    (cluster,) = await make(driver, world.cluster())
    app = world.app(
        cluster,
        command=["sh", "-c", "sleep 1; x=more; while :; do x=$x$x; done"],
        memory="16M",
        restart="never",
        settle=60,
    )
    await driver.perform("create", [app], "order")
    await eventually(lambda: observe(driver, app), lambda states: states == [BROKEN])
    (seen,) = await driver.describe([app])
    assert "ran out of memory" in seen.error


async def test_an_image_that_is_not_there(driver: PodmanDriver, world: PodmanWorld) -> None:
    (cluster,) = await make(driver, world.cluster())
    (refused,) = await driver.perform("create", [world.app(cluster, image="none-such")], "order")
    assert (refused.ok, refused.permanent, "none-such" in refused.error) == (False, True, True)
    (slow,) = await driver.perform("create", [world.app(cluster, stop={"grace": 60})], "order")
    assert (slow.ok, "timeout" in slow.error) == (False, True)
    app = changed(world.app(cluster), spec={"command": ["x"]})
    (refused,) = await driver.perform("create", [app], "order")
    assert "image" in refused.error


def test_a_wrong_configuration_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"podman is wrong: .*root"):
        registry.make("podman", {})
