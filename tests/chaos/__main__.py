"""`python -m tests.chaos`: kills and stops everything while thousands of actions are under way; counts the losses.

The last line says what came of it; the exit code is 1 if anything was lost or violated. With `--planted NAME` the
processes have a bug, and the run is one that brings it out; with `--planted all` each bug has its run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace

from tests.chaos import restored
from tests.chaos.faults import KINDS, OF_NODES
from tests.chaos.plans import PLANTED, REPLICATED, RESTORED, Plan
from tests.chaos.run import Result, run

SHOWN = 10
"""Sentences of each sort that are printed; there may be thousands."""


def main() -> int:
    plans = arguments()
    try:
        if plans[0].restored:
            return restore(plans[0])
        results = [once(plan) for plan in plans]
    except KeyboardInterrupt:
        return 130
    if len(plans) > 1:
        caught = sum(result.caught for result in results)
        say(f"planted: {caught} of {len(plans)} caught")
        return 0 if caught == len(plans) else 1
    return 0 if results[0].verdict.clean else 1


def restore(plan: Plan) -> int:
    result = asyncio.run(restored.run(plan, say))
    for problem in result.problems:
        say(problem)
    say(result.line)
    return 1 if result.problems else 0


def once(plan: Plan) -> Result:
    result = asyncio.run(run(plan, say))
    tell(result)
    return result


def arguments() -> list[Plan]:
    """The runs that are asked for: what is not said is as planned."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, help="how long faults strike")
    parser.add_argument("--seed", type=int, help="what chance goes by")
    parser.add_argument("--vms", type=int, help="machines at a time")
    parser.add_argument("--rate", type=float, help="requests a second")
    parser.add_argument("--every", type=float, help="seconds between two faults")
    parser.add_argument("--pace", type=float, help="of the protocol's waits; below 1 is faster")
    parser.add_argument("--took", type=float, help="seconds that the cloud takes for anything")
    parser.add_argument("--fleet", type=int, help="machines of the group that acts as a whole; 0 for none")
    parser.add_argument("--people", type=int, help="those who have infrastructures; 0 for none")
    parser.add_argument("--tenants", type=int, help="those who have machines in a datacenter; 0 for none")
    parser.add_argument("--kinds", type=kinds, help="kinds of faults, with commas between; or none")
    parser.add_argument("--replicated", action="store_true", help="on three nodes of database and bus each")
    parser.add_argument("--restored", action="store_true", help="with a backup, which is restored in the end")
    parser.add_argument("--planted", choices=[*PLANTED, "all"], help="a bug that is to be caught")
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    bug = given.pop("planted", "")
    replicated, with_restore = given.pop("replicated"), given.pop("restored")
    if not bug:
        plan = REPLICATED if replicated else RESTORED if with_restore else Plan()
        return [replace(plan, **given)]
    bugs = list(PLANTED) if bug == "all" else [bug]
    return [replace(PLANTED[one], planted=one, **given) for one in bugs]


def kinds(text: str) -> tuple[str, ...]:
    found = tuple(kind for kind in text.split(",") if kind not in ("", "none"))
    for kind in found:
        if kind not in KINDS | OF_NODES:
            raise argparse.ArgumentTypeError(f"there is no kind {kind}; there are {', '.join(KINDS | OF_NODES)}")
    return found


def say(text: str) -> None:
    print(text, flush=True)


def tell(result: Result) -> None:
    verdict = result.verdict
    for name, found in (("lost", verdict.lost), ("violation", verdict.violations), ("liveness", verdict.liveness)):
        for sentence in found[:SHOWN]:
            say(f"{name}: {sentence}")
        if len(found) > SHOWN:
            say(f"{name}: and {len(found) - SHOWN} more")
    say(result.line)


if __name__ == "__main__":
    sys.exit(main())
