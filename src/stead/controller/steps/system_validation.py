"""Setting a system up: whether its services will have somewhere to run."""

from __future__ import annotations

from uuid import UUID

from stead.controller.execution.steps import Answer, Done, Failed
from stead.store import Row, Store


class SystemValidation:
    """The step of one new system."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Each of its lanes is one that an agent has served, unless the request said that agents come later."""
        lanes = list(row.spec.get("lanes", ()))
        record = await self.store.operations.read(operation)
        if record is not None and record["request"].get("expect_agent"):
            return Done()
        unknown = sorted(set(lanes) - await self.store.lanes.filter_served(lanes))
        return Failed(f"no agent has ever served {', '.join(unknown)}") if unknown else Done()
