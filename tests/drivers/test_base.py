"""What all drivers share: batches, errors, and the list of names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from stead.drivers import registry
from stead.drivers.base import Driver, Member, RetryableError, ThrottledError, batches
from stead.drivers.guard import Guarded
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.pace import Pace

PLACE = {"provider": "aws", "region": "here", "url": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("count", "limit", "sizes"), [(0, 3, []), (2, 3, [2]), (3, 3, [3]), (4, 3, [3, 1]), (3, 1, [1, 1, 1])]
)
def test_batches_are_as_few_as_can_be(count: int, limit: int, sizes: list[int]) -> None:
    members = [Member(path=f"/{i}", token=str(i)) for i in range(count)]
    cut = list(batches(members, limit))
    assert [len(batch) for batch in cut] == sizes
    assert [member for batch in cut for member in batch] == members


def test_throttling_is_a_reason_to_try_again() -> None:
    with pytest.raises(RetryableError, match="too much") as raised:
        raise ThrottledError("too much", after=3, detail="429")
    assert (raised.value.message, raised.value.after, raised.value.detail) == ("too much", 3, "429")
    assert not raised.value.unknown


async def test_a_driver_is_made_by_name() -> None:
    driver = registry.make("sim", PLACE)
    assert isinstance(driver, Guarded)
    assert isinstance(driver.driver, SimDriver)
    await driver.close()


def test_a_name_that_is_none_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no driver moon; there are .*sim"):
        registry.make("moon", {})


@pytest.mark.parametrize(
    "config", [{}, PLACE | {"colour": "red"}, PLACE | {"timeout": "long"}, PLACE | {"timeout": 0}]
)
def test_a_wrong_configuration_is_refused(config: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="configuration"):
        registry.make("sim", config)


async def test_a_driver_of_ones_own_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    made: list[Mapping[str, Any]] = []

    def own(config: Mapping[str, Any]) -> Driver:
        made.append(config)
        return registry.make("sim", PLACE)

    registry.register("own", own)
    assert {"own", "sim"} <= {*registry.names()}
    await registry.make("own", {"any": "thing"}).close()
    assert made == [{"any": "thing"}]


@pytest.mark.parametrize("name", registry.names())
def test_a_call_lasts_by_default_no_longer_than_a_cell_allows(name: str) -> None:
    config = pytest.importorskip(f"stead.drivers.{name}.driver").Config
    defaults = {field.name: field.default for field in msgspec.structs.fields(config)}
    assert 0 < defaults["timeout"] <= Pace().call
