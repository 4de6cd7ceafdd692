"""The same engine in the words of CB-Tumblebug: its paths, query parameters and JSON names."""

from __future__ import annotations

from stead.api.tumblebug import actions, control, provisioning, reads

__all__ = ["routes"]

routes = [*reads.routes.routes, *provisioning.routes.routes, *actions.routes.routes, *control.routes.routes]
