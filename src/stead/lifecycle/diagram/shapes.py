"""What goes into a layout and what comes out of it: sizes of boxes and labels, and where they are to be drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A node and the room it takes; `right` is room beside it, for arrows that come back to it."""

    name: str
    width: float
    height: float
    right: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """An edge, the room of its label, and how much it matters that it is short and points down."""

    source: str
    target: str
    width: float
    height: float
    weight: float = 1.0
    says: str = ""
    """Links to the same target that say the same run together and share one label."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the drawing."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Placed:
    """A box on the drawing: its centre, its final size."""

    box: Box
    at: Point
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """A stretch of an arrow: the straight pieces it consists of (curves join them), and whether it has the head."""

    pieces: tuple[tuple[Point, Point], ...]
    head: bool


@dataclass(frozen=True, slots=True)
class Route:
    """An arrow on the drawing, or several that run together, and where the label stands."""

    links: tuple[int, ...]
    """Which of the links."""
    lines: tuple[Line, ...]
    label: Point


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole drawing, its corner at (0, 0)."""

    width: float
    height: float
    boxes: tuple[Placed, ...]
    routes: tuple[Route, ...]
