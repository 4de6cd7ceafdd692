"""All peers, one after the other: `python -m bench.peers --n 500`."""

from __future__ import annotations

import argparse
import asyncio

from bench.peers import on_dbos, on_pgqueuer, on_procrastinate
from stead.dev.engines import Postgres
from tests.drivers.cloud import SimCloud

PEERS = {"dbos": on_dbos.measure, "procrastinate": on_procrastinate.measure, "pgqueuer": on_pgqueuer.measure}


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Suspend VMs with other libraries.")
    parser.add_argument("--n", type=int, default=500, help="how many VMs each of them suspends")
    parser.add_argument("--only", choices=PEERS, help="one of them alone")
    asked = parser.parse_args()
    paths = [f"/bench/peers/vm/{number}" for number in range(asked.n)]
    with Postgres() as postgres, SimCloud() as cloud:
        for name in [asked.only] if asked.only else PEERS:
            dsn = postgres.create_database(f"peer_{name}")
            rate = asyncio.run(PEERS[name](dsn, cloud.url, paths))
            print(f"{name}: {rate:.0f} VMs per second")


if __name__ == "__main__":
    main()
