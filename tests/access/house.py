"""A server that asks who one is, two namespaces with something in them, and somebody in every role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any

import httpx

from stead.access.access import Access
from stead.api.limits import Limits
from stead.build import Authenticator
from stead.lifecycle.rows import Trigger
from tests.api.cell import MCI, Cell

OURS, THEIRS = "shop", "bank"
"""The namespaces: the roles that name one name the first."""

ROLES: dict[str, list[tuple[str, str]]] = {
    "viewer@shop": [("viewer", OURS)],
    "operator@shop": [("operator", OURS)],
    "admin@shop": [("admin", OURS)],
    "stranger": [("operator", THEIRS)],
    "viewer": [("viewer", "*")],
    "operator": [("operator", "*")],
    "admin": [("admin", "*")],
}
NOBODY = "nobody"
"""Whoever shows nothing."""
VM = {"kind": "vm", "spec": {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}}
ORPHAN = "0b5f1d1c-2f51-4d7e-9d5e-3f8b5f8a6c01"


class House:
    """The server, and tokens by role."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.url = cell.url
        self.tokens: dict[str, str] = {}
        self._numbers = count(1)
        for role, roles in ROLES.items():
            self.tokens[role] = self.token(role.replace("@", "-in-"), roles)

    def token(self, name: str, roles: list[tuple[str, str]], lasts: timedelta = timedelta(hours=1)) -> str:
        """A token of one's own."""

        async def make() -> str:
            return (await Access(self.cell.store, ()).create_token(name, roles, lasts, "a test")).text

        return self.cell.run(make())

    def as_(self, role: str) -> httpx.Client:
        """A client in a role."""
        shown = {"Authorization": f"Bearer {self.tokens[role]}"} if role != NOBODY else {}
        return self.showing(shown)

    def showing(self, headers: dict[str, str]) -> httpx.Client:
        """A client that shows something else."""
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False, verify=False, timeout=60)

    def furnish(self) -> None:
        """An infrastructure in each namespace, an operation that failed, a queue, and an orphan."""
        with self.as_("admin") as web:
            for namespace in (OURS, THEIRS):
                for n in (1, 2):
                    made(web, f"/v1/resources/{namespace}/web/g/{n}", VM)
                    self.cell.settle(f"/{namespace}/web/g/{n}", id=f"i-{n}")
                self.cell.subgroup(f"/{namespace}/web/g")
                made(web, f"/v1/resources/{namespace}/web", MCI)
                self.cell.rest(f"/{namespace}/web", "Running")
                assert web.put(f"/v1/queues/{namespace}/web").status_code == 200
        for _ in range(2):
            self.cell.orphan("sim.a", ORPHAN)
        self.cell.numbered()

    def failed(self, namespace: str) -> str:
        """An operation that did not end well, and may be tried again."""
        path = f"/{namespace}/spare/g/{next(self._numbers)}"
        with self.as_("admin") as web:
            id = str(made(web, f"/v1/resources{path}", VM)["operation"]["id"])
        self.cell.settle(path, Trigger.FAILED)
        return id


def made(web: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    """What was answered to a change that was let in."""
    answer = web.post(path, json=body)
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


@contextmanager
def house(dsn: str, entry: Authenticator | None = None, limits: Limits | None = None) -> Iterator[House]:
    """A server for as long as the context lasts."""
    with Cell(dsn, entry or Authenticator(), limits) as cell:
        yield House(cell)
