"""Tests on whole clouds: one OpenStack for all of them. See the Makefile for what they need."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from tests.heavy.openstack.cloud import SERVICES, OpenStack, missing
from tests.heavy.openstack.proxy import Proxy
from tests.heavy.openstack.world import OpenStackWorld


@pytest.fixture(scope="session")
def proxy_and_cloud() -> Iterator[tuple[Proxy, OpenStack]]:
    if why := missing():
        # Where everything is to be tested, that is an error.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    cloud = OpenStack()
    proxy = Proxy({kind: cloud.ports[name] for kind, name in SERVICES.items() if kind != "placement"})
    cloud.fronts = proxy.fronts
    try:
        with cloud:
            furnish(cloud, proxy)
            yield proxy, cloud
    finally:
        proxy.close()


def furnish(cloud: OpenStack, proxy: Proxy) -> None:
    """What everybody finds there."""
    glance, nova = cloud.admin("image", "/v2"), cloud.admin("compute", "/v2.1")
    cloud.admin("network", "/v2.0")("GET", "/networks")  # before that, Neutron 29 cannot list ports
    for name in ("tiny", "tinier", "debian-12", "debian-13"):
        asked = {"name": name, "disk_format": "raw", "container_format": "bare", "visibility": "public"}
        image = glance("POST", "/images", **asked)["id"]
        glance("PUT", f"/images/{image}/file", content=b"\0" * 1024)
    for name in ("m1.nano", "m1.micro", "m1.small", "c2.large"):
        nova("POST", "/flavors", flavor={"name": name, "ram": 64, "vcpus": 1, "disk": 1})
    asyncio.run(warm_up(cloud, proxy))


async def warm_up(cloud: OpenStack, proxy: Proxy) -> None:
    """Every service takes its time for what it does for the first time."""
    place = OpenStackWorld(cloud, proxy)
    driver = place.driver(timeout=100)
    vm = place.member()
    await driver.perform("create", [vm], "order")
    while [seen.state for seen in await driver.describe([vm])] != ["Running"]:
        await asyncio.sleep(0.2)
    await driver.perform("terminate", [vm], "order")
    await driver.inventory()
    await driver.close()
