"""`python -m tests.leases.timed DSN NATS CELL CLOCK`: a controller that goes by a clock in a file."""

from __future__ import annotations

import asyncio
import mmap
import struct
import sys
import time
from pathlib import Path

from stead.build import assemble_engine
from stead.bus import Bus
from stead.lifecycle.pace import Pace
from stead.store import Store

PACE = Pace(custody=6, call=3, resend=2, again=1, probe=20, undo=20, unseen_work=20, step=3, look=10**9, away=5)
"""Soon, on a machine that has other things to do. Nobody looks at what is handed over: there are too many jumps."""


class SharedClock:
    """The time, and how far it is from the machine's: whoever has the file has the same."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(8))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), 8)

    @property
    def ahead(self) -> float:
        """Seconds before the machine's own time."""
        return float(struct.unpack("d", self._map[:8])[0])

    def jump(self, seconds: float) -> None:
        """From now on it is later, or earlier."""
        self._map[:8] = struct.pack("d", self.ahead + seconds)

    def __call__(self) -> float:
        return time.time() + self.ahead


async def main(dsn: str, nats: str, cell: str, file: str) -> None:
    """Until killed."""
    clock = SharedClock(Path(file))
    async with Store.open(dsn, connections=5) as store, Bus(nats, cell) as bus:
        await bus.connect(20)
        await assemble_engine(store, bus, clock=clock, pace=PACE).controller.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
