"""The foot of a drawing: what its outlines and colours mean, and how many moves it does not show."""

from __future__ import annotations

from collections.abc import Iterator

from stead.lifecycle.diagram.picture import Picture
from stead.lifecycle.diagram.text import width
from stead.lifecycle.rows import StateClass

ROW = 24.0


def legend(picture: Picture, left: float, top: float, room: float) -> tuple[list[str], float, float]:
    """The elements, and the width and height they take; entries flow into rows no wider than the room, or 420."""
    room = max(room, 420.0)
    out: list[str] = []
    x, y, widest = left, top, 0.0
    for draw, taken in [*_classes(picture), (None, 0.0), *_actors(picture)]:
        if draw is None or x + taken - left > room:
            x, y = left, y + (ROW if x > left else 0.0)
        if draw is not None:
            out.append(f'<g transform="translate({x:.1f} {y:.1f})">{draw}</g>')
            x += taken
            widest = max(widest, x - left)
    if picture.left_out:
        note = f"Not drawn: {', '.join(f'{n} {reason}' for reason, n in picture.left_out)}."
        y += ROW
        out.append(f'<text class="note" x="{left:.1f}" y="{y + 4:.1f}">{note}</text>')
        widest = max(widest, width(note, 11))
    return out, widest, y - top + 8


def _classes(picture: Picture) -> Iterator[tuple[str | None, float]]:
    for cls in picture.classes:
        radius = 8 if cls is StateClass.TRANSITIONAL else 4
        shape = f'<rect x="0" y="-8" width="28" height="16" rx="{radius}"/>'
        if cls is StateClass.FINAL:
            shape += '<rect x="3" y="-5" width="22" height="10" rx="2"/>'
        text = f'<text class="note" x="35" y="4">{cls}</text>'
        yield f'<g class="{cls}" style="stroke-width:1.2">{shape}</g>{text}', 35 + width(cls, 11) + 20


def _actors(picture: Picture) -> Iterator[tuple[str | None, float]]:
    for actor in picture.actors:
        line = f'<path class="arrow {actor}" d="M0 0H28" marker-end="url(#{actor})"/>'
        yield f'{line}<text class="note" x="35" y="4">{actor}</text>', 35 + width(actor, 11) + 20
