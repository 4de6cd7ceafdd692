"""What names, paths and ids of operations look like."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

SEGMENT = "[A-Za-z0-9][A-Za-z0-9._-]*"
Path = Annotated[
    str, StringConstraints(pattern=f"^(/{SEGMENT})+$", max_length=1000), Field(examples=["/shop/web/front/1"])
]
"""A resource's place in the tree."""
Below = Annotated[str, StringConstraints(pattern=f"^(/|(/{SEGMENT})+)$", max_length=1000)]
"""A path, or the root."""
Name = Annotated[str, StringConstraints(pattern=f"^{SEGMENT}$", max_length=100)]


def operation_id(path: str, id: UUID | str) -> str:
    """The id of an operation in interfaces, `NAMESPACE/UUID`: each address of it has its namespace."""
    return f"{path.split('/')[1]}/{id}"


def uuid_of(id: str) -> UUID:
    """The UUID in the id of an operation."""
    return UUID(id.rpartition("/")[2])
