"""A lifecycle in the language of Graphviz, for whoever has it and wants to draw differently."""

from __future__ import annotations

from stead.lifecycle.diagram.picture import Arrow, Picture
from stead.lifecycle.diagram.style import actor_colour, state_colours
from stead.lifecycle.rows import State, StateClass

_SHAPES = {
    StateClass.STABLE: 'style="rounded,filled"',
    StateClass.TRANSITIONAL: 'style="rounded,filled,dashed"',
    StateClass.FINAL: 'style="rounded,filled" peripheries=2',
    StateClass.ABSENT: 'style="rounded,dotted"',
}


def dot(picture: Picture) -> str:
    """The picture as a Graphviz digraph."""
    lines = [
        f"digraph {_quoted(picture.kind)} {{",
        f"  label={_quoted(f'{picture.kind}: {picture.says}')} labelloc=t fontname=Helvetica",
        "  rankdir=TB nodesep=0.35 ranksep=0.45",
        "  node [shape=box fontname=Helvetica fontsize=12 penwidth=1.4]",
        "  edge [fontname=Helvetica fontsize=10 arrowsize=0.7]",
    ]
    lines += [_node(state) for state in picture.states]
    lines += [f'  {_quoted(c.name)} [shape=note style=dashed fontsize=10 color="#697586"]' for c in picture.crowds]
    lines += [_edge(arrow) for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _node(state: State) -> str:
    fill, stroke, text = state_colours(state.cls)
    colours = f'color="{stroke}" fillcolor="{fill}" fontcolor="{text}"'
    return f"  {_quoted(state.name)} [{_SHAPES[state.cls]} {colours} tooltip={_quoted(state.description)}]"


def _edge(arrow: Arrow) -> str:
    label = _quoted("\n".join(map(str, arrow.words)))
    colour = actor_colour(arrow.actor)
    ends = f"{_quoted(arrow.source)} -> {_quoted(arrow.target)}"
    thin = " penwidth=0.7" if arrow.aside else ""
    return f'  {ends} [label={label} color="{colour}" fontcolor="{colour}"{thin}]'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
