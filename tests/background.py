"""Wait until a controller has done what follows from its commits."""

from __future__ import annotations

import asyncio

from stead.controller.execution.background_tasks import BackgroundTasks


async def done(*background: BackgroundTasks) -> None:
    """Nothing of them is under way, nor what they began meanwhile."""
    while tasks := {task for some in background for task in some.tasks}:
        await asyncio.gather(*tasks)
        await asyncio.sleep(
            0
        )  # what had ended already is taken off in the loop's next turn, and gather lets none pass
