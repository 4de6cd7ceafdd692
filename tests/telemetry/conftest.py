"""A server for these tests."""

from __future__ import annotations

from tests.api.fixtures import cell, ns, web

__all__ = ["cell", "ns", "web"]
