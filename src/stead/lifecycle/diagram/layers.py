"""Which layer each state of a drawing stands on.

A lifecycle goes round in circles, so some arrows must point up. Which ones is the choice that makes a layered drawing
good or bad: given an order of the states, every arrow against it points up, and each state stands as high as the
arrows into it allow. The order is found by trying: from several depth-first walks, one state at a time is moved to
wherever the arrows get shorter, fewer point up and no layer is crowded. A lifecycle has some dozen states, so this
takes a fraction of a second (of one with more, the best walk is taken as it is); and nothing is drawn by lot, so the
same lifecycle gives the same layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stead.lifecycle.diagram.shapes import Link

_UPWARD = 2.0
"""What an arrow that points up costs, in layers."""
_CROWD = 5
"""So many boxes may stand side by side before it costs."""
_ROOM = 900.0
"""So wide may the labels between two layers be, together, before it costs."""
_SMALL = 48
"""Up to so many nodes a better order is looked for."""
_PASSES = 6


def assign(nodes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """The layer of each node, the first one's being the topmost; no link stays within a layer."""
    starts = [list(nodes), *(_walk(nodes, links, turn) for turn in (False, True))]
    if len(nodes) <= _SMALL:
        starts = [_improve(order, links) for order in starts]
    best = min(starts, key=lambda order: _cost(order, links))
    return _layers(best, links)


def _walk(nodes: Sequence[str], links: Iterable[Link], turn: bool) -> list[str]:
    """The nodes in the order in which a depth-first walk from the first one leaves them, last one first."""
    after: dict[str, list[str]] = {n: [] for n in nodes}
    for link in links:
        after[link.source].append(link.target)
    left: list[str] = []
    entered: set[str] = set()
    for node in nodes:
        stack = [(node, iter(after[node][:: -1 if turn else 1]))] if node not in entered else []
        entered.add(node)
        while stack:
            here, rest = stack[-1]
            target = next((t for t in rest if t not in entered), None)
            if target is None:
                left.append(here)
                stack.pop()
            else:
                entered.add(target)
                stack.append((target, iter(after[target][:: -1 if turn else 1])))
    # What no walk from the first one reaches comes after all that one does.
    reached = left.index(nodes[0]) + 1
    return left[:reached][::-1] + left[reached:][::-1]


def _improve(order: list[str], links: Sequence[Link]) -> list[str]:
    known: dict[tuple[str, ...], float] = {}  # two nodes that change places are met from both sides, and every pass

    def cost_of(tried: list[str]) -> float:
        key = tuple(tried)
        if key not in known:
            known[key] = _cost(tried, links)
        return known[key]

    cost = cost_of(order)
    for _ in range(_PASSES):
        before = cost
        for node in order[1:]:
            rest = [n for n in order if n != node]
            tries = ([*rest[:i], node, *rest[i:]] for i in range(1, len(order)))
            found = min(tries, key=cost_of)
            if (cheaper := cost_of(found)) < cost:
                order, cost = found, cheaper
        if cost == before:
            break
    return order


def _cost(order: Sequence[str], links: Sequence[Link]) -> float:
    layers = _layers(order, links)
    cost = 0.0
    labels: dict[tuple[int, str, str], float] = {}
    for link in links:
        span = layers[link.target] - layers[link.source]
        cost += link.weight * (span if span > 0 else _UPWARD - span)
        if abs(span) == 1:
            labels[min(layers[link.source], layers[link.target]), link.target, link.says] = link.width
    depth = max(layers.values()) + 1
    boxes, wide = [0] * depth, [0.0] * depth
    for layer in layers.values():
        boxes[layer] += 1
    for (layer, _, _), width in labels.items():
        wide[layer] += width
    cost += sum((n - _CROWD) ** 2 for n in boxes if n > _CROWD)
    return cost + sum(((w - _ROOM) / 60) ** 2 for w in wide if w > _ROOM)


def _layers(order: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Each node as high as the order allows, then lowered where most of its arrows get shorter by it."""
    place = {n: i for i, n in enumerate(order)}
    above: dict[str, list[str]] = {n: [] for n in order}
    below: dict[str, list[str]] = {n: [] for n in order}
    for link in links:
        high, low = link.source, link.target
        if place[high] > place[low]:
            high, low = low, high
        above[low].append(high)
        below[high].append(low)
    layers: dict[str, int] = {}
    for node in order:
        layers[node] = max([layers[n] for n in above[node]]) + 1 if above[node] else int(node != order[0])
    for node in reversed(order[1:]):
        if below[node] and len(below[node]) > len(above[node]):
            layers[node] = max(layers[node], min([layers[n] for n in below[node]]) - 1)
    return layers
