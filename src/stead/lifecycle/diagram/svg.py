"""A lifecycle as a picture for the eye: SVG that needs no program to make and none but a browser to show.

The class of a state is told by outline and fill, never by colour alone: settled states are solid boxes, moving ones
dashed pills with their deadline, final ones have a double border, absent ones a dotted one. An arrow has the colour
of its actor, whose name its label repeats. The picture brings its own background and follows the reader's light or
dark mode. The same lifecycle gives the same bytes.
"""

from __future__ import annotations

from html import escape

from stead.lifecycle.diagram.layout import lay_out
from stead.lifecycle.diagram.legend import legend
from stead.lifecycle.diagram.picture import Arrow, Crowd, Picture
from stead.lifecycle.diagram.shapes import Box, Line, Link, Placed, Point
from stead.lifecycle.diagram.style import STYLE
from stead.lifecycle.diagram.text import width, wrap
from stead.lifecycle.rows import DAY, HOUR, MINUTE, Actor, State, StateClass

MARGIN = 28.0
HEAD = 58.0
NAME, SMALL, LABEL = 14.0, 10.5, 11.5
LINE = 15.0
LOOP = 30.0
_SPANS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (1, "s"))


def svg(picture: Picture) -> str:
    """The picture as an SVG document."""
    loops = {a.source: a for a in picture.arrows if a.source == a.target}
    crowds = {c.name: c for c in picture.crowds}
    states = {s.name: s for s in picture.states}
    arrows = [a for a in picture.arrows if a.source != a.target]
    layout = lay_out(*sizes(picture))
    foot, foot_width, foot_height = legend(picture, MARGIN, HEAD + layout.height + 34, layout.width)
    wide = max(layout.width, foot_width, width(picture.says, 12) + width(picture.kind, 18, bold=True) + 20)
    shift = MARGIN + (wide - layout.width) / 2
    body = [_line(line, arrows[route.links[0]]) for route in layout.routes for line in route.lines]
    for placed in layout.boxes:
        name = placed.box.name
        if name in loops:
            body.append(_loop(placed, loops[name]))
        body.append(_crowd(placed, crowds[name]) if name in crowds else _state(placed, states[name]))
    body += [_label(route.label, arrows[route.links[0]]) for route in layout.routes]
    total = HEAD + layout.height + 34 + foot_height + 20
    return _document(picture, wide + 2 * MARGIN, total, shift, body, foot)


def sizes(picture: Picture) -> tuple[list[Box], list[Link]]:
    """The boxes and arrows of a picture, as large as they are drawn; a state's arrow to itself is part of its box."""
    loops = {a.source: a for a in picture.arrows if a.source == a.target}
    boxes = [_box(s, loops.get(s.name)) for s in picture.states] + [_crowd_box(c) for c in picture.crowds]
    return boxes, [_link(a) for a in picture.arrows if a.source != a.target]


