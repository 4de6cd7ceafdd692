"""In which order things stand on their layer, so that few arrows cross.

Every arrow is cut into pieces that join neighbouring layers. Each layer is then sorted by where its neighbours stand
(the barycentre), down and up again several times, and neighbours that cross less the other way round are swapped. The
best order seen is kept.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

type Layers = list[list[int]]
type Neighbours = Mapping[int, Sequence[int]]

_SWEEPS = 12


def arrange(start: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """The layers, each in an order with few crossings; `above` and `below` name what each thing is joined to."""
    best, fewest = start, crossings(start, below)
    for first in (start, [layer[::-1] for layer in start]):
        for down in (True, False):
            layers = [list(layer) for layer in first]
            for sweep in range(_SWEEPS):
                _sweep(layers, above, below, down=(sweep % 2 == 0) is down, late=sweep % 4 >= 2)
                _swap(layers, above, below)
                count = crossings(layers, below)
                if count < fewest:
                    best, fewest = [list(layer) for layer in layers], count
    return best


def crossings(layers: Layers, below: Neighbours) -> int:
    """How many pairs of pieces cross."""
    total = 0
    for layer, under in pairwise(layers):
        place = {v: i for i, v in enumerate(under)}
        ends = [end for v in layer for end in sorted(place[u] for u in below[v])]
        seen: list[int] = []
        for end in ends:
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return total


def _sweep(layers: Layers, above: Neighbours, below: Neighbours, *, down: bool, late: bool) -> None:
    fixed = above if down else below
    indices = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
    for i in indices:
        place = {v: n for n, v in enumerate(layers[i - 1 if down else i + 1])}
        layer = layers[i]
        wish = {v: sum(place[u] for u in fixed[v]) / len(fixed[v]) if fixed[v] else None for v in layer}
        # What has no neighbour there keeps its place; the others share the places that are left.
        movable = [v for v in (reversed(layer) if late else layer) if wish[v] is not None]
        movable.sort(key=lambda v: wish[v] or 0.0)
        turn = iter(movable)
        layers[i] = [v if wish[v] is None else next(turn) for v in layer]


def _swap(layers: Layers, above: Neighbours, below: Neighbours) -> None:
    """Swap neighbours as long as that undoes a crossing."""
    places = [{v: n for n, v in enumerate(layer)} for layer in layers]
    better = True
    while better:
        better = False
        for i, layer in enumerate(layers):
            for n in range(len(layer) - 1):
                left, right = layer[n], layer[n + 1]
                gain = 0
                if i > 0:
                    gain += _gain(above[left], above[right], places[i - 1])
                if i < len(layers) - 1:
                    gain += _gain(below[left], below[right], places[i + 1])
                if gain > 0:
                    layer[n], layer[n + 1] = right, left
                    places[i][left], places[i][right] = n + 1, n
                    better = True


def _gain(left: Sequence[int], right: Sequence[int], place: Mapping[int, int]) -> int:
    """How many crossings fewer there are when left and right change places."""
    return sum((place[a] > place[b]) - (place[a] < place[b]) for a in left for b in right)
