"""Users of containers: where podman runs as root, a container's root is an ordinary user of the machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from stead.drivers.base import Member
from tests.drivers.conformance import eventually, known, observe
from tests.drivers.edge_conformance import act, changed, make
from tests.drivers.system_conformance import STABLE, respecified
from tests.drivers.system_conformance import make as make_services
from tests.drivers.test_podman import PodmanWorld, podman, world  # noqa: F401 (fixtures)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("podman") is None or shutil.which("busybox") is None,
        reason="this takes root, podman and busybox",
    ),
]

FIRST, BLOCK = 1_950_000_000, 65_536


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    """Ids that no other test has given away."""
    return {"uid_file": str(tmp_path / "users" / "ids.json")}


async def status(place: PodmanWorld, member: Member) -> dict[str, list[str]]:
    (one,) = await place.running(member)
    lines = Path(f"/proc/{one.split()[1]}/status").read_text().splitlines()
    return {name: words.split() for name, _, words in (line.partition(":") for line in lines)}


async def test_container_root_is_an_id_of_its_namespace(world: PodmanWorld, settings: dict[str, Any]) -> None:  # noqa: F811
    driver = world.driver(**settings)
    checks = {"command": ["sh", "-c", "id -u > /tmp/checked"], "grace": 20}
    service = world.service(1, command=["sh", "-c", "id -u; exec sleep 1000"], health=checks)
    other = changed(service, path="/other/shop/x/web", token="other")
    plain, named = world.service(1), world.service(1, user=1234)
    await make_services(driver, service)
    await make_services(driver, other, named)
    assert (await driver.logs(service, 5)).lines == ["0"]
    assert (await status(world, service))["Uid"] == [str(FIRST)] * 4
    assert (await status(world, other))["Uid"] == [str(FIRST + BLOCK)] * 4
    assert (await status(world, named))["Uid"] == [str(FIRST + 1234)] * 4
    checked = world.place(service).above / "tmp" / "checked"
    assert (checked.read_text().strip(), checked.stat().st_uid) == ("0", FIRST)
    again = world.driver(**settings)
    assert await observe(again, service) == [STABLE]
    for wrong in ("root", "daemon", BLOCK, FIRST + BLOCK):
        (failed,) = await again.perform("create", [changed(plain, spec={**plain.spec, "user": wrong})], "order")
        assert (failed.ok, failed.permanent, f"user {wrong}" in failed.error) == (False, True, True)
    assert await world.running(plain) == []
    await driver.close()
    await again.close()


async def test_container_in_a_network_of_its_own_has_no_root(world: PodmanWorld, settings: dict[str, Any]) -> None:  # noqa: F811
    driver = world.driver(**settings)
    (cluster,) = await make(driver, world.cluster(net="own"))
    first, named = await make(driver, world.app(cluster), world.app(cluster, user=5))
    for member, id in ((first, FIRST), (named, FIRST + 5)):
        found = await status(world, member)
        assert (found["Uid"], found["CapEff"], found["CapBnd"]) == ([str(id)] * 4, ["0" * 16], ["0" * 16])
        assert found["NoNewPrivs"] == ["1"]
    await driver.close()


async def test_user_of_the_machine_is_used_where_an_operator_allowed_it(
    world: PodmanWorld,  # noqa: F811
    settings: dict[str, Any],
) -> None:
    driver = world.driver(allowed_users="root,daemon", **settings)
    root, daemon = await make_services(driver, world.service(1, user=0), world.service(1, user="daemon"))
    assert (await status(world, root))["Uid"] == ["0"] * 4
    assert (await status(world, daemon))["Uid"] == ["1"] * 4
    await driver.close()


@pytest.mark.long
async def test_container_of_an_earlier_version_goes_on_until_its_next_order(
    world: PodmanWorld,  # noqa: F811
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("stead.drivers.process.machine.make_users", lambda *_, **__: None)
        before = world.driver(**settings)
    (service,) = await make_services(before, world.service(1))
    running = await world.running(service)
    driver = world.driver(**settings)
    assert (await observe(driver, service), await world.running(service)) == ([STABLE], running)
    assert (await status(world, service))["Uid"] == ["0"] * 4
    await world.wreck(service)
    known([service], await act(driver, "create", [service]))  # it is started as it was written down
    assert (await status(world, service))["Uid"] == [str(FIRST)] * 4
    new = respecified(service, 2, **world.other_spec())
    known([new], await act(driver, "update", [new]))
    assert (await status(world, service))["Uid"] == [str(FIRST)] * 4
    await eventually(lambda: observe(driver, new), lambda states: states == [STABLE])
    await driver.close()
    await before.close()
