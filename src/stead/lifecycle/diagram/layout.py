"""A layered drawing of a graph: where boxes stand and how arrows run.

The classic way in four steps: layers (`layers`), order on each layer (`order`), places (`place`), and curves. What it
adds is that a label is a thing of its own: between two layers of boxes lies a layer of labels, and every arrow takes
part in the layout with as much room as its label needs. So no label ever lies on a box, on another label or on
somebody else's arrow.

Knows nothing of lifecycles; sizes come in, points go out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from stead.lifecycle.diagram.layers import assign
from stead.lifecycle.diagram.order import arrange
from stead.lifecycle.diagram.place import Pull, settle, straighten
from stead.lifecycle.diagram.shapes import Box, Layout, Line, Link, Placed, Point, Route

BETWEEN_BOXES = 34.0
BETWEEN_LABELS = 16.0
BETWEEN_LINES = 20.0
PORT = 16.0
"""The least distance of two arrows at the border of a box."""


@dataclass(slots=True)
class _Cell:
    """One thing on a layer: a box, a label, or where an arrow passes."""

    layer: int
    width: float
    height: float
    box: Box | None = None
    label: bool = False
    right: float = 0.0
    highs: list[int] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)


def lay_out(boxes: Sequence[Box], links: Sequence[Link]) -> Layout:
    """The drawing; the first box is at the top."""
    cells: list[_Cell] = []
    bundles = _cut(boxes, links, cells)
    layers: list[list[int]] = [[] for _ in range(1 + max(c.layer for c in cells))]
    for i in _walk(cells):
        layers[cells[i].layer].append(i)
    above = {i: c.highs for i, c in enumerate(cells)}
    below = {i: c.lows for i, c in enumerate(cells)}
    layers = arrange([layer for layer in layers if layer], above, below)
    ports = _ports(cells, layers)
    gaps = _gaps(cells, layers)
    x = settle(layers, gaps, _pulls(cells, ports))
    straighten(layers, gaps, [_inner(b, chain, ports, x) for b in bundles for chain in b.chains if len(chain) > 3], x)
    left = min(x[i] - c.width / 2 for i, c in enumerate(cells))
    right = max(x[i] + c.width / 2 + c.right for i, c in enumerate(cells))
    x = {i: at - left for i, at in x.items()}
    bands = _bands(cells, layers, x, ports)
    placed = tuple(Placed(c.box, Point(x[i], sum(bands[c.layer]) / 2), c.width) for i, c in enumerate(cells) if c.box)
    routes = tuple(_route(bundle, cells, x, ports, bands) for bundle in bundles)
    return Layout(right - left, max(bottom for _, bottom in bands.values()), placed, routes)


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Links that run together: the cells each passes from source to target, and where they meet or part."""

    links: tuple[int, ...]
    chains: tuple[tuple[int, ...], ...]
    joint: int | None
    meets: bool


def _cut(boxes: Sequence[Box], links: Sequence[Link], cells: list[_Cell]) -> list[_Bundle]:
    """Fill the cells with boxes, labels and passing arrows."""
    layers = assign([b.name for b in boxes], links)
    index = {b.name: i for i, b in enumerate(boxes)}
    cells.extend(_Cell(2 * layers[b.name], b.width, b.height, box=b, right=b.right) for b in boxes)
    crowd = [0.0] * (2 * max(layers.values()) + 1)

    def add(layer: int, link: Link | None = None) -> int:
        cells.append(_Cell(layer, link.width, link.height, label=True) if link else _Cell(layer, 0.0, 0.0))
        crowd[layer] += cells[-1].width + BETWEEN_LABELS
        return len(cells) - 1

    bundles = []
    # Short arrows have one place for their label; long ones take the place with the most room.
    for ns in sorted(_together(links, layers), key=lambda ns: max(abs(_span(links[n], layers)) for n in ns)):
        step = 1 if layers[links[ns[0]].source] < layers[links[ns[0]].target] else -1
        meets = links[ns[0]].target == links[ns[-1]].target
        joint = None
        if len(ns) > 1:
            end = links[ns[0]].target if meets else links[ns[0]].source
            joint = add(2 * layers[end] + (-step if meets else step), links[ns[0]])
        chains = []
        for n in ns:
            source, target = links[n].source, links[n].target
            passed = range(2 * layers[source] + step, 2 * layers[target], step)
            if joint is None:
                label = min(passed[::2], key=lambda layer: crowd[layer])
                middle = [add(layer, links[n] if layer == label else None) for layer in passed]
            elif meets:
                middle = [*(add(layer) for layer in passed[:-1]), joint]
            else:
                middle = [joint, *(add(layer) for layer in passed[1:])]
            chains.append((index[source], *middle, index[target]))
        bundles.append(_Bundle(tuple(ns), tuple(chains), joint, meets))
        for here, there in dict.fromkeys(pair for chain in chains for pair in pairwise(chain)):
            high, low = (here, there) if step > 0 else (there, here)
            cells[high].lows.append(low)
            cells[low].highs.append(high)
    for cell in cells[: len(boxes)]:
        cell.width = max(cell.width, PORT * (1 + max(len(cell.highs), len(cell.lows))))
    return bundles


def _span(link: Link, layers: Mapping[str, int]) -> int:
    return layers[link.target] - layers[link.source]


def _together(links: Sequence[Link], layers: Mapping[str, int]) -> list[list[int]]:
    """Which links run together: those that say the same and meet, or part, on the same side of the same box."""
    groups: dict[tuple[str, str, bool, str], list[int]] = {}
    for n, link in enumerate(links):
        if link.says:
            down = _span(link, layers) > 0
            groups.setdefault(("in", link.target, down, link.says), []).append(n)
            groups.setdefault(("out", link.source, down, link.says), []).append(n)
    free = dict.fromkeys(range(len(links)))
    together: list[list[int]] = []
    while free:
        largest = max(([n for n in ns if n in free] for ns in groups.values()), key=len, default=[])
        together.append(largest if len(largest) > 1 else [next(iter(free))])
        for n in together[-1]:
            del free[n]
    return together


