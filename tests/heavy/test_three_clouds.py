"""One infrastructure over three clouds at once, by the command line: EC2's interface, a real LXD, a real OpenStack.

Whatever the cell says is checked with each provider's own client.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
import httpx
import openstack
import pytest

from stead.dev.children import Server
from stead.dev.engines import Nats
from tests.drivers.ec2 import REGION as EC2_REGION
from tests.drivers.ec2 import Ec2Cloud
from tests.drivers.lxd_server import Lxd
from tests.drivers.lxd_server import missing as missing_lxd
from tests.heavy.openstack.cloud import OpenStack
from tests.heavy.openstack.proxy import Proxy
from tests.heavy.openstack.settings import PASSWORD
from tests.heavy.openstack.settings import REGION as OPENSTACK_REGION
from tests.heavy.openstack.world import KEY, OpenStackWorld

pytestmark = [
    pytest.mark.heavy,
    # OpenStack's library warns of what it does itself.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

PACE = 3
"""Calls may last 30 seconds: the machine has three clouds to run."""
CALL = 10 * PACE
LONG = 300
"""Seconds for a command, and for what is cleared away after it."""

FILE = """
defaults: {{image: debian-12}}
sshKeys:
  - {{publicKey: {key}}}
securityGroups:
  - {{name: default, rules: [{{protocol: tcp, ports: "22"}}, {{protocol: tcp, ports: "443"}}]}}
subgroups:
  - {{name: front, provider: aws, region: {ec2}, spec: t3.micro, size: 2}}
  - {{name: back, provider: lxd, region: {lxd}, spec: small, size: 2}}
  - {{name: cache, provider: lab, region: {openstack}, spec: m1.nano}}
"""


class Stead(Server):
    """A `stead` process."""

    def __init__(self, *arguments: str, listens: bool = False) -> None:
        super().__init__("stead")
        self.arguments = arguments
        self.listens = listens

    def command(self) -> Sequence[str | Path]:
        port = ["--port", str(self.port)] if self.listens else []
        return [sys.executable, "-m", "stead", *self.arguments, *port]

    def ready(self) -> bool:
        try:
            address = f"http://127.0.0.1:{self.port}/readyz"
            return not self.listens or httpx.get(address, timeout=1, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False


class Ec2:
    """An account, seen with the library that EC2's users have."""

    def __init__(self, cloud: Ec2Cloud) -> None:
        session = botocore.session.Session()
        self.client: Any = session.create_client("ec2", region_name=EC2_REGION, endpoint_url=cloud.url)
        self.client.register_image(Name="debian-12")
        self.before = self.shared()
        """What every account has."""

    def vms(self) -> Counter[str]:
        told = self.client.describe_instances()["Reservations"]
        states = [instance["State"]["Name"] for one in told for instance in one["Instances"]]
        return Counter(state for state in states if state != "terminated")

    def shared(self) -> dict[str, set[str]]:
        there = {
            "networks": (self.client.describe_vpcs()["Vpcs"], "VpcId"),
            "subnets": (self.client.describe_subnets()["Subnets"], "SubnetId"),
            "gateways": (self.client.describe_internet_gateways()["InternetGateways"], "InternetGatewayId"),
            "groups": (self.client.describe_security_groups()["SecurityGroups"], "GroupId"),
            "keys": (self.client.describe_key_pairs()["KeyPairs"], "KeyName"),
        }
        return {kind: {thing[id] for thing in things} for kind, (things, id) in there.items()}

    def made(self) -> dict[str, set[str]]:
        return {kind: ids - self.before[kind] for kind, ids in self.shared().items()}

    def check_whole(self, size: int) -> None:
        """All of them are in the one network, and let in what the file says."""
        made = self.made()
        (network,), (subnet,), (key,) = made["networks"], made["subnets"], made["keys"]
        told = self.client.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [network]}])
        (group,) = [one for one in told["SecurityGroups"] if one["GroupName"] != "default"]
        assert sorted(rule["FromPort"] for rule in group["IpPermissions"]) == [22, 443]
        reservations = self.client.describe_instances()["Reservations"]
        there = [one for r in reservations for one in r["Instances"] if one["State"]["Name"] != "terminated"]
        assert len(there) == size
        for one in there:
            assert (one["VpcId"], one["SubnetId"], one["KeyName"]) == (network, subnet, key)
            assert [has["GroupId"] for has in one["SecurityGroups"]] == [group["GroupId"]]


