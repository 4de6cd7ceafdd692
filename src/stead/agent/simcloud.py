"""The simulated cloud, for those who run it by command."""

from __future__ import annotations

from pathlib import Path

from stead.drivers.sim.server import serve as _serve


def serve(host: str, port: int, data: Path) -> None:
    """Run until told to stop; says where it listens."""
    _serve(host, port, data, listening=lambda bound: print(f"simulated cloud on http://{host}:{bound}", flush=True))
