"""How much accounts and cloudspaces have, and may have."""

from __future__ import annotations

from msgspec import Struct


class Quota(Struct, frozen=True, kw_only=True):
    """Of one thing."""

    what: str
    """`machines`, `cpus`, `memory` (MiB), `disks` or `storage` (MiB); of the leases of a namespace, where there is a
    quota, `hosts` (at a time) and `lease_seconds` (of each)."""
    used: int
    most: int | None = None
    """None: as much as there is."""


class Quotas(Struct, frozen=True, kw_only=True):
    """Of all things."""

    path: str
    items: tuple[Quota, ...]
