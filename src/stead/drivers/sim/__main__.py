"""`python -m stead.drivers.sim`: the simulated cloud as a process of its own. Prints its port when it listens."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from stead.drivers.sim.server import serve


def main() -> None:
    """Read the arguments and serve."""
    parser = ArgumentParser(prog="stead.drivers.sim", description="A simulated cloud.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 for any free one")
    parser.add_argument("--data", type=Path, required=True, help="the folder of its ledger")
    parser.add_argument("--place", action="append", default=[], help="provider.region; repeat it; none for any")
    parser.add_argument("--seed", type=int, help="for faults that strike by chance")
    args = parser.parse_args()
    serve(
        args.host,
        args.port,
        args.data,
        places=args.place,
        seed=args.seed,
        listening=lambda port: print(port, flush=True),
    )


if __name__ == "__main__":
    main()
