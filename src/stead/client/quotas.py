"""How much accounts and cloudspaces have, and may have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Of one thing."""

    what: str
    """`machines`, `cpus`, `memory` (MiB), `disks` or `storage` (MiB)."""
    used: int
    most: int | None = None
    """None: as much as there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Of all things."""

    path: str
    items: tuple[Quota, ...]
