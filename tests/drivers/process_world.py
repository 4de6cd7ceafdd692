"""A folder of processes for tests, from behind."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stead.dev.children import signal_process
from stead.drivers.base import Member
from stead.drivers.process import cgroups
from stead.drivers.process.driver import APP, CLUSTER, Config, ProcessDriver
from stead.drivers.process.folders import JOBS, SERVICES, App, Root
from stead.drivers.process.keeper import isolation
from stead.drivers.process.processes import began_at, read
from stead.drivers.process.site import JOB, SERVICE

SLEEP = ["sleep", "1000"]
PATHS = {APP: "APP_PATH", SERVICE: "SERVICE_PATH", JOB: "JOB_PATH"}
"""The names by which each kind is told its path."""


class ProcessWorld:
    """What is on the machine for one root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = Root(folder)

    def driver(self, **config: Any) -> ProcessDriver:
        return ProcessDriver(Config(**{"root": str(self.folder), "timeout": 60, **config}))

    def cluster(self, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        return Member(path=f"/lab/berlin/{name}", token=f"token-{name}", spec=spec, kind=CLUSTER, revision=1)

    def app(self, cluster: Member, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        spec = {**self.app_spec(), **spec}
        return Member(path=f"{cluster.path}/{name}", token=f"token-{name}", spec=spec, kind=APP, revision=1)

    def service(self, count: int = 2, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        spec = {**self.app_spec(), "count": count, **spec}
        return Member(path=f"/lab/shop/{name}/web", token=f"token-{name}", spec=spec, kind=SERVICE, revision=1)

    def job(self, script: str, **spec: Any) -> Member:
        name = secrets.token_hex(4)
        spec = {**self.app_spec(), "command": ["sh", "-c", script], **spec}
        return Member(path=f"/lab/shop/{name}/once", token=f"token-{name}", spec=spec, kind=JOB, revision=1)

    def app_spec(self) -> Mapping[str, Any]:
        return {"command": SLEEP, "settle": 0.05, "env": {"TEST_SITE": self.root.mark}}

    def other_spec(self) -> Mapping[str, Any]:
        return {"command": SLEEP, "settle": 0.05, "env": {"TEST_SITE": self.root.mark, "COLOUR": "red"}}

    def bad_spec(self) -> Mapping[str, Any]:
        return {"command": ["sh", "-c", "echo alas; exit 3"], "env": {"TEST_SITE": self.root.mark}}

    async def running(self, app: Member) -> list[str]:
        return self.processes(app)

    async def scrawl(self, app: Member) -> None:
        self.place(app).file.write_text('{"token": 7}')

    async def wreck(self, app: Member) -> None:
        os.kill(self.keeper(app), signal.SIGKILL)

    async def restart(self) -> None:
        self.clean()

    def place(self, app: Member, copy: int = 1) -> App:
        """Of an app, of a job, or of one copy of a service."""
        if app.kind == APP:
            return self.root.app(app.path)
        return self.root.group(SERVICES if app.kind == SERVICE else JOBS, app.path).copy(copy)

    def processes(self, app: Member | None = None, copy: int = 0) -> list[str]:
        """Of an app, a service or one copy of it, or of all: those that have what a test's apps have in their
        environment. Keepers do not."""
        wanted = [f"TEST_SITE={self.root.mark}", *([f"{PATHS[app.kind]}={app.path}"] if app else [])]
        if copy:
            wanted.append(f"COPY={copy}")
        found: list[str] = []
        observed: set[str] = set()
        # To look takes time, in which one may begin and another end: all are seen that are there when it is over.
        while fresh := {folder.name for folder in Path("/proc").iterdir() if folder.name.isdecimal()} - observed:
            for name in fresh:
                try:
                    there = Path("/proc", name, "environ").read_text().split("\0")
                except OSError:
                    continue
                began = began_at(int(name))
                if began is not None and all(word in there for word in wanted):
                    found.append(f"{name}:{began}")
            observed |= fresh
        return found

    def keepers(self) -> list[int]:
        """All that keep something below the root."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    words = (folder / "cmdline").read_text().split("\0")
                except OSError:
                    continue
                if any(word.startswith(f"{self.folder}/") for word in words):
                    found.append(int(folder.name))
        return found

    def keeper(self, app: Member, copy: int = 1) -> int:
        said = read(self.place(app, copy))
        assert said is not None
        return said.keeper[0]

    def clean(self) -> None:
        """End all that a test has left, as a killed keeper ends it."""
        for pid in self.keepers():
            signal_process(pid, signal.SIGKILL)
        for cluster in self.root.clusters():
            if cluster.net.exists():
                isolation.drop_net(str(cluster.net))
        if trees := cgroups.found():
            for group in [tree / "stead" / self.root.mark for tree in {*trees.trees.values(), *trees.beside}]:
                end = time.monotonic() + 60
                for folder in sorted(group.glob("**/"), reverse=True):
                    while folder.exists():
                        with suppress(OSError):  # the kernel may take a moment to notice that it is empty
                            folder.rmdir()
                        assert time.monotonic() < end, folder