def _walk(cells: Sequence[_Cell]) -> list[int]:
    """The cells as a depth-first walk meets them, so that what belongs together begins side by side."""
    met: dict[int, None] = {}
    stack = list(range(len(cells)))[::-1]
    while stack:
        i = stack.pop()
        if i not in met:
            met[i] = None
            stack.extend(reversed([*cells[i].highs, *cells[i].lows]))
    return list(met)


def _ports(cells: Sequence[_Cell], layers: Sequence[Sequence[int]]) -> dict[tuple[int, int], float]:
    """Where, left or right of a cell's centre, the piece that joins it to another cell touches it."""
    place = {v: n for layer in layers for n, v in enumerate(layer)}
    ports: dict[tuple[int, int], float] = {}
    for i, cell in enumerate(cells):
        for side in (cell.highs, cell.lows):
            step = min(cell.width / (len(side) + 1), 2 * PORT) if cell.box else 0.0
            for n, other in enumerate(sorted(side, key=lambda v: place[v])):
                ports[i, other] = step * (n - (len(side) - 1) / 2)
    return ports


def _gaps(cells: Sequence[_Cell], layers: Sequence[Sequence[int]]) -> dict[tuple[int, int], float]:
    gaps: dict[tuple[int, int], float] = {}
    for layer in layers:
        for a, b in pairwise(layer):
            left, right = cells[a], cells[b]
            if left.box and right.box:
                free = BETWEEN_BOXES
            elif left.box or right.box or left.label or right.label:
                free = BETWEEN_LABELS
            else:
                free = BETWEEN_LINES
            gaps[a, b] = left.width / 2 + left.right + free + right.width / 2
    return gaps


def _pulls(cells: Sequence[_Cell], ports: Mapping[tuple[int, int], float]) -> list[Pull]:
    pulls = []
    for i, cell in enumerate(cells):
        for low in cell.lows:
            ends = (cell.box is not None) + (cells[low].box is not None)
            pulls.append(Pull(i, low, ports[i, low], ports[low, i], (8.0, 2.0, 1.0)[ends]))
    return pulls


def _inner(
    bundle: _Bundle, chain: Sequence[int], ports: Mapping[tuple[int, int], float], x: Mapping[int, float]
) -> tuple[float, Sequence[int], float]:
    """What an arrow passes on its own, and where it comes from and goes to."""
    first, last = 1, len(chain) - 1
    if bundle.joint is not None:
        first, last = (1, last - 1) if bundle.meets else (2, last)
    start, end = chain[first - 1], chain[last]
    return (
        x[start] + ports[start, chain[first]],
        chain[first:last],
        x[end] + ports[end, chain[last - 1]],
    )


def _bands(
    cells: Sequence[_Cell],
    layers: Sequence[Sequence[int]],
    x: Mapping[int, float],
    ports: Mapping[tuple[int, int], float],
) -> dict[int, tuple[float, float]]:
    """Top and bottom of each layer; the farther arrows go sideways between two layers, the more room they have."""
    bands: dict[int, tuple[float, float]] = {}
    y = 0.0
    for layer in layers:
        if bands:
            shift = max(
                (abs(x[u] + ports[u, v] - x[v] - ports[v, u]) for v in layer for u in cells[v].highs), default=0.0
            )
            y += min(max(16.0, 0.22 * shift), 64.0)
        height = max(cells[v].height for v in layer)
        bands[cells[layer[0]].layer] = (y, y + height)
        y += height
    return bands


def _route(
    bundle: _Bundle,
    cells: Sequence[_Cell],
    x: Mapping[int, float],
    ports: Mapping[tuple[int, int], float],
    bands: Mapping[int, tuple[float, float]],
) -> Route:
    def line(passed: Sequence[int], *, head: bool, whole: bool = False) -> Line:
        down = cells[passed[0]].layer < cells[passed[-1]].layer
        pieces = []
        for n, v in enumerate(passed):
            cell, (top, bottom) = cells[v], bands[cells[v].layer]
            enters, leaves = Point(x[v], top if down else bottom), Point(x[v], bottom if down else top)
            if cell.box:
                other = passed[1] if n == 0 else passed[n - 1]
                low = down == (n == 0)
                at = x[v] + ports[v, other]
                border = Point(at, (top + bottom) / 2 + (cell.height if low else -cell.height) / 2)
                # A box may be lower than its layer; beside the others of the layer the arrow stays straight.
                edge = Point(at, bottom if low else top)
                enters, leaves = (border, edge) if n == 0 else (edge, border)
            elif not whole and n == len(passed) - 1:
                leaves = enters
            elif not whole and n == 0:
                enters = leaves
            pieces.append((enters, leaves))
        return Line(tuple(pieces), head)

    label = next(v for v in bundle.chains[0] if cells[v].label)
    middle = Point(x[label], sum(bands[cells[label].layer]) / 2)
    if bundle.joint is None:
        return Route(bundle.links, (line(bundle.chains[0], head=True),), middle)
    if bundle.meets:
        trunk = line(bundle.chains[0][-2:], head=True, whole=True)
        return Route(bundle.links, (*(line(chain[:-1], head=False) for chain in bundle.chains), trunk), middle)
    trunk = line(bundle.chains[0][:2], head=False, whole=True)
    return Route(bundle.links, (trunk, *(line(chain[1:], head=True) for chain in bundle.chains)), middle)
