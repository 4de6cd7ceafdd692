"""`make bench`: everything, in one run. `--small` takes a minute or two; `--only admit` measures one thing."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench.figure import Figure

MEASURES = (
    "admit",
    "minimal",
    "settle",
    "dispatch",
    "fleet",
    "clouds",
    "status",
    "console",
    "scroll",
    "latency",
    "lanes",
    "sites",
    "leases",
    "against",
)
RESULTS = Path(__file__).parent / "results.json"


def lines(figure: Figure) -> Iterator[str]:
    """For whoever looks on."""
    bar = "" if figure.bar is None else f"{'at most' if figure.at_most else 'at least'} {figure.bar:g}"
    met = {True: "met", False: "NOT MET", None: ""}[figure.met]
    value = f"{figure.value:,.2f} {figure.unit}"
    yield f"{figure.name:<22} {value:<34} {bar:<14} {met:<8} beside: {figure.beside}".rstrip()
    for name, count in figure.detail.items():
        yield f"{'':<22}   {name}: {count:,}"


def keep(figures: list[Figure]) -> None:
    """Put figures in the place of those of the same name from before."""
    known = {one["name"]: one for one in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    known |= {figure.name: figure.written() for figure in figures}
    RESULTS.write_text(json.dumps(list(known.values()), indent=2) + "\n")


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Beside the bare engines and the peers.")
    parser.add_argument("--small", action="store_true", help="little of each, to see that it works")
    parser.add_argument("--only", choices=MEASURES, action="append", help="this one alone; may be repeated")
    asked = parser.parse_args()
    figures: list[Figure] = []
    for name in asked.only or MEASURES:
        found = uvloop.run(importlib.import_module(f"bench.{name}").measure(asked.small))
        for line in (line for figure in found for line in lines(figure)):
            print(line, flush=True)
        figures += found
        if not asked.small:
            keep(found)
    missed = [figure.name for figure in figures if figure.met is False]
    below = f"{len(missed)} below the bar" + (f": {', '.join(missed)}" if missed else "")
    print(f"bench: {len(figures)} figures, {below}")


if __name__ == "__main__":
    main()