def _document(p: Picture, wide: float, high: float, shift: float, body: list[str], foot: list[str]) -> str:
    w, h = _n(wide), _n(high)
    markers = "".join(
        f'<marker id="{a}" class="{a}" viewBox="0 0 10 10" refX="8.6" refY="5" markerWidth="9" markerHeight="9"'
        ' markerUnits="userSpaceOnUse" orient="auto"><path d="M0.5 1 9 5 0.5 9 2.6 5Z"/></marker>'
        for a in p.actors
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">The lifecycle of {escape(p.kind)}</title>',
        f'<desc id="desc">{escape(p.says)}</desc>',
        f"<style>{STYLE}</style>",
        f"<defs>{markers}</defs>",
        f'<rect class="page" x="0.5" y="0.5" width="{_n(wide - 1)}" height="{_n(high - 1)}" rx="12"/>',
        f'<text x="{_n(MARGIN)}" y="36"><tspan class="kind">{escape(p.kind)}</tspan>'
        f'<tspan class="says" dx="12">{escape(p.says)}</tspan></text>',
        f'<g transform="translate({_n(shift)} {_n(HEAD)})">',
        *body,
        "</g>",
        *foot,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def duration(seconds: int) -> str:
    """Seconds as people say them: `90 min`, `15 min`, `2 h`."""
    for unit, name in _SPANS:
        if seconds % unit == 0 and seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def _box(state: State, loop: Arrow | None) -> Box:
    wide = width(state.name, NAME, bold=True) + 34
    if state.cls is StateClass.TRANSITIONAL:
        wide = max(wide, width(_within(state), SMALL) + 40)
    beside = LOOP + _label_size(loop)[0] if loop else 0.0
    return Box(state.name, max(wide, 84.0), 42.0, beside)


def _crowd_box(crowd: Crowd) -> Box:
    lines = _crowd_lines(crowd)
    return Box(crowd.name, max(width(line, SMALL) for line in lines) + 22, 13.5 * len(lines) + 12)


def _crowd_lines(crowd: Crowd) -> tuple[str, ...]:
    return ("any state but" if crowd.but else "any of", *wrap(crowd.but or crowd.states, ", ", 30))


def _within(state: State) -> str:
    return f"within {duration(state.timeout)}" if state.timeout else ""


def _label_lines(arrow: Arrow) -> list[tuple[str, str, Actor]]:
    """The lines of a label: what is said, and, after the last line of it, by whom."""
    lines = []
    for word in arrow.words:
        said, actor = wrap(word.texts, ", ", 24), word.actors[0]
        who = f" · {', '.join(word.actors)}"
        lines += [(line, "", actor) for line in said[:-1]] + [(said[-1], who, actor)]
    return lines


def _link(arrow: Arrow) -> Link:
    weight = 3.0 if arrow.onward else 1.0 if arrow.aside else 1.5
    return Link(arrow.source, arrow.target, *_label_size(arrow), weight, " / ".join(map(str, arrow.words)))


def _label_size(arrow: Arrow) -> tuple[float, float]:
    lines = _label_lines(arrow)
    return max(width(said + who, LABEL) for said, who, _ in lines) + 8, LINE * len(lines) + 4


def _state(placed: Placed, state: State) -> str:
    x, y, w, h = placed.at.x, placed.at.y, placed.width, placed.box.height
    radius = h / 2 if state.cls is StateClass.TRANSITIONAL else 8
    shape = _rect(x - w / 2, y - h / 2, w, h, radius)
    if state.cls is StateClass.FINAL:
        shape += _rect(x - w / 2 + 3.5, y - h / 2 + 3.5, w - 7, h - 7, radius - 3)
    name = escape(state.name)
    within = _within(state)
    text = f'<text x="{_n(x)}" y="{_n(y + (-1 if within else 5))}">{name}</text>'
    if within:
        text += f'<text class="small" x="{_n(x)}" y="{_n(y + 13)}">{within}</text>'
    return f'<g class="state {state.cls}"><title>{name}: {escape(state.description)}</title>{shape}{text}</g>'


def _crowd(placed: Placed, crowd: Crowd) -> str:
    x, y, w, h = placed.at.x, placed.at.y, placed.width, placed.box.height
    text = "".join(
        f'<text x="{_n(x)}" y="{_n(y - h / 2 + 16 + 13.5 * i)}">{escape(line)}</text>'
        for i, line in enumerate(_crowd_lines(crowd))
    )
    return f'<g class="crowd">{_rect(x - w / 2, y - h / 2, w, h, 4)}{text}</g>'


def _rect(x: float, y: float, w: float, h: float, radius: float) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(radius)}"/>'


def _line(line: Line, arrow: Arrow) -> str:
    here = line.pieces[0][1]
    d = f"M{_p(line.pieces[0][0])}"
    if here != line.pieces[0][0]:
        d += f"L{_p(here)}"
    for start, end in line.pieces[1:]:
        half = (start.y - here.y) / 2
        if abs(start.x - here.x) < 0.5:
            d += f"L{_p(start)}"
        else:
            d += f"C{_n(here.x)} {_n(here.y + half)} {_n(start.x)} {_n(start.y - half)} {_p(start)}"
        if end != start:
            d += f"L{_p(end)}"
        here = end
    return _path(d, arrow, head=line.head)


def _loop(placed: Placed, arrow: Arrow) -> str:
    """An arrow from a state to itself: out of its right side and back, with the label beside it."""
    x, y = placed.at.x + placed.width / 2, placed.at.y
    d = f"M{_n(x)} {_n(y - 9)}C{_n(x + LOOP)} {_n(y - 20)} {_n(x + LOOP)} {_n(y + 20)} {_n(x)} {_n(y + 9)}"
    wide, _ = _label_size(arrow)
    return _path(d, arrow) + _label(Point(x + LOOP - 6 + wide / 2, y), arrow)


def _path(d: str, arrow: Arrow, *, head: bool = True) -> str:
    aside = " aside" if arrow.aside else ""
    marker = f' marker-end="url(#{arrow.actor})"' if head else ""
    return f'<path class="arrow {arrow.actor}{aside}" d="{d}"{marker}/>'


def _label(at: Point, arrow: Arrow) -> str:
    lines = _label_lines(arrow)
    w, h = _label_size(arrow)
    text = "".join(
        f'<text class="{actor}" x="{_n(at.x)}" y="{_n(at.y - h / 2 + 13 + LINE * i)}">{escape(said)}'
        + (f'<tspan class="who">{who}</tspan>' if who else "")
        + "</text>"
        for i, (said, who, actor) in enumerate(lines)
    )
    return f'<g class="label">{_rect(at.x - w / 2, at.y - h / 2, w, h, 5)}{text}</g>'


def _p(point: Point) -> str:
    return f"{_n(point.x)} {_n(point.y)}"


def _n(value: float) -> str:
    """A number with one decimal at most; adding zero takes the sign from a rounded nothing."""
    return f"{round(value, 1) + 0.0:g}"
