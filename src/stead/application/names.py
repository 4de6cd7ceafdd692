"""What names and paths look like."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

SEGMENT = "[A-Za-z0-9][A-Za-z0-9._-]*"
Path = Annotated[
    str, StringConstraints(pattern=f"^(/{SEGMENT})+$", max_length=1000), Field(examples=["/shop/web/front/1"])
]
"""A resource's place in the tree."""
Below = Annotated[str, StringConstraints(pattern=f"^(/|(/{SEGMENT})+)$", max_length=1000)]
"""A path, or the root."""
Name = Annotated[str, StringConstraints(pattern=f"^{SEGMENT}$", max_length=100)]
