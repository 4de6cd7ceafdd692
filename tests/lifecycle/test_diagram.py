"""Pictures: they show what the definition says, nothing lies on anything else, and they stay the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.catalog import KINDS
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.diagram import Format, render
from stead.lifecycle.diagram.layout import lay_out
from stead.lifecycle.diagram.order import arrange, crossings
from stead.lifecycle.diagram.picture import MANY, Crowd, picture
from stead.lifecycle.diagram.place import Pull, settle
from stead.lifecycle.diagram.shapes import Box, Layout, Link, Point
from stead.lifecycle.diagram.svg import sizes
from stead.lifecycle.rows import (
    LEAVE,
    Action,
    Actor,
    StateClass,
    Transition,
    Trigger,
    absent,
    final,
    stable,
    transitional,
)

LAMP = Lifecycle(
    kind="lamp",
    description="A lamp <on> a desk & its switch.",
    states=(
        absent("None", "There is no lamp."),
        transitional("Mounting", "It is being screwed in.", 90),
        stable("Off", "It is dark."),
        stable("On", "It shines."),
        transitional("Dimming", "It is being dimmed.", 3600),
        stable("Dim", "It glows."),
        stable("Lost", "Nobody has seen it.", observed_as=""),
        final("Broken", 'It is "broken" for good.', observed_as=""),
    ),
    actions=(
        Action(
            "mount",
            "Screw it in.",
            ("None",),
            ("Mounting",),
            "Off",
            on_failure="Broken",
            on_timeout="Lost",
            rollback=LEAVE,
        ),
        Action(
            "dim", "Dim it.", ("On",), ("Dimming",), "Dim", on_failure="Broken", on_timeout="Broken", rollback=LEAVE
        ),
    ),
    drift_states=("Off", "On", "Dim"),
    transitions=(
        Transition("Off", Trigger.REQUEST, "switch", Actor.USER, "On"),
        Transition("Off", Trigger.REQUEST, "dim", Actor.USER, "Dimming", forced=True),
    ),
)


def arrows(lifecycle: Lifecycle, *, detail: bool = False) -> dict[tuple[str, str], str]:
    return {(a.source, a.target): "; ".join(map(str, a.words)) for a in picture(lifecycle, detail=detail).arrows}


# What is drawn


def test_by_default_what_every_moving_state_has_anyway_is_left_out() -> None:
    assert arrows(LAMP) == {
        ("None", "Mounting"): "mount · user",
        ("Mounting", "Off"): "succeeded · agent",
        ("Mounting", "Lost"): "timed_out · clock",  # nothing else leads there
        ("Mounting", "Broken"): "failed · agent",
        ("Off", "On"): "switch · user",
        ("On", "Dimming"): "dim · user",
        ("Dimming", "Dim"): "succeeded · agent",
        ("Dimming", "Broken"): "failed · agent",
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("detail", [False, True])
def test_every_move_is_drawn_once_or_counted(kind: str, detail: bool) -> None:
    shown = picture(KINDS[kind], detail=detail)
    drawn = [move for arrow in shown.arrows for move in arrow.moves]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) <= set(KINDS[kind].table)
    assert len(drawn) + sum(n for _, n in shown.left_out) == len(KINDS[kind].table)
    assert drawn if not detail else not shown.left_out


@pytest.mark.parametrize("kind", KINDS)
def test_every_state_but_the_first_is_led_to(kind: str) -> None:
    lifecycle = KINDS[kind]
    reached = {arrow.target for arrow in picture(lifecycle).arrows}
    assert {s.name for s in lifecycle.states} - reached <= {lifecycle.initial.name}


def test_with_detail_all_moves_between_two_states_are_one_arrow_by_actor() -> None:
    drawn = arrows(LAMP, detail=True)
    assert drawn["Dimming", "Broken"].startswith("failed, sees absent")
    assert drawn["Dimming", "Broken"].endswith(" · agent; timed_out · clock")
    assert drawn["Off", "Dimming"] == "force dim · user"
    assert drawn["Off", "On"] == "switch · user; sees On · agent"


def test_an_admin_is_named_only_where_a_user_may_not() -> None:
    def by(*actors: Actor) -> str:
        mount = replace(LAMP.actions[0], actors=actors)
        return arrows(replace(LAMP, actions=(mount, LAMP.actions[1])))["None", "Mounting"]

    assert by(Actor.USER, Actor.ADMIN) == "mount · user"
    assert by(Actor.ADMIN) == "mount · admin"
    assert by(Actor.USER, Actor.CLOCK) == "mount · user, clock"


def test_a_word_that_leads_different_ways_says_what_it_is_about() -> None:
    other = replace(LAMP.actions[1], name="blind", target="Off")
    drawn = arrows(replace(LAMP, actions=(*LAMP.actions, other)))
    assert drawn["Dimming", "Dim"] == "dim succeeded · agent"
    assert drawn["Dimming", "Off"] == "blind succeeded · agent"
    assert drawn["Dimming", "Broken"] == "failed · agent"


def test_what_may_be_asked_in_many_states_comes_from_one_place() -> None:
    def crowds(starts: tuple[str, ...]) -> tuple[Crowd, ...]:
        dim = replace(LAMP.actions[1], source=starts)
        return picture(replace(LAMP, actions=(LAMP.actions[0], dim), transitions=())).crowds

    assert MANY == 4
    assert crowds(("Off", "On", "Dim")) == ()
    (four,) = crowds(("Off", "On", "Dim", "Lost"))
    assert four.name == "any of Off, On, Dim, Lost"
    (most,) = crowds(("Mounting", "Off", "On", "Dim", "Lost", "Broken"))
    assert most.name == "any state but None, Dimming"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", Format)
def test_every_state_stands_in_every_format(kind: str, format: Format) -> None:
    text = render(KINDS[kind], format)
    assert [state.name for state in KINDS[kind].states if state.name not in text] == []


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(ValueError, match="gif"):
        render(LAMP, "gif")


# Mermaid and Graphviz


BULB = Lifecycle(
    "bulb",
    'A "bulb".',
    (absent("None", "There is none."), transitional("Mounting", "It is screwed in.", 90), stable("On", "It shines.")),
    (Action("mount", "Screw it in.", ("None",), ("Mounting",), "On", on_failure="None", rollback=LEAVE),),
)


def test_mermaid() -> None:
    assert render(BULB, "mermaid").splitlines() == [
        "stateDiagram-v2",
        "    direction TB",
        "    classDef stable fill:#2d865022,stroke:#2d8650,stroke-width:2px",
        "    classDef transitional fill:#bf841022,stroke:#bf8410,stroke-width:2px,stroke-dasharray:6 4",
        "    classDef absent fill:none,stroke:#98a2b0,stroke-width:2px,stroke-dasharray:2 4",
        '    state "None" as s0',
        '    state "Mounting" as s1',
        '    state "On" as s2',
        "    [*] --> s0",
        "    s0 --> s1 : mount · user",
        "    s1 --> s0 : failed · agent",
        "    s1 --> s2 : succeeded · agent",
        "    class s2 stable",
        "    class s1 transitional",
        "    class s0 absent",
    ]


def test_mermaid_writes_signs_of_its_own_by_number() -> None:
    odd = replace(BULB, states=(absent('a:b;"c#', "Odd."), *BULB.states[1:]), actions=())
    assert 'state "a#58;b#59;#34;c#35;" as s0' in render(odd, "mermaid")


def test_dot() -> None:
    text = render(BULB, "dot")
    assert text.startswith('digraph "bulb" {\n  label="bulb: A \\"bulb\\"."')
    assert '"Mounting" [style="rounded,filled,dashed"' in text
    assert '"Mounting" -> "None" [label="failed · agent" color="#b9470e" fontcolor="#b9470e" penwidth=0.7]' in text
    assert text.endswith("}\n")


# SVG

NS = "{http://www.w3.org/2000/svg}"


def test_svg_tells_the_classes_apart_by_outline() -> None:
    root = ElementTree.fromstring(render(LAMP))
    shapes = {}
    for group in root.iter(f"{NS}g"):
        classes = (group.get("class") or "").split()
        if classes[:1] == ["state"]:
            rects = group.findall(f"{NS}rect")
            round_ = float(rects[0].attrib["rx"]) == float(rects[0].attrib["height"]) / 2
            shapes[StateClass(classes[1])] = (len(rects), round_)
    assert shapes == {
        StateClass.ABSENT: (1, False),
        StateClass.TRANSITIONAL: (1, True),
        StateClass.STABLE: (1, False),
        StateClass.FINAL: (2, False),
    }
    style = root.findtext(f"{NS}style") or ""
    assert ".transitional rect{stroke-dasharray:6 3.5}" in style
    assert ".absent rect{stroke-dasharray:1.5 3.5" in style


def test_svg_names_deadlines_actors_and_what_it_leaves_out() -> None:
    texts = ["".join(t.itertext()) for t in ElementTree.fromstring(render(LAMP)).iter(f"{NS}text")]
    assert {"within 90 s", "within 1 h", "mount · user", "user", "agent", "clock", "transitional"} <= set(texts)
    assert any(re.fullmatch(r"Not drawn: .*\d+ observed.*\.", text) for text in texts)


def test_svg_stands_on_its_own_in_light_and_dark() -> None:
    text = render(LAMP)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@media(prefers-color-scheme:dark){.page{" in style
    assert set(re.findall(r"(?:https?:|url\()[^\s\"')]*", text)) == {
        "http://www.w3.org/2000/svg",
        "url(#user",
        "url(#agent",
        "url(#clock",
    }


def test_svg_escapes_what_people_write() -> None:
    assert ElementTree.fromstring(render(LAMP)).findtext(f"{NS}desc") == LAMP.description


@pytest.mark.parametrize("format", Format)
def test_a_lifecycle_with_a_lone_state_can_be_drawn(format: Format) -> None:
    assert "None" in render(Lifecycle("x", "X.", LAMP.states[:1], ()), format)
    assert "Broken" in render(Lifecycle("x", "X.", LAMP.states, ()), format)


@pytest.mark.long
def test_the_same_lifecycle_gives_the_same_bytes_in_every_process() -> None:
    code = "from stead.catalog import KINDS; from stead.lifecycle.diagram import render\n"
    code += "print(*(render(kind, detail=detail) for kind in KINDS.values() for detail in (False, True)))"
    seen = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        seen.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout)
    assert len(seen) == 1


# Layout

NAMES = st.integers(min_value=1, max_value=9).map(lambda n: [f"n{i}" for i in range(n)])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Link]]:
    names = draw(NAMES)
    boxes = [
        Box(name, draw(st.sampled_from([60.0, 140.0])), 42.0, draw(st.sampled_from([0.0, 90.0]))) for name in names
    ]
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), unique=True, max_size=18))
    links = [
        Link(a, b, 80.0, draw(st.sampled_from([19.0, 34.0])), says=draw(st.sampled_from(["", "done", "failed"])))
        for a, b in pairs
        if a != b
    ]
    return boxes, links


type Rect = tuple[float, float, float, float]


def rectangles(layout: Layout, links: list[Link]) -> dict[str, Rect]:
    """Left, top, right, bottom of every box (with the room beside it) and every label."""
    found = {}
    for placed in layout.boxes:
        x, y, w, h = placed.at.x, placed.at.y, placed.width, placed.box.height
        found[placed.box.name] = (x - w / 2, y - h / 2, x + w / 2 + placed.box.right, y + h / 2)
    for n, route in enumerate(layout.routes):
        link = links[route.links[0]]
        x, y = route.label.x, route.label.y
        found[f"label {n}"] = (x - link.width / 2, y - link.height / 2, x + link.width / 2, y + link.height / 2)
    return found


def overlap(a: Rect, b: Rect) -> bool:
    return a[0] < b[2] - 0.01 and b[0] < a[2] - 0.01 and a[1] < b[3] - 0.01 and b[1] < a[3] - 0.01


def check_room(boxes: list[Box], links: list[Link]) -> None:
    layout = lay_out(boxes, links)
    rects = rectangles(layout, links)
    assert [(a, b) for a, b in combinations(rects, 2) if overlap(rects[a], rects[b])] == []
    assert all(x0 > -0.01 and y0 > -0.01 and x1 < layout.width + 0.01 for x0, y0, x1, _ in rects.values())
    for n, route in enumerate(layout.routes):
        others = {name: rect for name, rect in rects.items() if name != f"label {n}"}
        for line in route.lines:
            for start, end in line.pieces:  # straight ones pass beside things
                piece = (start.x - 1, min(start.y, end.y), start.x + 1, max(start.y, end.y))
                assert [name for name, rect in others.items() if overlap(piece, rect)] == []
            for (_, here), (there, _) in pairwise(line.pieces):  # curves run where there is nothing
                gap = (-1.0, min(here.y, there.y), layout.width + 1, max(here.y, there.y))
                assert gap[1] < gap[3]
                assert [name for name, rect in rects.items() if overlap(gap, rect)] == []


@given(graphs())
def test_nothing_lies_on_anything_else(graph: tuple[list[Box], list[Link]]) -> None:
    check_room(*graph)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("detail", [False, True])
def test_nothing_lies_on_anything_else_in_our_own_pictures(kind: str, detail: bool) -> None:
    check_room(*sizes(picture(KINDS[kind], detail=detail)))


@given(graphs())
def test_every_link_is_drawn_once_from_its_source_to_its_target(graph: tuple[list[Box], list[Link]]) -> None:
    boxes, links = graph
    layout = lay_out(boxes, links)
    borders = {p.box.name: (p.at.y - p.box.height / 2, p.at.y + p.box.height / 2) for p in layout.boxes}
    sides = {p.box.name: (p.at.x - p.width / 2, p.at.x + p.width / 2) for p in layout.boxes}

    def touched(point: Point, *, lower: bool) -> set[str]:
        """The box on whose border the point lies."""
        return {b for b in borders if abs(borders[b][lower] - point.y) < 0.01 and sides[b][0] < point.x < sides[b][1]}

    assert sorted(n for route in layout.routes for n in route.links) == list(range(len(links)))
    for route in layout.routes:
        own = [links[n] for n in route.links]
        down = borders[own[0].source] < borders[own[0].target]
        begins = {box for line in route.lines for box in touched(line.pieces[0][0], lower=down)}
        ends = {b for line in route.lines if line.head for b in touched(line.pieces[-1][1], lower=not down)}
        assert begins == {link.source for link in own}
        assert ends == {link.target for link in own}
        assert len({link.says for link in own}) == 1


def test_links_that_say_the_same_share_a_label_where_they_meet_or_part() -> None:
    boxes = [Box(name, 80, 42) for name in "abcd"]
    meet = [Link(s, "d", 60, 19, says="failed") for s in "abc"]
    part = [Link("a", t, 60, 19, says="failed") for t in "bcd"]
    assert [route.links for route in lay_out(boxes, meet).routes] == [(0, 1, 2)]
    assert [route.links for route in lay_out(boxes, part).routes] == [(0, 1, 2)]
    assert len(lay_out(boxes, [replace(link, says="") for link in meet]).routes) == 3


def test_the_first_box_is_on_top_and_a_chain_runs_straight_down() -> None:
    boxes = [Box(name, 80, 42) for name in "abc"]
    layout = lay_out(boxes, [Link("a", "b", 60, 19), Link("b", "c", 60, 19)])
    ys = [placed.at.y for placed in layout.boxes]
    assert ys == sorted(ys)
    assert len({round(placed.at.x, 1) for placed in layout.boxes}) == 1


def test_what_matters_more_points_down() -> None:
    def layers(weight: float) -> list[str]:
        boxes = [Box(name, 80, 42) for name in ("top", "a", "b")]
        links = [Link("b", "a", 60, 19, weight), Link("a", "b", 60, 19, 2.0)]
        layout = lay_out(boxes, [*links, Link("top", "a", 60, 19), Link("top", "b", 60, 19)])
        return [placed.box.name for placed in sorted(layout.boxes, key=lambda placed: placed.at.y)]

    assert layers(1.0) == ["top", "a", "b"]
    assert layers(3.0) == ["top", "b", "a"]


def test_crossings_are_counted_and_undone() -> None:
    above: dict[int, list[int]] = {0: [], 1: [], 2: [], 3: [1], 4: [0], 5: [2, 0]}
    below: dict[int, list[int]] = {0: [4, 5], 1: [3], 2: [5], 3: [], 4: [], 5: []}
    start = [[0, 1, 2], [3, 4, 5]]
    assert crossings(start, below) == 2
    assert crossings(arrange(start, above, below), below) == 0


def test_neighbours_keep_their_distance_and_else_stand_where_they_are_pulled() -> None:
    pulls = [Pull(0, 1, 0, 0, 1.0), Pull(0, 2, 0, 0, 1.0), Pull(0, 3, 30, 0, 1.0)]
    gaps = {(1, 2): 50.0, (2, 3): 50.0}
    x = settle([[0], [1, 2, 3]], gaps, pulls)
    assert x[2] - x[1] == pytest.approx(50, abs=0.1)
    assert x[3] - x[2] == pytest.approx(50, abs=0.1)
    alone = settle([[0], [1]], {}, [Pull(0, 1, 12.0, -8.0, 1.0)])
    assert alone[0] + 12 == pytest.approx(alone[1] - 8, abs=0.1)
