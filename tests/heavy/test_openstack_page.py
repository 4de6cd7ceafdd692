"""The part about OpenStack of the page about drivers is typed in a terminal, beside a whole OpenStack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.driver_parts import follow
from tests.docs.providers import WithProvider
from tests.heavy.openstack.cloud import OpenStack
from tests.heavy.openstack.proxy import Proxy
from tests.heavy.openstack.settings import PASSWORD, REGION
from tests.heavy.openstack.world import OpenStackWorld

pytestmark = pytest.mark.heavy


@pytest.fixture
def terminal(proxy_and_cloud: tuple[Proxy, OpenStack], tmp_path: Path) -> Iterator[WithProvider]:
    proxy, cloud = proxy_and_cloud
    proxy.heal()
    world = OpenStackWorld(cloud, proxy)
    give_network(world)
    one = WithProvider(tmp_path)
    one.places = {
        "https://cloud.example:5000/v3": f"http://127.0.0.1:{proxy.fronts['identity']}/v3",
        "username: shop": f"username: {world.name}",
        "project_name: shop": f"project_name: {world.name}",
        "a password": PASSWORD,
        "RegionOne": REGION,
    }
    try:
        yield one
    finally:
        one.end()
        world.empty()


def give_network(world: OpenStackWorld) -> None:
    """The one network that the project has."""
    network = world.neutron("POST", "/networks", network={"name": "one", "project_id": world.project})["network"][
        "id"
    ]
    subnet = {"network_id": network, "project_id": world.project, "ip_version": 4, "cidr": "10.9.0.0/24"}
    world.neutron("POST", "/subnets", subnet=subnet)


def test_the_part_about_openstack_is_true(terminal: WithProvider) -> None:
    follow(terminal, "OpenStack")
