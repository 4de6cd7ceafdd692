"""Why a reservation failed, wherever a user looks: on it, on its lease, on the operation, in the journal."""

from __future__ import annotations

import pytest

from stead.application.names import uuid_of
from stead.application.reader import Reader
from tests.leases.lab import Lab, terms

LEASE, PART = "/lab/x", "/lab/x/r0"
FAULTS = {"start": "restore-reservation", "terminate": "terminate-reservation"}


@pytest.mark.parametrize("action", FAULTS)
async def test_reservation_that_failed_says_why_wherever_it_is_shown(lab: Lab, action: str) -> None:
    await lab.hosts("h1")
    if action == "terminate":
        await lab.do("create", LEASE, terms(0, 1000))
        await lab.until(LEASE, "ACTIVE")
    await lab.world.fault(verb=FAULTS[action], kind="fail", status=400, times=1)
    await (lab.do("create", LEASE, terms(0, 1000)) if action == "start" else lab.ask(action, LEASE))
    await lab.until(LEASE, "ERROR")
    view = Reader(lab.one.store, lab.one.executor.kinds)
    part, lease = await view.resource(PART), await view.resource(LEASE)
    assert part is not None
    assert lease is not None
    why = part.failure
    assert why
    assert (part.state, why in lease.failure) == ("error", True)
    operations = (await view.operations("/lab", None, None, 100)).items
    (failed,) = [one for one in operations if one.outcome == "failed"]
    assert (failed.action, failed.message) == (action, lease.failure)
    (member,) = (await view.members(uuid_of(failed.id), "", 10)).items
    assert (member.path, member.outcome, member.message) == (PART, "failed", why)
    lines, _ = await view.journal(0, PART, 100)
    assert [line.change["error"] for line in lines if line.target == "error"] == [why]
