"""Whatever a provider or a driver returns: what can be told is told, the rest is left out, and no agent ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.agent.inventory import OwnedObjects, facts_of, line_of, strays
from stead.agent.state_sync import MAX_PART_LINES
from stead.bus.codec import FROM_AGENT, encode
from stead.bus.messages import FullState, OrderMember
from stead.bus.parts import MAX_PART_BYTES, parts_of
from stead.drivers import guard
from stead.drivers.base import FoundObject, Member, ObservedObject, PermanentError, RetryableError
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.snapshot import FIRST
from tests.drivers.cloud import SimWorld
from tests.tiers import examples

ANY_TEXT = st.text(st.characters(), max_size=40) | st.sampled_from(["", "\x00", "\ud800", "a" * 2_000, "a/b c"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
FACTS = st.dictionaries(ANY_TEXT | st.just("id"), ANYTHING, max_size=3)
FOUND = st.builds(FoundObject, id=ANY_TEXT, token=ANY_TEXT, state=ANY_TEXT, path=ANY_TEXT, facts=FACTS, kind=ANY_TEXT)
WRONG = st.builds(
    FoundObject, id=ANYTHING, token=ANYTHING, state=ANYTHING, path=ANYTHING, facts=ANYTHING, kind=ANYTHING
)
OWNER = OrderMember("/ns/m/g/1", FIRST, "owned", facts={"id": "i-1"})


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(FOUND | WRONG | ANYTHING, max_size=5))
def test_every_inventory_is_told_as_far_as_it_can_be(answer: list[Any]) -> None:
    owned = OwnedObjects()
    owned.add(OWNER, None)
    known = [FoundObject(id="i-1", token="owned", state="Running", facts={"id": "i-1"})]
    good = [FoundObject(id="i-2", token="", state="Running"), FoundObject(id="i-3", token="owned", state="Running")]
    good[1] = msgspec.structs.replace(good[1], facts={"id": "i-3"})
    lines = list(strays(guard.in_order([*known, *answer, *good]), owned))
    heard = FROM_AGENT.decode(encode(FullState("a", 1, "lab.a", lines, True)))
    assert isinstance(heard, FullState)
    assert [line.token for line in heard.objects] == [line.token for line in lines]
    assert {"i-2", "i-3"} <= {line.token for line in lines}
    assert "i-1" not in [line.token for line in lines]


@settings(max_examples=examples(500), deadline=None)
@given(st.builds(ObservedObject, path=st.just("/a"), state=ANY_TEXT, facts=FACTS, revision=st.integers() | st.none()))
def test_every_look_is_told_or_left_out(seen: ObservedObject) -> None:
    line = line_of("/a", FIRST, seen)
    if line is not None:
        message = FullState("a", 1, "lab.a", [line], False)
        assert isinstance(FROM_AGENT.decode(encode(message)), FullState)
    facts_of(seen.facts)


def test_two_of_one_token_are_told_apart_and_so_is_the_copy_of_an_owned_one() -> None:
    owned = OwnedObjects()
    owned.add(OWNER, None)
    same = {"path": "/ns/m/g/1", "state": "Running"}
    found = [
        FoundObject(id="i-1", token="owned", facts={"id": "i-1"}, **same),
        FoundObject(id="i-2", token="owned", facts={"id": "i-2"}, **same),
        FoundObject(id="i-3", token="twice", facts={"id": "i-3"}, **same),
        FoundObject(id="i-4", token="twice", facts={"id": "i-4"}, **same),
        FoundObject(id="i-5", token="once", facts={"id": "i-5"}, **same),
    ]
    assert [line.token for line in strays(found, owned)] == ["i-2", "i-3", "i-4", "once"]
    assert [line.token for line in strays(found[1:2], owned)] == ["i-2"]  # the owner's own is on its way


def test_lines_without_end_are_told_in_parts() -> None:
    owned = OwnedObjects()
    found = [FoundObject(id=f"i-{n}", token="", state="Running", facts={"tags": "a" * 30_000}) for n in range(60)]
    told = parts_of(strays(found, owned), MAX_PART_LINES)
    assert sum(map(len, told)) == 60
    assert max(len(encode(FullState("a", 1, "lab.a", part, False))) for part in told) < MAX_PART_BYTES + 1_000


class Wild(SimDriver):
    """A driver whose answers are what it was told to give."""

    answer: Any = None

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> Any:
        return self.answer

    async def describe(self, members: Sequence[Member]) -> Any:
        return self.answer

    async def inventory(self) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [None, 7, ["x"], [], [ObservedObject(path="/other", state="Running")], [ObservedObject(path="/a", state=None)]],  # type: ignore[arg-type]
    ids=str,
)
async def test_an_answer_that_makes_no_sense_is_none(world: SimWorld, answer: Any) -> None:
    driver = world.driver()
    wild = Wild(driver._config)
    wild.answer = answer
    one = Member(path="/a", token="t")
    try:
        for call in (guard.guarded(wild).describe([one]), guard.guarded(wild).perform("create", [one], "order")):
            with pytest.raises(RetryableError) as raised:
                await call
            assert raised.value.unknown
        if not isinstance(answer, list):
            with pytest.raises(PermanentError):
                await guard.guarded(wild).inventory()
        else:
            assert await guard.guarded(wild).inventory() == []
    finally:
        await driver.close()
        await wild.close()
