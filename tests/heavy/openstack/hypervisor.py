"""Nova's own fake hypervisor, with moves that take a moment, so that they can be seen. Nova loads it."""

import time
from typing import Any

from nova.virt import fake  # type: ignore[import-not-found]

MOMENT = 0.3


class Driver(fake.PredictableNodeUUIDDriver):  # type: ignore[misc]
    vcpus, memory_mb, local_gb = 1000, 800_000, 600_000


def slowed(name: str) -> Any:
    at_once = getattr(fake.FakeDriver, name)

    def in_a_moment(self: Any, *given: Any, **more: Any) -> Any:
        time.sleep(MOMENT)
        return at_once(self, *given, **more)

    return in_a_moment


for move in ("spawn", "power_off", "power_on", "reboot", "suspend", "resume", "pause", "unpause", "destroy"):
    setattr(Driver, move, slowed(move))
