"""Hosts are handed over by a program of the operator's own."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.drivers import registry
from stead.drivers.base import Driver, Member, PermanentError, RetryableError
from stead.drivers.program.driver import Config, ProgramDriver
from tests.leases.lab import Lab, at, terms

LEASE = "/lab/monday"

PROGRAM = """
import json, pathlib, sys, time

kept = pathlib.Path(sys.argv[1])
verb = sys.argv[2]
said = json.load(sys.stdin)
if (trouble := kept / f"{verb}.trouble").exists():
    code, _, words = trouble.read_text().partition(" ")
    if code == "hang":
        time.sleep(60)
    print(words, file=sys.stderr)
    sys.exit(int(code))
if verb in ("start", "update"):
    (kept / said["token"]).write_text(json.dumps(said))
    print(json.dumps({"ticket": said["order"]}))
elif verb == "release":
    (kept / said["token"]).unlink(missing_ok=True)
else:
    found = [json.loads(file.read_text()) for file in kept.glob("*-*")]
    print(json.dumps([{"token": f["token"], "path": f["path"], "state": "active", "revision": f["revision"]}
                      for f in found]))
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where the program notes what it has handed over."""
    (tmp_path / "program.py").write_text(PROGRAM)
    folder = tmp_path / "kept"
    folder.mkdir()
    return folder


@pytest.fixture
async def driver(kept: Path) -> AsyncIterator[ProgramDriver]:
    one = ProgramDriver(Config(program=f"{sys.executable} {kept.parent / 'program.py'} {kept}", timeout=2))
    yield one
    await one.close()


MEMBER = Member(path="/lab/monday/r0", token="a-b", kind="reservation", spec={"hosts": ["h1"]}, revision=3)


async def test_it_is_run_for_what_is_done_and_asked_what_there_is(driver: ProgramDriver, kept: Path) -> None:
    assert [seen.state for seen in await driver.describe([MEMBER])] == ["absent"]
    (done,) = await driver.perform("start", [MEMBER], "order-1")
    assert (done.ok, done.pending, done.facts) == (True, "active", {"ticket": "order-1"})
    assert json.loads((kept / "a-b").read_text())["hosts"] == ["h1"]
    assert [(seen.state, seen.revision) for seen in await driver.describe([MEMBER])] == [("active", 3)]
    assert [(found.token, found.path) for found in await driver.inventory()] == [("a-b", MEMBER.path)]
    for _ in range(2):
        (done,) = await driver.perform("release", [MEMBER], "order-2")
        assert done.ok
    assert await driver.inventory() == []


@pytest.mark.parametrize(("code", "permanent"), [("1", True), ("75", False)])
async def test_why_it_failed_and_whether_it_may_be_tried_again(
    driver: ProgramDriver, kept: Path, code: str, permanent: bool
) -> None:
    (kept / "start.trouble").write_text(f"{code} the switch says no")
    (failed,) = await driver.perform("start", [MEMBER], "order-1")
    assert (failed.ok, failed.permanent) == (False, permanent)
    assert "the switch says no" in failed.error


async def test_no_answer_is_no_absence(driver: ProgramDriver, kept: Path) -> None:
    (kept / "look.trouble").write_text("1 alas")
    with pytest.raises(RetryableError, match="alas"):
        await driver.describe([MEMBER])
    (kept / "look.trouble").write_text("0 ")
    with pytest.raises(RetryableError, match="makes no sense"):
        await driver.describe([MEMBER])


async def test_what_hangs_is_killed(kept: Path) -> None:
    (kept / "start.trouble").write_text("hang")
    slow = ProgramDriver(Config(program=f"{sys.executable} {kept.parent / 'program.py'} {kept}", timeout=1))
    with pytest.raises(RetryableError, match="longer than 1 s") as raised:
        await slow.perform("start", [MEMBER], "order-1")
    assert raised.value.unknown


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    none = registry.make("program", {"program": str(tmp_path / "none")})
    with pytest.raises(PermanentError, match="cannot be run"):
        await none.perform("start", [MEMBER], "order-1")
    with pytest.raises(ValueError, match="no program"):
        registry.make("program", {"program": ""})


async def test_a_lease_lives_by_it(lab: Lab, driver: Driver, kept: Path) -> None:
    lane = f"{lab.lane}-own"
    async with lab.agent("own", {lane: driver}):
        await lab.one.store.hosts.put("p1", lane, {}, None)
        await lab.do("create", LEASE, terms(0, 1000))
        await lab.until(LEASE, "ACTIVE")
        (file,) = kept.glob("*-*")
        assert json.loads(file.read_text())["hosts"] == ["p1"]
        assert (await lab.parts(LEASE))["r0"]["facts"]["ticket"]
        await lab.one.store.hosts.put("p2", lane, {}, None)
        assert await lab.do("update", LEASE, {"reservations": [{"name": "r0", "count": 2}]}) == ("succeeded", "")
        assert json.loads(file.read_text())["hosts"] == ["p1", "p2"]
        (kept / "release.trouble").write_text("1 the switch says no")
        outcome, _ = await lab.do("terminate", LEASE)
        assert (outcome, await lab.state(LEASE)) == ("failed", "ERROR")
        (kept / "release.trouble").unlink()
        assert await lab.do("terminate", LEASE) == ("succeeded", "")
        assert list(kept.glob("*-*")) == []
        assert "book anew" in (await lab.do("update", LEASE, {"end": at(2000)}))[1]
