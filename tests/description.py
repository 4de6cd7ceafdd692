"""The description of the HTTP interface as it is committed: reading it costs nothing, making it over a second.

`tests/api/test_health.py` holds that it is what a server answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OPENAPI: dict[str, Any] = json.loads((Path(__file__).parents[1] / "docs/reference/openapi.json").read_bytes())
ENDPOINTS = [(method.upper(), path) for path, methods in OPENAPI["paths"].items() for method in methods]
