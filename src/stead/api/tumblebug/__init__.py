"""The same engine in the words of CB-Tumblebug: its paths, query parameters and JSON names."""

from __future__ import annotations

from stead.api.tumblebug import asking, control, looking, making

__all__ = ["routes"]

routes = [*looking.routes.routes, *making.routes.routes, *asking.routes.routes, *control.routes.routes]
