"""Nodes, machines and the recycle bin in the console, with an agent that has nodes of libvirt's test driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.looking import Looking
from tests.dev.trial import Trial
from tests.integration.test_processes import Stead

pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture
def datacenter(cell: Trial, tmp_path: Path) -> Iterator[Stead]:
    """Two nodes with a machine and a disk, and their agent."""
    bus = re.search(r"nats://[\d.:]+", cell.said())
    assert bus is not None
    for node in ("n1", "n2"):
        (tmp_path / f"{node}.xml").write_text("<node/>")
    (tmp_path / "pool").mkdir()
    nodes = ",".join(f"{node}=test://{tmp_path}/{node}.xml" for node in ("n1", "n2"))
    settings = (f"nodes={nodes}", f"pool={tmp_path / 'pool'}", "hypervisor=test")
    words = ("--nats", bus[0], "--cell", "dev", "--lane", "libvirt.dc", "--name", "dc-1", "--driver", "libvirt")
    with Stead("agent", "run", *words, *(word for one in settings for word in ("--set", one))) as agent:
        cell.until(lambda: _served(cell), "the datacenter to be served")
        for made in (
            "lane allow libvirt.dc dc",
            "lane allow libvirt.dc acme",
            "node create dc/n1",
            "node create dc/n2",
            "account create acme",
            "cloudspace deploy acme/space --datacenter dc --timeout 50s",
            "machine deploy acme/space/web --node n1 --timeout 50s",
            "disk assign acme/space/data --machine web --timeout 50s",
        ):
            answer = cell.stead(made)
            assert answer.returncode == 0, answer.stderr
        yield agent


def _served(cell: Trial) -> bool:
    items = httpx.get(f"{cell.url}/v1/cells/-/lanes", params={"limit": 500}, trust_env=False, timeout=60).json()[
        "items"
    ]
    return any(item["lane"] == "libvirt.dc" and any(agent["connected"] for agent in item["agents"]) for item in items)


@pytest.mark.req("S2-08", "S2-11")
def test_a_node_is_emptied_and_a_machine_goes_to_the_bin_and_comes_back(looking: Looking, datacenter: Stead) -> None:
    looking.go("/tree")
    expect(looking.page.locator("[data-path='/acme']")).to_contain_text("1 machine")
    looking.picture("datacenter-tree")
    looking.go("/r/dc/n1")
    looking.sees("state", "ENABLED")
    looking.sees("machines", "/acme/space/web")
    looking.picture("datacenter-node")
    looking.action("maintain").click()
    looking.sees("state", "MAINTENANCE")
    looking.sees("machines", "No machine is on it")
    looking.picture("datacenter-maintenance")
    looking.go("/r/dc/n2")
    looking.the("machines").get_by_role("link", name="/acme/space/web").click()
    looking.sees("state", "RUNNING")
    looking.sees("record", "stead machine migrate acme/space/web --to NODE")
    for naming in ("deploy", "migrate", "attach-disk"):
        expect(looking.action(naming)).to_have_count(0)
    looking.picture("datacenter-machine")
    looking.action("delete").click()
    looking.the("confirm-yes").click()
    looking.sees("state", "DELETED")
    looking.sees("expiry", "destroyed in 6 d 23 h unless it is restored")
    looking.picture("datacenter-deleted")
    looking.go("/r/acme/space/data")
    looking.sees("state", "TOBEDELETED")
    looking.picture("datacenter-disk")
    looking.go("/r/acme/space/web")
    looking.action("restore").click()
    looking.sees("state", "HALTED")
    expect(looking.the("expiry")).to_have_count(0)
    for place in ("acme", "acme/space"):
        looking.go(f"/r/{place}")
        looking.sees("state", "CONFIRMED" if place == "acme" else "DEPLOYED")
        looking.picture(f"datacenter-{place.replace('/', '-')}")
