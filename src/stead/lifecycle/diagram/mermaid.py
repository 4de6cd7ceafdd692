"""A lifecycle as Mermaid text, for pages that draw it themselves."""

from __future__ import annotations

from stead.lifecycle.diagram.picture import Arrow, Picture
from stead.lifecycle.rows import StateClass

_CLASSES = {
    StateClass.STABLE: "fill:#2d865022,stroke:#2d8650,stroke-width:2px",
    StateClass.TRANSITIONAL: "fill:#bf841022,stroke:#bf8410,stroke-width:2px,stroke-dasharray:6 4",
    StateClass.FINAL: "fill:#69758622,stroke:#697586,stroke-width:4px",
    StateClass.ABSENT: "fill:none,stroke:#98a2b0,stroke-width:2px,stroke-dasharray:2 4",
}
_CROWD = "fill:none,stroke:#98a2b0,stroke-dasharray:3 3"


def mermaid(picture: Picture) -> str:
    """The picture as a Mermaid state diagram."""
    # Names are given beside short identifiers, since Mermaid has words and signs that an identifier may not be.
    names = [*(s.name for s in picture.states), *(c.name for c in picture.crowds)]
    ids = {name: f"s{i}" for i, name in enumerate(names)}
    lines = ["stateDiagram-v2", "    direction TB"]
    lines += [f"    classDef {cls} {_CLASSES[cls]}" for cls in picture.classes]
    if picture.crowds:
        lines.append(f"    classDef crowd {_CROWD}")
    lines += [f'    state "{_safe(name)}" as {ids[name]}' for name in names]
    lines.append(f"    [*] --> {ids[picture.states[0].name]}")
    lines += [f"    {ids[a.source]} --> {ids[a.target]} : {_label(a)}" for a in picture.arrows]
    for cls in picture.classes:
        lines.append(f"    class {','.join(ids[s.name] for s in picture.states if s.cls is cls)} {cls}")
    if picture.crowds:
        lines.append(f"    class {','.join(ids[c.name] for c in picture.crowds)} crowd")
    return "\n".join(lines) + "\n"


def _label(arrow: Arrow) -> str:
    return "<br>".join(_safe(str(word)) for word in arrow.words)


def _safe(text: str) -> str:
    """Text with nothing in it that Mermaid would take for its own; `#…;` is how it writes a sign by number."""
    return "".join(c if c.isalnum() or c in " ,.()_·-" else f"#{ord(c)};" for c in text)
