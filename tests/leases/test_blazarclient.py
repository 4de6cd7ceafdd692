"""The client that people have for leases, as it is, against a server that runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from blazarclient.client import Client
from blazarclient.exception import BlazarClientException
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from stead.access.access import Access
from stead.build import Authenticator, access_of
from stead.catalog import KINDS
from tests.leases.lab import Lab
from tests.leases.served import listening

PAGE = Path(__file__).parents[2] / "docs" / "blazar.md"
VERBS = ("create", "list", "show", "update", "delete")
GPU = '["and", ["=", "$gpu", "True"], [">=", "$vcpus", "8"]]'


class Wants:
    """The client in a thread of its own, since it waits for every answer."""

    def __init__(self, url: str, token: str = "") -> None:
        auth = Token(url, token) if token else NoAuth()
        self.client: Any = Client(session=Session(auth=auth), endpoint_override=url)

    async def __call__(self, call: Callable[[Any], Any]) -> Any:
        return await asyncio.to_thread(call, self.client)

    async def refused(self, call: Callable[[Any], Any]) -> tuple[int, str]:
        with pytest.raises(BlazarClientException) as found:
            await self(call)
        return found.value.kwargs["code"], str(found.value)


@pytest.fixture
async def wants(lab: Lab) -> AsyncIterator[Wants]:
    async with listening(lab) as url:
        yield Wants(f"{url}/blazar/lab/v1")


async def entrance(lab: Lab, role: str) -> tuple[Access, str]:
    """Who knows callers, and the token of one who has a role in the namespace."""
    access = access_of(Authenticator(), lab.one.store, KINDS)
    token = await access.create_token(role, [(role, "lab")], timedelta(hours=1), "a test")
    return access, token.text


def minute(minutes: float) -> str:
    """A date so many minutes from now."""
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M")


def hosts(most: int, least: int = 1, wishes: str = "") -> list[dict[str, Any]]:
    found = {"resource_type": "physical:host", "min": least, "max": most}
    return [{**found, "hypervisor_properties": "", "resource_properties": wishes}]


@pytest.mark.req("S3-10")
async def test_a_lease_from_its_booking_to_its_end(lab: Lab, wants: Wants) -> None:
    await lab.hosts("small", vcpus=4, gpu=False)
    await lab.hosts("large", vcpus=32, gpu=True)
    start, end, longer_end = minute(60), minute(120), minute(150)
    made = await wants(lambda c: c.lease.create("monday", start, end, hosts(1, wishes=GPU), [], minute(100)))
    assert (made["name"], made["status"], made["degraded"], made["project_id"]) == ("monday", "PENDING", False, "lab")
    assert made["start_date"] == f"{start.replace(' ', 'T')}:00.000000"
    (part,) = made["reservations"]
    assert (part["status"], part["min"], part["max"], part["hosts"]) == ("pending", 1, 1, ["large"])
    assert json.loads(part["resource_properties"]) == ["and", ["=", "$gpu", "true"], [">=", "$vcpus", "8"]]
    assert {event["event_type"]: event["status"] for event in made["events"]} == {
        "start_lease": "UNDONE",
        "before_end_lease": "UNDONE",
        "end_lease": "UNDONE",
    }
    id = made["id"]
    assert await wants(lambda c: c.lease.get(id)) == made
    assert await wants(lambda c: c.lease.list(sort_by="name")) == [made]

    longer = await wants(lambda c: c.lease.update(id, prolong_for="30m"))
    assert longer["end_date"] == f"{longer_end.replace(' ', 'T')}:00.000000"
    assert longer["status"] == "PENDING"
    shorter = await wants(lambda c: c.lease.update(id, reduce_by="30m"))
    assert shorter["end_date"] == made["end_date"]
    later = await wants(lambda c: c.lease.update(id, defer_by="10m"))
    assert later["start_date"] > made["start_date"]
    assert (await wants(lambda c: c.lease.update(id, advance_by="10m")))["start_date"] == made["start_date"]
    wider = [{"id": part["id"], "max": 2, "resource_properties": ""}]
    both = await wants(lambda c: c.lease.update(id, reservations=wider))
    assert both["reservations"][0]["hosts"] == ["large", "small"]
    assert both["reservations"][0]["resource_properties"] == ""

    await wants(lambda c: c.lease.delete(id))
    assert await wants(lambda c: c.lease.list()) == []
    assert await wants.refused(lambda c: c.lease.get(id)) == (404, f"ERROR: there is no lease {id} in lab")


@pytest.mark.long
@pytest.mark.req("S3-10")
async def test_what_goes_on_is_told_exactly(lab: Lab, wants: Wants) -> None:
    await lab.hosts("h1")
    made = await wants(lambda c: c.lease.create("now", "now", minute(60), hosts(1), []))
    assert made["status"] in ("PENDING", "STARTING", "ACTIVE")
    await lab.until("/lab/now", "ACTIVE")
    shown = await wants(lambda c: c.lease.get(made["id"]))
    assert (shown["status"], shown["reservations"][0]["status"]) == ("ACTIVE", "active")
    assert [event["status"] for event in shown["events"] if event["event_type"] == "start_lease"] == ["DONE"]
    assert await wants.refused(lambda c: c.lease.update(made["id"], defer_by="10m")) == (
        409,
        "ERROR: it has begun, and its start stays as it was",
    )
    await wants(lambda c: c.lease.delete(made["id"]))
    assert await lab.state("/lab/now") == ""


@pytest.mark.req("S3-10", "S3-09")
async def test_where_there_is_no_room_the_next_time_is_told(lab: Lab, wants: Wants) -> None:
    await lab.hosts("h1")
    end = minute(120)
    made = await wants(lambda c: c.lease.create("first", minute(60), end, hosts(1), []))
    code, says = await wants.refused(lambda c: c.lease.create("second", minute(90), minute(150), hosts(1), []))
    assert code == 409
    assert says.endswith(f"and there is not: the next time there is is {end.replace(' ', 'T')}:00Z")
    assert [lease["name"] for lease in await wants(lambda c: c.lease.list())] == ["first"]
    two = [{"id": made["reservations"][0]["id"], "min": 2, "max": 2}]
    code, says = await wants.refused(lambda c: c.lease.update(made["id"], reservations=two))
    assert (code, "r0 wants 2 such hosts" in says) == (409, True)
    assert await wants(lambda c: c.lease.get(made["id"])) == {**made, "updated_at": ANY}
    assert (await wants.refused(lambda c: c.lease.create("first", minute(60), end, hosts(1), [])))[0] == 409
    code, says = await wants.refused(
        lambda c: c.lease.create("third", minute(60), end, hosts(1, wishes='["or", ["=", "$a", "1"]]'), [])
    )
    assert (code, "'or' cannot be asked for here" in says) == (400, True)


@pytest.mark.long
@pytest.mark.req("S3-10")
async def test_allocations_name_the_reservations_of_each_host(lab: Lab, wants: Wants) -> None:
    await lab.hosts("h1", "h2", "h3")
    made = await wants(lambda c: c.lease.create("monday", minute(60), minute(120), hosts(5, least=2), []))
    (part,) = made["reservations"]
    assert (part["min"], part["max"], part["hosts"], made["degraded"]) == (2, 5, ["h1", "h2", "h3"], False)
    await wants(lambda c: c.lease.delete(made["id"]))
    made = await wants(lambda c: c.lease.create("monday", minute(60), minute(120), hosts(2, least=1), []))
    (part,) = made["reservations"]
    has = {"id": part["id"], "lease_id": made["id"], "start_date": made["start_date"], "end_date": made["end_date"]}
    found = await wants(lambda c: c.allocation.list("os-hosts"))
    assert [(one["resource_id"], one["reservations"]) for one in found] == [("h1", [has]), ("h2", [has]), ("h3", [])]
    assert await wants(lambda c: c.allocation.get("os-hosts", "h2")) == {"resource_id": "h2", "reservations": [has]}
    assert (await wants.refused(lambda c: c.allocation.get("os-hosts", "h9")))[0] == 404


@pytest.mark.req("S3-10")
async def test_hosts_with_what_they_have(lab: Lab, wants: Wants) -> None:
    made = await wants(lambda c: c.host.create("h1", lane=lab.lane, vcpus="32", gpu="True", room="7a"))
    assert made["hypervisor_hostname"] == "h1"
    await lab.hosts("h2", vcpus=4)
    found = await wants(lambda c: c.host.list(sort_by="vcpus"))
    assert [(host["id"], host["vcpus"], host.get("gpu"), host["reservable"]) for host in found] == [
        ("h2", 4, None, True),
        ("h1", 32, True, True),
    ]
    assert await wants(lambda c: c.host.get_property("vcpus")) == {
        "property": "vcpus",
        "private": False,
        "property_values": ["32", "4"],
    }
    assert [one["property"] for one in await wants(lambda c: c.host.list_properties())] == ["gpu", "room", "vcpus"]
    changed = await wants(lambda c: c.host.update("h1", {"room": "8b"}))
    assert (changed["room"], changed["gpu"]) == ("8b", True)
    await wants(lambda c: c.host.delete("h2"))
    assert await wants.refused(lambda c: c.host.get("h2")) == (404, "ERROR: there is no host h2")


@pytest.mark.req("S3-10")
async def test_a_token_is_shown_as_such_clients_show_it(lab: Lab) -> None:
    access, token = await entrance(lab, "viewer")
    await lab.hosts("h1")
    async with listening(lab, access) as url:
        nobody, viewer = Wants(f"{url}/blazar/lab/v1"), Wants(f"{url}/blazar/lab/v1", token)
        assert (await nobody.refused(lambda c: c.lease.list()))[0] == 401
        assert await viewer(lambda c: c.lease.list()) == []
        code, says = await viewer.refused(lambda c: c.lease.create("mine", "now", minute(60), hosts(1), []))
        assert (code, "create of /lab/mine is not for you" in says) == (403, True)


@pytest.mark.long
@pytest.mark.req("S3-10")
async def test_the_commands_of_the_page(lab: Lab, tmp_path: Path) -> None:
    block = re.search(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    typed = [line for line in block[1].replace("\\\n", " ").splitlines() if line.startswith("$ blazar ")]
    await lab.hosts("h1", "h2", vcpus=16, gpu=True)
    access, token = await entrance(lab, "operator")
    async with listening(lab, access) as url:
        told = {
            "OS_AUTH_TYPE": "admin_token",
            "OS_TOKEN": token,
            "OS_ENDPOINT": f"{url}/blazar/lab/v1",
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
        }

        async def run(line: str) -> str:
            command = [sys.executable, "-m", "blazarclient.shell", *shlex.split(line)[2:]]
            process = await asyncio.create_subprocess_exec(*command, env=told, stdout=PIPE, stderr=PIPE)
            out, error = await process.communicate()
            assert process.returncode == 0, (line, out, error)
            return out.decode()

        said = {line.split()[2]: await run(line) for line in typed}
    assert [name for name in said] == ["host-list", *(f"lease-{verb}" for verb in VERBS)]
    assert re.search(r"h2 +\| h2 +\| +16 ", said["host-list"])
    assert re.search(r"status +\| PENDING", said["lease-create"])
    assert "| monday |" in said["lease-list"]
    assert "2030-01-07T18:00:00.000000" in said["lease-show"]
    assert await lab.state("/lab/monday") == ""
