"""The picture of a change's way, from a request to its settled end."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stead.lifecycle.diagram.style import STYLE

PLACES = ("caller", "controller", "PostgreSQL", "lane (NATS)", "agent", "provider")
"""Whom it meets, from left to right."""

STEPS = (
    (0, 1, "asks for an action"),
    (1, 2, "admit: state, claim, operation, journal, orders, in one transaction"),
    (1, 0, "202 and the operation, or a refusal that says why"),
    (2, 1, "grant: room on the lane"),
    (1, 3, "carry: the order"),
    (3, 4, "the order"),
    (4, 1, "take: a higher fence, custody for some seconds"),
    (4, 5, "the call, with the order's token"),
    (5, 4, "its answer, or a look at what is there"),
    (4, 1, "report, under the fence"),
    (1, 2, "settle: state, journal, claim released, in one transaction"),
    (2, 0, "see: whoever follows the journal"),
)
"""From whom to whom, and what."""

WIDE, HIGH, LEFT, TOP = 158, 46, 80, 58


def picture() -> str:
    """As SVG."""
    width = LEFT * 2 + WIDE * (len(PLACES) - 1)
    height = TOP + HIGH * (len(STEPS) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' role="img" aria-labelledby="title desc">',
        '<title id="title">The way of a change</title>',
        f'<desc id="desc">{escape("; ".join(_told()))}.</desc>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" class="user" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *_lifelines(height),
        *_arrows(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _told() -> Iterator[str]:
    for source, target, what in STEPS:
        yield f"{PLACES[source]} to {PLACES[target]}: {what}"


def _lifelines(height: int) -> Iterator[str]:
    for place, name in enumerate(PLACES):
        x = LEFT + WIDE * place
        yield f'<line class="crowd says" x1="{x}" y1="44" x2="{x}" y2="{height - 16}" stroke="#8a94a3"/>'
        yield f'<g class="state stable"><rect x="{x - 60}" y="14" width="120" height="30" rx="6"/>'
        yield f'<text x="{x}" y="34">{escape(name)}</text></g>'


def _arrows() -> Iterator[str]:
    for row, (source, target, what) in enumerate(STEPS, 1):
        y = TOP + HIGH * row - 14
        x1, x2 = (LEFT + WIDE * place for place in (source, target))
        gap = 4 if x2 > x1 else -4
        middle, room = (x1 + x2) / 2, 6.2 * len(what)
        middle = max(middle, room / 2 + 12)
        yield f'<g class="label"><rect x="{middle - room / 2:.0f}" y="{y - 20}" width="{room:.0f}" height="16"/>'
        yield f'<text x="{middle:.0f}" y="{y - 8}">{escape(what)}</text></g>'
        yield f'<path class="arrow user" d="M{x1} {y}H{x2 - gap}" marker-end="url(#head)"/>'
