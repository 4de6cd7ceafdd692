"""`python -m tests.fuzz`: bad input at length, to everything that reads; counts what is not answered as it should be.

Parts: `messages` to the decoders of the bus, `files` to every other parser, `requests` to a server that runs, and
`bus` through a real bus into a controller and an agent. The last line says what came of it; the exit code is 1 if
anything failed. The same seed gives the same input.
"""

from __future__ import annotations

import argparse
import random
import sys

from stead.dev.engines import Nats, Postgres
from tests.fuzz.ground import ground
from tests.fuzz.parsers import bad_files
from tests.fuzz.requests import bad_requests
from tests.fuzz.result import Result
from tests.fuzz.through import bad_on_the_bus
from tests.fuzz.wire import bad_messages

SHOWN = 10
"""Failures of each part that are printed."""


def main() -> int:
    asked = arguments()
    say(f"seed {asked.seed}")
    results: list[Result] = []
    if asked.messages:
        results.append(told(bad_messages(asked.messages, asked.seed, say)))
    if asked.files:
        results.append(told(bad_files(asked.files, asked.seed, say)))
    if asked.requests or asked.bus:
        with Postgres(fsync=False) as postgres, Nats() as nats, ground(postgres, nats) as field:
            if asked.bus:
                results.append(told(bad_on_the_bus(field, asked.bus, asked.seed, say)))
            if asked.requests:
                results.append(told(bad_requests(field, asked.requests, asked.seed, asked.examples, say)))
    failed = sum(len(result.failures) + (not result.flat) for result in results)
    say(f"bad input: {sum(result.count for result in results)} in all, {failed} failures")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="bad requests to a server; 0 for none")
    parser.add_argument("--messages", type=int, default=1_000_000, help="bad messages to the decoders; 0 for none")
    parser.add_argument("--files", type=int, default=100_000, help="bad input to every other parser; 0 for none")
    parser.add_argument("--bus", type=int, default=40_000, help="bad messages through a real bus; 0 for none")
    parser.add_argument(
        "--examples", type=int, default=3, help="requests of schemathesis for each endpoint; 0 for none"
    )
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="what chance goes by"
    )
    return parser.parse_args()


def told(result: Result) -> Result:
    for failure in result.failures[:SHOWN]:
        say(f"failure: {failure}")
    if len(result.failures) > SHOWN:
        say(f"failure: and {len(result.failures) - SHOWN} more")
    say(result.line)
    return result


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
