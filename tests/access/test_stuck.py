"""What is stuck is told to those who may see it."""

from __future__ import annotations

import pytest

from stead.controller.reconcilers.timers import TimerService
from tests.access.house import OURS, THEIRS, VM, House, made
from tests.api.test_stuck import aged


@pytest.mark.req("S2-10")
def test_everybody_sees_what_is_stuck_in_their_own_namespaces(furnished: House) -> None:
    paths = {namespace: f"/{namespace}/late/g/1" for namespace in (OURS, THEIRS)}
    with furnished.as_("admin") as web:
        for path in paths.values():
            made(web, f"/v1/resources{path}", VM)
            aged(furnished.cell, path, 100_000)
    while furnished.cell.run(TimerService(furnished.cell.executor).tick()):
        pass
    for role, sees in (("viewer@shop", {OURS}), ("stranger", {THEIRS}), ("viewer", {OURS, THEIRS})):
        with furnished.as_(role) as web:
            found = {item["path"] for item in web.get("/v1/stuck").json()["items"]}
            assert found & set(paths.values()) == {paths[namespace] for namespace in sees}, role
            there = {path.split("/")[1] for path in found}
            assert there <= sees, role
