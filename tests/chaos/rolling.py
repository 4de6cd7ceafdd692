"""A rolling upgrade under load: all controllers and agents are replaced by those of this version, one after another.

The older version is the tree of an earlier commit, taken out of the history when the test runs. So for most of the
run both versions work on one database and one bus; the first of the new controllers brings the database up to date.
In the end one controller goes back to the older version, as one does whose upgrade went wrong, and meets the newer
database. The pieces are those of the chaos run: its cell, its load, and its checker.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import asyncpg
import httpx

from tests.chaos import cell, history
from tests.chaos.cell import ROOT, Cell, Process, in_thread
from tests.chaos.checker import Verdict, judge
from tests.chaos.load import Load

VERSIONS = ROOT / "src" / "stead" / "store" / "migrations" / "versions"

EVERY = 3.0
"""Seconds between two replacements."""
VMS, RATE = 60, 12.0
PACE = 0.3
SETTLE = 90.0
OLDER = "0.0.9"
"""The version that the older tree is made to say: it may be of the same release."""


class NoHistory(Exception):
    """There is no earlier commit to take a tree of."""


@dataclass
class Rolled:
    """What came of it."""

    old: str
    before: str = ""
    """The revision of the database at first."""
    after: str = ""
    operations: int = 0
    replaced: int = 0
    mixed: list[set[str]] = field(default_factory=list)
    """Versions of agents that were there at the same time, each time that was looked at."""
    own_ends: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Answers of 500, and what the logs say that they should not."""
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def line(self) -> str:
        found = f"{len(self.verdict.lost)} lost, {len(self.verdict.violations)} violations, {len(self.faults)} faults"
        return (
            f"rolling: {self.old[:7]} at {self.before} to this at {self.after}, {self.replaced} replaced, "
            f"{self.operations} operations, {found}"
        )


def git(*words: str) -> bytes:
    try:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoHistory(f"git {words[0]}: there is no history here ({error})") from error


def before() -> str:
    """The last commit whose database was older than this one's; where that is not known, there is no history.

    While there is one revision of the schema, it is the last commit of all: the older version has the same schema.
    """
    revisions = sorted(file for file in VERSIONS.glob("*.py"))
    if len(revisions) == 1:
        return git("rev-parse", "--verify", "HEAD").decode().strip()
    newest = revisions[-1].relative_to(ROOT)
    added = git("log", "--diff-filter=A", "--format=%H", "--", str(newest)).decode().split()
    if not added:
        raise NoHistory(f"the history does not reach back to {newest.name}")
    return git("rev-parse", "--verify", f"{added[-1]}^").decode().strip()


def older(commit: str, folder: Path) -> Path:
    """The tree of a commit, as an older release."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "src"))) as archive:
        archive.extractall(folder, filter="data")
    about = folder / "src" / "stead" / "__init__.py"
    lines = about.read_text().splitlines()
    about.write_text("\n".join([f'__version__ = "{OLDER}"' if "__version__" in one else one for one in lines]) + "\n")
    return folder / "src"


async def roll(commit: str, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Rolled:
    """All of it."""
    result = Rolled(commit)
    was = [f"PYTHONPATH={older(commit, folder)}"]
    async with cell.running(7, pace=PACE, env=was) as one:
        result.before = await revision(one.dsn)
        load = Load(one.addresses, Random(7), VMS, RATE)
        turns = [name for pair in zip(one.controllers, one.agents, strict=False) for name in pair]
        turns += [name for name in one.processes if name not in turns]
        asking = asyncio.create_task(load.run(EVERY * (len(turns) + 3)))
        try:
            for process in turns:
                await asyncio.sleep(EVERY)
                await replaced(one, process, ())
                result.replaced += 1
                result.mixed.append(await versions(one))
                tell(f"{process.name} is new; agents are {sorted(result.mixed[-1])}, at {await revision(one.dsn)}")
            if goes_back(folder) or await revision(one.dsn) == result.before:
                await replaced(one, one.controllers[-1], was)
                tell(f"{one.controllers[-1].name} is old again")
            await asyncio.wait_for(asking, SETTLE)
            async with asyncio.timeout(SETTLE):
                while await history.unsettled(one.dsn):
                    await asyncio.sleep(0.2)
        finally:
            asking.cancel()
            await asyncio.wait([asking])
        result.after = await revision(one.dsn)
        past = await history.read(one.dsn, [one.cloud.url], None, load.accepted)
        result.verdict = judge(past)
        result.operations = len({asked.operation for asked in load.accepted})
        result.own_ends = list(one.own_ends)
        result.faults = [f"{count} times {what}" for what, count in load.counts.items() if "500" in what]
        for process in one.processes:
            said = process.log.read_text(errors="replace")
            if (at := said.find("Traceback")) >= 0:
                result.faults.append(f"{process.name}: {said[max(0, at - 500) : at + 3000]}")
        tell(f"{dict(load.counts)}")
    tell(result.line)
    return result


def goes_back(folder: Path) -> bool:
    """Whether that version starts on a database that is newer than it: the first ones did not."""
    return "newer than this program" in (folder / "src" / "stead" / "store" / "migrate.py").read_text()


async def replaced(one: Cell, process: Process, env: list[str] | tuple[str, ...]) -> None:
    """End it in an orderly way; the supervisor starts it again, as another version."""
    process.env = env
    await in_thread(process.stop)
    await asyncio.sleep(0.2)
    await one.until_ready()


async def versions(one: Cell) -> set[str]:
    """Of the agents that are there."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        answer = await client.get(f"{one.addresses[0]}/v1/cells/-/agents")
    return {agent["version"] for agent in answer.json()["items"]}


async def revision(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return str(await connection.fetchval("SELECT version_num FROM alembic_version"))
    finally:
        await connection.close()
