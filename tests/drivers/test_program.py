"""A program of the operator's own, for kinds that Stead has never heard of. For reservations see tests/leases."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import uvloop

from stead.drivers import registry
from stead.drivers.base import Driver, Member, Result, RetryableError

PROGRAM = """#!/bin/sh
cd "$(dirname "$0")"
case $1 in
look | list) cat answer ;;
begin) echo '{"pending": "Bright", "bulb": 3}' ;;
later) exit 75 ;;
never) echo "it is" >&2; echo "broken" >&2; exit 9 ;;
*) env | grep ^RESOURCE_ | sort > env; cat > said ;;
esac
"""
LAMP = Member(path="/shop/lamp", token="t-1", kind="lamp", spec={"watt": 60}, facts={"bulb": 2}, revision=7)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    program = tmp_path / "lamps"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return registry.make("program", {"program": str(program), "kinds": "lamp, torch", "timeout": 5})


async def test_the_verb_is_its_word_and_all_else_is_told(driver: Driver, tmp_path: Path) -> None:
    assert driver.kinds == {"lamp", "torch"}
    (done,) = await driver.perform("switch-on", [LAMP], "order-1")
    assert (done.ok, done.pending, dict(done.facts)) == (True, "", {})
    assert json.loads((tmp_path / "said").read_text()) == {
        **{"order": "order-1", "revision": 7, "kind": "lamp", "path": "/shop/lamp", "token": "t-1"},
        **{"spec": {"watt": 60}, "facts": {"bulb": 2}},
    }
    assert (tmp_path / "env").read_text().splitlines() == [
        "RESOURCE_KIND=lamp",
        "RESOURCE_ORDER=order-1",
        "RESOURCE_PATH=/shop/lamp",
        "RESOURCE_REVISION=7",
        "RESOURCE_TOKEN=t-1",
    ]


async def test_what_it_has_only_begun_is_waited_for(driver: Driver) -> None:
    (begun,) = await driver.perform("begin", [LAMP], "order-1")
    assert (begun.ok, begun.pending, dict(begun.facts)) == (True, "Bright", {"bulb": 3})


async def test_it_says_whether_it_may_be_tried_again(driver: Driver) -> None:
    (later,) = await driver.perform("later", [LAMP], "order-1")
    (never,) = await driver.perform("never", [LAMP], "order-1")
    assert (later.ok, later.permanent) == (False, False)
    assert (never.ok, never.permanent, never.error.endswith("never: broken")) == (False, True, True)


async def test_a_look_speaks_in_the_words_of_the_kind(driver: Driver, tmp_path: Path) -> None:
    seen = [{"token": "t-1", "state": "Bright"}, {"token": "t-2", "state": "Dim", "kind": "torch", "path": "/shop/t"}]
    (tmp_path / "answer").write_text(json.dumps(seen))
    other = Member(path="/shop/other", token="t-3", kind="lamp")
    assert [one.state for one in await driver.describe([LAMP, other])] == ["Bright", "absent"]
    found = [(one.token, one.kind, one.state, one.path) for one in await driver.inventory()]
    assert found == [("t-1", "lamp", "Bright", ""), ("t-2", "torch", "Dim", "/shop/t")]


async def test_what_makes_no_sense_in_a_list_hides_nothing_else(driver: Driver, tmp_path: Path) -> None:
    good = {"token": "t-1", "state": "Bright"}
    (tmp_path / "answer").write_text(json.dumps([7, {"token": None, "state": "Bright"}, good, {"token": "t-2"}, []]))
    assert [found.token for found in await driver.inventory()] == ["t-1"]
    with pytest.raises(RetryableError):
        await driver.describe([LAMP])


async def test_no_answer_is_no_absence(driver: Driver) -> None:
    with pytest.raises(RetryableError):
        await driver.describe([LAMP])


async def test_it_knows_no_other_kinds(driver: Driver) -> None:
    with pytest.raises(ValueError, match="does not know create of a vm"):
        await driver.perform("create", [Member(path="/a", token="t", kind="vm")], "order-1")
    with pytest.raises(ValueError, match="a kind has no name"):
        registry.make("program", {"program": "true", "kinds": "lamp,,torch"})


@pytest.mark.long
def test_one_that_ends_without_listening_has_done_what_it_did(driver: Driver) -> None:
    """The loop of an agent may see that it has ended before it was told anything."""

    async def many() -> list[list[Result]]:
        asked = (driver.perform("begin", [LAMP], f"order-{n}") for n in range(100))
        return await asyncio.gather(*asked)

    assert {result.ok for results in uvloop.run(many()) for result in results} == {True}
