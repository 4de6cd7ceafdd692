"""The picture of the architecture: the files that a request passes, and those that a report passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from stead.lifecycle.diagram.style import STYLE

WIDTH, LINE, COLUMN, ROW, LEFT, TOP = 236, 15, 336, 118, 64, 20


@dataclass(frozen=True)
class Box:
    """A place that the paths pass: its name, and the files below `src/stead` that are at work there."""

    column: int
    row: int
    name: str
    files: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        """Its left border."""
        return LEFT + COLUMN * self.column

    @property
    def middle(self) -> int:
        """Half-way from its left to its right border."""
        return self.left + WIDTH // 2

    @property
    def top(self) -> int:
        """Its upper border."""
        return TOP + ROW * self.row

    @property
    def bottom(self) -> int:
        """Its lower border."""
        return self.top + 34 + LINE * len(self.files)


CALLER = Box(0, 0, "CLI, console, SDK", ("cli/noun.py", "client/client.py"))
API = Box(0, 1, "HTTP interface", ("api/resources.py",))
APPLICATION = Box(0, 2, "application", ("application/commands.py", "access/authorization.py"))
ADMISSION = Box(0, 3, "admission", ("controller/admission/admission.py",))
FEED = Box(0, 4, "event streams", ("application/journal_feed.py",))
BUS = Box(1, 2, "NATS JetStream", ("bus/publisher.py", "bus/consumer.py"))
DISPATCH = Box(1, 3, "dispatch", ("controller/dispatch/slots.py", "controller/dispatch/publisher.py"))
EXECUTION = Box(1, 4, "execution", ("controller/execution/executor.py", "lifecycle/decide/__init__.py"))
DATABASE = Box(1, 5, "PostgreSQL", ("store/transitions.py", "store/sql/functions/commit.sql"))
PROVIDER = Box(2, 0, "provider")
DRIVER = Box(2, 1, "driver", ("drivers/base.py",))
AGENT = Box(2, 2, "agent", ("agent/lane_worker.py", "agent/order_work.py"))
OBSERVATION = Box(2, 3, "observation", ("controller/observation/listener.py",))
CUSTODY = Box(2, 4, "custody", ("controller/dispatch/custody.py",))
NUMBERING = Box(2, 5, "numbering", ("controller/reconcilers/journal_numbering.py",))

BOXES = (
    *(CALLER, API, APPLICATION, ADMISSION, FEED, BUS, DISPATCH, EXECUTION, DATABASE),
    *(PROVIDER, DRIVER, AGENT, OBSERVATION, CUSTODY, NUMBERING),
)

REQUEST, REPORT = "user", "agent"
"""The colours of the two paths."""

MARGIN = 22
"""How far beside a column a line passes."""


def down(source: Box, target: Box, shift: int = 0) -> str:
    """A line between boxes of one column."""
    ends = (source.bottom, target.top - 3) if target.row > source.row else (source.top, target.bottom + 3)
    return f"M{source.middle + shift} {ends[0]}V{ends[1]}"


def across(source: Box, target: Box, shift: int = 0) -> str:
    """A line between boxes of one row."""
    start, end = _sides(source, target)
    return f"M{start} {source.top + 28 + shift}H{end}"


def around(source: Box, target: Box, shift: int = 0, *, leaves: int = 17, arrives: int = 36) -> str:
    """A line between the sides of boxes in neighbouring columns; `leaves` and `arrives` are below their tops."""
    start, end = _sides(source, target)
    return f"M{start} {source.top + leaves}H{(start + end) // 2 + shift}V{target.top + arrives}H{end}"


def _sides(source: Box, target: Box) -> tuple[int, int]:
    """Where a line from a box to one of another column begins and ends."""
    if target.column > source.column:
        return source.left + WIDTH, target.left - 3
    return source.left, target.left + WIDTH + 3


ARROWS = (
    ("1", REQUEST, down(CALLER, API)),
    ("2", REQUEST, down(API, APPLICATION)),
    ("3", REQUEST, down(APPLICATION, ADMISSION)),
    ("4", REQUEST, around(ADMISSION, EXECUTION, 14, arrives=22)),
    ("5", REQUEST, down(EXECUTION, DATABASE, -30)),
    ("6", REQUEST, down(EXECUTION, DISPATCH)),
    ("7", REQUEST, down(DISPATCH, BUS)),
    ("8", REQUEST, across(BUS, AGENT, -14)),
    ("9", REQUEST, down(AGENT, DRIVER, -30)),
    ("10", REQUEST, down(DRIVER, PROVIDER, -30)),
    ("a", REPORT, down(PROVIDER, DRIVER, 30)),
    ("b", REPORT, down(DRIVER, AGENT, 30)),
    ("c", REPORT, across(AGENT, BUS, 14)),
    ("d", REPORT, around(BUS, OBSERVATION, 16, leaves=56, arrives=17)),
    ("e", REPORT, around(OBSERVATION, EXECUTION, -6, leaves=36)),
    ("f", REPORT, down(EXECUTION, DATABASE, 30)),
    ("g", REPORT, across(NUMBERING, DATABASE)),
    ("h", REPORT, around(DATABASE, FEED, -20)),
    ("i", REPORT, f"M{FEED.left} {FEED.top + 28}H{FEED.left - MARGIN}V{CALLER.top + 28}H{CALLER.left - 3}"),
)
"""The steps of the two paths, as the page names them."""

RIGHT = AGENT.left + WIDTH
TAKE = f"M{RIGHT} {AGENT.top + 28}H{RIGHT + MARGIN}V{CUSTODY.top + 28}H{RIGHT + 3}"
"""The agent takes custody of an order before it calls the provider, and renews it while it works."""

TITLE = "The path of a request and the path of a report"


def picture() -> str:
    """As SVG."""
    width, height = LEFT * 2 + COLUMN * 2 + WIDTH, TOP * 2 + DATABASE.bottom - TOP
    markers = (
        f'<marker id="{kind}" class="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><path d="M0 0 8 4 0 8z"/></marker>'
        for kind in (REQUEST, REPORT)
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="title">',
        f'<title id="title">{TITLE}</title>',
        f"<style>{STYLE}</style>",
        f"<defs>{''.join(markers)}</defs>",
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *(line for box in BOXES for line in _box(box)),
        *(line for number, kind, path in ARROWS for line in _arrow(number, kind, path)),
        *_arrow("8a", REQUEST, TAKE),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box) -> Iterator[str]:
    kind = "final" if box in (CALLER, PROVIDER, BUS, DATABASE) else "stable"
    size = f'width="{WIDTH}" height="{box.bottom - box.top}"'
    yield f'<g class="state {kind}"><rect x="{box.left}" y="{box.top}" {size} rx="6"/>'
    yield f'<text x="{box.middle}" y="{box.top + 21}">{escape(box.name)}</text>'
    for n, file in enumerate(box.files, 1):
        yield f'<text class="small" x="{box.middle}" y="{box.top + 21 + LINE * n}">{escape(file)}</text>'
    yield "</g>"


def _arrow(number: str, kind: str, path: str) -> Iterator[str]:
    yield f'<path class="arrow {kind}" d="{path}" marker-end="url(#{kind})"/>'
    x, y = _half_way(path)
    yield f'<g class="label"><rect x="{x - 9}" y="{y - 8}" width="18" height="16"/>'
    yield f'<text class="{kind}" x="{x}" y="{y + 4}">{number}</text></g>'


def _half_way(path: str) -> tuple[int, int]:
    """The middle of the longest part of a line."""
    start, *rest = path[1:].replace("H", " H").replace("V", " V").split(" ")
    x, y = int(start), int(rest.pop(0))
    parts = []
    for word in rest:
        to = (int(word[1:]), y) if word[0] == "H" else (x, int(word[1:]))
        parts.append((abs(to[0] - x) + abs(to[1] - y), ((to[0] + x) // 2, (to[1] + y) // 2)))
        x, y = to
    return max(parts)[1]
