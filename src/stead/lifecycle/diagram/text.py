"""How wide text will be, told without a font.

Whoever looks at a drawing has some sans-serif font of his system; they differ by a few percent. The widths here are
those of a common one, rounded up a little, so that text fits its box everywhere.
"""

from __future__ import annotations

_NARROW = "ijl.,:;'|!"
_SLIM = "frt()[]/-· "
_WIDE = "mwMW@%"


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text of that size."""
    em = sum(_em(c) for c in text)
    return em * size * (1.08 if bold else 1.02)


def wrap(parts: tuple[str, ...], joiner: str, limit: int) -> tuple[str, ...]:
    """The parts joined into lines of at most so many letters; a part is never cut."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(joiner) + len(part) <= limit:
            lines[-1] += joiner + part
        else:
            if lines:
                lines[-1] += joiner.rstrip()
            lines.append(part)
    return tuple(lines)


def _em(letter: str) -> float:
    if letter in _NARROW:
        return 0.27
    if letter in _SLIM:
        return 0.36
    if letter in _WIDE:
        return 0.87
    if letter.isupper():
        return 0.68
    return 0.57
