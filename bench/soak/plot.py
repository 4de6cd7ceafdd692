"""`python -m bench.soak.plot FILE PICTURE`: what a soak saw, drawn."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot

from bench.soak.flat import MB, of_record, record

mpl.use("svg")
mpl.rcParams |= {"svg.hashsalt": "soak", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}

SHOWN = 8
"""Tables that have a line of their own: the largest."""


def main(file: Path, picture: Path) -> None:
    """Six pictures under one roof: what is used, and what is done."""
    with file.open(encoding="utf-8") as opened:
        looks = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(opened)]
    names = list(looks[-1])
    minutes = [look["seconds"] / 60 for look in looks]
    figure, axes = pyplot.subplots(3, 2, figsize=(11, 10), layout="constrained", sharex=True)

    def draw(place: int, title: str, chosen: dict[str, str], of: Callable[[float], float] = lambda v: v) -> None:
        ax = axes.flat[place]
        for name, label in chosen.items():
            ax.plot(minutes, [of(look[name]) for look in looks], label=label, linewidth=1.2)
        ax.set_title(title, loc="left")
        ax.margins(y=0.25)  # room for the names
        ax.set_ylim(bottom=0)
        ax.legend(fontsize=7, frameon=False, ncols=2)

    def of(*sorts: str) -> dict[str, str]:
        return {name: name.split(" ", 1)[1] for name in names if name.split()[0] in sorts}

    draw(0, "memory of its own, MB", of("memory"), lambda v: v / MB)
    draw(1, "connections, and open files", {n: n for n in names if n.split()[0] in ("connections", "files")})
    for place, sort in ((2, "table"), (3, "indexes")):
        sizes = sorted((n for n in of(sort) if not of_record(n)), key=lambda n: -looks[-1][n])[:SHOWN]
        draw(
            place,
            f"{sort}, the {SHOWN} largest without the record, kB",
            {n: of(sort)[n] for n in sizes},
            lambda v: v / 1024,
        )
    for look in looks:
        look |= {"record": record(look) / MB, "thousand": look["operations"] / 1000}
    draw(4, "the record of what was done", {"record": "MB", "thousand": "thousand operations"})
    draw(
        5,
        "answers, ms, and operations under way",
        {"ms p50": "half within", "ms p99": "99 of 100 within", "under way": "under way"},
    )
    for ax in axes[-1]:
        ax.set_xlabel("minutes")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
