"""`python -m bench.soak`: an hour at half of what the cell can do; says what is flat, and exits with 1 if not all is.

With `--to FILE` all that was seen is written there, which `python -m bench.soak.plot FILE PICTURE` draws.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import uvloop

from bench.soak.run import Plan, Result, soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=Plan.minutes)
    parser.add_argument(
        "--measured", type=float, default=Plan.measured, help="seconds in which its capacity is measured"
    )
    parser.add_argument("--every", type=float, default=Plan.every, help="seconds between two looks")
    parser.add_argument("--users", type=int, default=Plan.users)
    parser.add_argument("--to", type=Path, help="where to write what was seen")
    asked = vars(parser.parse_args())
    file = asked.pop("to")
    result = uvloop.run(soak(Plan(**asked), say))
    if file is not None:
        write(result, file)
    for trend in result.trends:
        say(str(trend))
    for what, count in sorted(result.told.items()):
        say(f"  {count:8} {what}")
    say(result.line)
    return 0 if result.lost == 0 and all(trend.flat for trend in result.trends) else 1


def write(result: Result, file: Path) -> None:
    """A line for each look."""
    names = ["seconds", *sorted(result.samples[-1].keys() - {"seconds"})]
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.DictWriter(opened, names, restval="0", extrasaction="ignore", lineterminator="\n")
        rows.writeheader()
        rows.writerows({name: f"{value:.1f}" for name, value in one.items()} for one in result.samples)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
