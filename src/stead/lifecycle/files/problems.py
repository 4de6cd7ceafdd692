"""What is wrong with a document, said so that a person finds the place and the word that was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

Path = tuple[str | int, ...]
"""Where in a document: keys and positions, from the outside in."""

SHOWN = 100
"""So many messages are enough for one sitting; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    path: Path
    message: str
    line: int | None = None
    """Where the path alone does not tell it."""
    word: str = ""
    """A word that is not known here, and those that are: one of them may have been meant."""
    known: Iterable[str] = ()


class DocumentError(ValueError):
    """A document that is no lifecycle; all that is wrong with it, at once."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("\n".join(self.messages))


def error(problems: Iterable[Problem], source: str, lines: Mapping[Path, int]) -> DocumentError:
    """The error that tells all problems, from the top of the document to its end."""
    placed = [(p.line or line_of(p.path, lines), p) for p in problems]
    placed.sort(key=lambda each: each[0] or 0)
    messages = [_message(line, p, source) for line, p in placed[:SHOWN]]
    if len(placed) > SHOWN:
        messages.append(_message(None, Problem((), f"and {len(placed) - SHOWN} more"), source))
    return DocumentError(messages)


def line_of(path: Path, lines: Mapping[Path, int]) -> int | None:
    """The line of a place, or of the nearest one around it: what is missing has no line of its own."""
    for length in range(len(path), -1, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _message(line: int | None, problem: Problem, source: str) -> str:
    place = ""
    for step in problem.path:
        place += f"[{step}]" if isinstance(step, int) else f".{_short(step)}" if place else _short(step)
    at = source
    if line:
        at = f"{source}:{line}" if source else f"line {line}"
    # Looked up only now: a document of nothing but unknown words would keep us for hours.
    says = problem.message + _near(problem.word, problem.known)
    return ": ".join(part for part in (at, place, says) if part)


def quoted(word: str) -> str:
    """A word from the document, in quotes, short enough to be read."""
    return repr(_short(word))


def _short(word: str) -> str:
    return word if len(word) <= 40 else f"{word[:39]}…"


def _near(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, where one of the known words looks like this one."""
    if len(word) > 64:  # no slip of the pen, and long words are slow to compare
        return ""
    by_folded = {k.casefold().replace("-", "_"): k for k in known}
    close = get_close_matches(word.casefold().replace("-", "_"), by_folded, n=1)
    return f"; did you mean {by_folded[close[0]]}?" if close else ""
