"""EC2: its driver keeps every driver's promises on a server with EC2's manners, and reads its errors right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from stead.drivers.ec2.driver import Ec2Driver
from tests.drivers.conformance import Conformance
from tests.drivers.ec2 import Ec2Cloud, Ec2World


@pytest.fixture(scope="session")
def ec2_cloud() -> Iterator[Ec2Cloud]:
    """One for the run. Tests keep apart by account."""
    with Ec2Cloud() as server:
        yield server


@pytest.fixture
async def world(ec2_cloud: Ec2Cloud, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ec2World]:
    """An account of one's own."""
    account = Ec2World(ec2_cloud, monkeypatch)
    yield account
    await account.close()


@pytest.fixture
async def driver(world: Ec2World) -> AsyncIterator[Ec2Driver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


class TestConformance(Conformance):
    """On a real server."""
