"""Pictures of a lifecycle, drawn from its definition, so that picture and behaviour cannot part.

`render` is the whole face: Mermaid and Graphviz text for whoever draws by other means, and SVG made here, with no
program besides Python.
"""

from __future__ import annotations

from enum import StrEnum

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.diagram.dot import dot
from stead.lifecycle.diagram.mermaid import mermaid
from stead.lifecycle.diagram.picture import picture
from stead.lifecycle.diagram.svg import svg


class Format(StrEnum):
    """How a picture is written."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


_WRITERS = {Format.MERMAID: mermaid, Format.DOT: dot, Format.SVG: svg}


def render(lifecycle: Lifecycle, format: Format | str = Format.SVG, *, detail: bool = False) -> str:
    """The picture of a lifecycle; with `detail`, every single move is in it. `ValueError` for an unknown format."""
    return _WRITERS[Format(format)](picture(lifecycle, detail=detail))


__all__ = ["Format", "render"]
