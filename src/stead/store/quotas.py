"""Quotas: how much accounts, cloudspaces and namespaces have, and may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stead.store.statements import StorePart

UNITS = {
    "machines": "machines",
    "cpus": "CPUs",
    "memory": "MiB of memory",
    "disks": "disks",
    "storage": "MiB of storage",
}
"""What there are quotas of, and how one speaks of it."""
OF_LEASES = ("hosts", "lease_seconds")
"""What else there are quotas of, for the leases of a namespace: hosts at a time, and seconds that one may last."""


class Quota(NamedTuple):
    """Of one thing at one place."""

    path: str
    what: str
    used: int
    most: int | None
    wanted: int = 0
    """By what is to be made."""

    @property
    def over(self) -> bool:
        """Whether there would be too much."""
        return self.most is not None and self.used + self.wanted > self.most

    @property
    def says(self) -> str:
        """How it stands."""
        more = f", and {self.wanted} more are asked for" if self.wanted > 1 else ""
        return f"{self.path} has {self.used} of {self.most} {UNITS[self.what]} that it may have{more}"


class Quotas(StorePart):
    """Quotas and their use."""

    async def check(self, kind: str, path: str, spec: Mapping[str, Any]) -> list[Quota]:
        """The quotas that count for something that is to be made, the highest place first."""
        return [Quota(**dict(r)) for r in await self._sql.fetch("check_quotas", kind, path, dict(spec))]

    async def read(self, path: str) -> list[Quota]:
        """What a place has of everything, and may have."""
        found = {
            r["what"]: Quota(path, r["what"], r["used"], r["most"])
            for r in await self._sql.fetch("list_quotas", path)
        }
        limits = [found[what] for what in OF_LEASES if what in found and found[what].most is not None]
        return [*(found.get(what, Quota(path, what, 0, None)) for what in UNITS), *limits]

    async def set(self, path: str, most: Mapping[str, int | None], by: str = "") -> None:
        """From now on a place may have so much; None: as much as there is."""
        await self._sql.fetch_audited("set_quotas", path, list(most), list(most.values()), by)


def is_namespace(path: str) -> bool:
    """Whether a path is that of a namespace, which has no record of its own."""
    return path.count("/") == 1