class Containers:
    """A project of LXD's, seen by its REST interface."""

    def __init__(self, lxd: Lxd) -> None:
        self.lxd = lxd
        self.project = f"p{secrets.token_hex(4)}"
        lxd.add_project(self.project)
        small = {"name": "small", "config": {"limits.cpu": "1", "limits.memory": "64MiB"}}
        lxd.request("POST", f"/1.0/profiles?project={self.project}", json=small)
        tiny = lxd.request("GET", "/1.0/images/aliases/tiny")["target"]
        lxd.request("POST", "/1.0/images/aliases", json={"name": "debian-12", "target": tiny})
        self.networks = self.shared()

    def instances(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = self.lxd.request("GET", f"/1.0/instances?project={self.project}&recursion=1")
        return told

    def vms(self) -> Counter[str]:
        return Counter(instance["status"] for instance in self.instances())

    def shared(self) -> list[str]:
        told: list[str] = self.lxd.request("GET", f"/1.0/networks?project={self.project}")
        return sorted(told)

    def check_whole(self, size: int) -> None:
        there = self.instances()
        assert len(there) == size
        assert [instance["profiles"] for instance in there] == [["default", "small"]] * size
        assert [instance["expanded_config"]["limits.memory"] for instance in there] == ["64MiB"] * size


class Servers:
    """A project of OpenStack's, seen with its own library, as a user."""

    def __init__(self, world: OpenStackWorld) -> None:
        said = world.config()
        self.project = world.project
        who: dict[str, Any] = {name: said[name] for name in ("auth_url", "username", "project_name")}
        who["password"] = PASSWORD
        who |= dict.fromkeys(("user_domain_name", "project_domain_name"), "Default")
        self.connection = openstack.connect(
            load_yaml_config=False, load_envvars=False, region_name=OPENSTACK_REGION, **who
        )

    def vms(self) -> Counter[str]:
        return Counter(server.status for server in self.connection.compute.servers())

    def made(self) -> dict[str, set[str]]:
        network = self.connection.network
        return {
            "networks": {one.id for one in network.networks(project_id=self.project)},
            "subnets": {one.id for one in network.subnets(project_id=self.project)},
            "groups": {one.id for one in network.security_groups(project_id=self.project) if one.name != "default"},
            "ports": {one.id for one in network.ports(project_id=self.project)},
            "keys": {one.name for one in self.connection.compute.keypairs()},
            "locks": {one.id for one in self.connection.image.images(owner=self.project)},
        }

    def check_whole(self, size: int) -> None:
        """All of them are in the one network, and let in what the file says."""
        made = self.made()
        (network,), (group,), (key,) = made["networks"], made["groups"], made["keys"]
        rules = self.connection.network.security_group_rules(security_group_id=group, direction="ingress")
        assert sorted(rule.port_range_min for rule in rules) == [22, 443]
        ports = list(self.connection.network.ports(network_id=network, device_owner="compute:nova"))
        assert [port.security_group_ids for port in ports] == [[group]] * size
        servers = list(self.connection.compute.servers())
        assert {server.id for server in servers} == {port.device_id for port in ports}
        assert [server.key_name for server in servers] == [key] * size
        assert made["locks"] == set()


@dataclass
class Place:
    """A cell with a lane to each of them."""

    address: str
    file: Path
    ec2: Ec2
    lxd: Containers
    openstack: Servers

    def stead(self, *words: str) -> str:
        """What the command says, which is to end well."""
        command = [sys.executable, "-m", "stead", *words, "--server", self.address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
        assert done.returncode == 0, f"stead {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def served(self) -> list[str]:
        """The lanes that have an agent, as the cell has it."""
        lanes = json.loads(self.stead("lane", "list", "-o", "json"))
        return [lane["lane"] for lane in lanes if lane["agents"]]

    def vms(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """By their own words, what each has."""
        return self.ec2.vms(), self.lxd.vms(), self.openstack.vms()


@pytest.fixture(scope="module")
def lxd() -> Iterator[Lxd]:
    if why := missing_lxd():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    with Lxd() as server:
        yield server


@pytest.fixture
def place(
    proxy_and_cloud: tuple[Proxy, OpenStack],
    lxd: Lxd,
    migrated: str,
    nats_server: Nats,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Place]:
    proxy, cloud = proxy_and_cloud
    proxy.heal()
    world = OpenStackWorld(cloud, proxy)
    bus = ("--nats", nats_server.url, "--cell", f"c{secrets.token_hex(4)}")
    with ExitStack() as stack:
        moto = stack.enter_context(Ec2Cloud())
        account = {"AWS_ACCESS_KEY_ID": f"AKIA{secrets.token_hex(8).upper()}", "AWS_SECRET_ACCESS_KEY": "secret"}
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        nowhere = str(tmp_path / "none")
        files = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), nowhere)
        for name, value in (account | files).items():
            monkeypatch.setenv(name, value)
        containers = Containers(lxd)
        settings: dict[str, dict[str, Any]] = {
            f"ec2 aws.{EC2_REGION}": {"endpoint_url": moto.url, "timeout": CALL},
            f"lxd lxd.{containers.project}": {"socket": lxd.socket, "timeout": CALL},
            f"openstack lab.{OPENSTACK_REGION}": {
                name: value
                for name, value in world.config(timeout=CALL).items()
                if name not in ("provider", "region")
            },
        }
        server = stack.enter_context(
            Stead("server", "--open", "--database", migrated, *bus, "--pace", str(PACE), listens=True)
        )
        for lane, said in settings.items():
            driver, name = lane.split()
            given = [word for field, value in said.items() for word in ("--set", f"{field}={value}")]
            stack.enter_context(
                Stead("agent", "run", *bus, "--lane", name, "--driver", driver, "--name", driver, *given)
            )
        file = tmp_path / "mci.yaml"
        regions = {"ec2": EC2_REGION, "lxd": containers.project, "openstack": OPENSTACK_REGION}
        file.write_text(FILE.format(key=KEY, **regions))
        address = f"http://127.0.0.1:{server.port}"
        ec2, servers = Ec2(moto), Servers(world)
        stack.callback(ec2.client.close)
        stack.callback(servers.connection.close)
        here = Place(address, file, ec2, containers, servers)
        # As whoever begins with a new cell does: until everybody is there.
        eventually(lambda: len(here.served()) == len(settings), here.served)
        yield here


def eventually(true: Callable[[], bool], says: Callable[[], object]) -> None:
    """For what is cleared away when nobody waits for it any more."""
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end, says()
        time.sleep(0.2)


def test_an_infrastructure_over_three_clouds_from_its_file_to_its_end(place: Place) -> None:
    place.stead("mci", "create", "shop/web", "-f", str(place.file))
    assert place.vms() == ({"running": 2}, {"Running": 2}, {"ACTIVE": 1})
    lines = place.stead("mci", "tree", "shop/web").splitlines()
    assert lines[0] == "shop/web  Running:5 (R:5/5)"
    assert sorted(line.split()[1:4] for line in lines[1:]) == [
        ["back", f"lxd.{place.lxd.project}", "Running:2"],
        ["cache", f"lab.{OPENSTACK_REGION}", "Running:1"],
        ["front", f"aws.{EC2_REGION}", "Running:2"],
    ]
    place.ec2.check_whole(2)
    place.lxd.check_whole(2)
    place.openstack.check_whole(1)

    place.stead("mci", "suspend", "shop/web")
    assert place.vms() == ({"stopped": 2}, {"Stopped": 2}, {"SHUTOFF": 1})
    assert place.stead("mci", "status", "shop/web") == "shop/web  Suspended:5 (R:0/5)\n"
    place.stead("mci", "resume", "shop/web")
    assert place.vms() == ({"running": 2}, {"Running": 2}, {"ACTIVE": 1})

    for name, size in (("front", 3), ("back", 1), ("cache", 2)):
        place.stead("subgroup", "scale", f"shop/web/{name}", "--to", str(size))
    assert place.vms() == ({"running": 3}, {"Running": 1}, {"ACTIVE": 2})
    assert place.stead("mci", "tree", "shop/web").splitlines()[0] == "shop/web  Running:6 (R:6/6)"
    place.ec2.check_whole(3)
    place.lxd.check_whole(1)
    place.openstack.check_whole(2)

    place.stead("mci", "terminate", "shop/web")
    assert place.vms() == ({}, {}, {})
    place.stead("mci", "delete", "shop/web")
    eventually(lambda: not any(place.ec2.made().values()), place.ec2.made)
    eventually(lambda: not any(place.openstack.made().values()), place.openstack.made)
    assert place.lxd.shared() == place.lxd.networks
    for kind in ("network", "securitygroup", "sshkey"):
        eventually(lambda kind=kind: place.stead(kind, "list", "shop", "-o", "name") == "", lambda kind=kind: kind)  # type: ignore[misc]
    assert place.stead("mci", "list", "-o", "name") == ""
    assert place.stead("orphan", "list", "-o", "name") == ""
