"""Leases and hosts in the words of OpenStack's Blazar: its paths, its JSON, its dates and its expressions."""

from __future__ import annotations

from stead.api.blazar import hosts, leases

__all__ = ["routes"]

routes = [*leases.routes.routes, *hosts.routes.routes]
