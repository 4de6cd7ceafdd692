"""How far to the right each thing of a layered drawing stands.

Arrows should run straight and things must not touch. With the order on each layer given, that is a small problem of
least squares: the sideways shifts of all pieces, squared and weighted (the middle of a long arrow most), become as
small as they can while neighbours keep their distance. Layer by layer, with the others held, the best places follow
exactly by pooling those that would collide; a few hundred rounds of that settle the whole. Least squares spread the
bend of a long arrow evenly, which looks like a staircase; so in the end each long arrow is drawn straight through as
many layers as its neighbours leave room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf

_ROUNDS = 240
_TIDYINGS = 4
_STILL = 0.02
"""When nothing moved farther than this in a round, all stand where they should."""


@dataclass(frozen=True, slots=True)
class Pull:
    """One piece of an arrow: two things that want to stand under each other, give or take where it touches them."""

    high: int
    low: int
    high_shift: float
    low_shift: float
    weight: float


type Gaps = Mapping[tuple[int, int], float]
type Wishes = dict[int, list[tuple[int, float, float]]]


def settle(layers: Sequence[Sequence[int]], gaps: Gaps, pulls: Sequence[Pull]) -> dict[int, float]:
    """The horizontal centre of each thing; `gaps` is the distance that neighbours on a layer keep."""
    x: dict[int, float] = {}
    for layer in layers:
        ats = _offsets(layer, gaps)
        x |= {v: at - ats[-1] / 2 for v, at in zip(layer, ats, strict=True)}
    _relax(layers, gaps, _wishes(pulls), x)
    return x


type Chain = tuple[float, Sequence[int], float]
"""Things of successive layers that an arrow passes, and where it comes from and goes to."""


def straighten(layers: Sequence[Sequence[int]], gaps: Gaps, chains: Sequence[Chain], x: dict[int, float]) -> None:
    """Move the things of each chain so that it runs straight where its neighbours leave room."""
    left = {v: u for layer in layers for u, v in pairwise(layer)}
    right = {u: v for layer in layers for u, v in pairwise(layer)}

    def room(v: int) -> tuple[float, float]:
        least = x[left[v]] + gaps[left[v], v] if v in left else -inf
        most = x[right[v]] - gaps[v, right[v]] if v in right else inf
        return least, most

    for _ in range(_TIDYINGS):
        for start, chain, end in chains:
            runs = _runs(chain, [room(v) for v in chain])
            for n, (run, least, most) in enumerate(runs):
                ends = [start][n:] + [end][len(runs) - 1 - n :]
                mean = sum(x[v] for v in run) / len(run)
                fits = [at for at in ends if least <= at <= most]
                at = min(fits, key=lambda at: abs(at - mean)) if fits else min(max(mean, least), most)
                x.update(dict.fromkeys(run, at))


def _runs(chain: Sequence[int], rooms: Sequence[tuple[float, float]]) -> list[tuple[list[int], float, float]]:
    """The chain in as few runs as can be, each with the room that all of its things have."""
    runs: list[tuple[list[int], float, float]] = []
    for v, (least, most) in zip(chain, rooms, strict=True):
        if runs and max(runs[-1][1], least) <= min(runs[-1][2], most):
            run, low, high = runs[-1]
            runs[-1] = ([*run, v], max(low, least), min(high, most))
        else:
            runs.append(([v], least, most))
    return runs


def _wishes(pulls: Sequence[Pull]) -> Wishes:
    """For each thing: beside what it wants to stand, how far from it, how much."""
    wishes: Wishes = {}
    for pull in pulls:
        shift = pull.high_shift - pull.low_shift
        wishes.setdefault(pull.high, []).append((pull.low, -shift, pull.weight))
        wishes.setdefault(pull.low, []).append((pull.high, shift, pull.weight))
    return wishes


def _relax(layers: Sequence[Sequence[int]], gaps: Gaps, wishes: Wishes, x: dict[int, float]) -> None:
    for turn in range(_ROUNDS):
        moved = 0.0
        for layer in layers if turn % 2 == 0 else reversed(layers):
            for v, new in zip(layer, _layer(layer, gaps, wishes, x), strict=True):
                moved = max(moved, abs(new - x[v]))
                x[v] = new
        if moved < _STILL:
            break


def _offsets(layer: Sequence[int], gaps: Gaps) -> list[float]:
    """How far each thing stands from the first one when all stand as near as they may."""
    return list(accumulate((gaps[pair] for pair in pairwise(layer)), initial=0.0))


def _layer(layer: Sequence[int], gaps: Gaps, wishes: Wishes, x: Mapping[int, float]) -> list[float]:
    """The best places on one layer: a block of colliding things stands at the weighted mean of their wishes."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    offsets = _offsets(layer, gaps)
    for v, offset in zip(layer, offsets, strict=True):
        weight = sum(w for _, _, w in wishes.get(v, ()))
        wish = sum((x[u] + s) * w for u, s, w in wishes[v]) / weight if weight else x[v]
        block = (wish - offset, weight or 0.01, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, heavy, n = blocks.pop()
            total = heavy + block[1]
            block = ((mean * heavy + block[0] * block[1]) / total, total, n + block[2])
        blocks.append(block)
    places = [mean for mean, _, n in blocks for _ in range(n)]
    return [p + o for p, o in zip(places, offsets, strict=True)]
