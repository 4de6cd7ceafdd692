"""The colours of a drawing, in light and in dark.

Plain rules without variables, so that viewers which know little CSS show the light picture rather than a black one.
"""

from __future__ import annotations

from stead.lifecycle.rows import Actor, StateClass

FONT = 'ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

_ACTORS = {
    Actor.USER: ("#2459d6", "#82aaff"),
    Actor.ADMIN: ("#7a35c8", "#c39bf5"),
    Actor.CONTROLLER: ("#0b766c", "#56cfc0"),
    Actor.AGENT: ("#b9470e", "#f59a66"),
    Actor.SUCCESSOR: ("#b3246b", "#f08bbd"),
    Actor.CLOCK: ("#5b6675", "#a7b2c0"),
}
_STATES = {  # fill, stroke, text; light then dark
    StateClass.STABLE: (("#e6f4ea", "#2d8650", "#0f3d22"), ("#12301f", "#4bb878", "#d8f3e2")),
    StateClass.TRANSITIONAL: (("#fff5db", "#bf8410", "#573a00"), ("#33290f", "#d6a33c", "#fbeac4")),
    StateClass.FINAL: (("#eceff3", "#697586", "#2b3440"), ("#262d36", "#8d99a8", "#e3e8ee")),
    StateClass.ABSENT: (("#ffffff", "#98a2b0", "#4a5563"), ("#12171d", "#6d7885", "#b7c0cb")),
}


def actor_colour(actor: Actor) -> str:
    """An actor's colour on a light page."""
    return _ACTORS[actor][0]


def state_colours(cls: StateClass) -> tuple[str, str, str]:
    """Fill, outline and text of a class of states on a light page."""
    return _STATES[cls][0]


def _theme(index: int, page: str, border: str, ink: str, faint: str) -> str:
    rules = [
        f".page{{fill:{page};stroke:{border}}}",
        f".label rect{{fill:{page}}}",
        f"text{{fill:{ink}}}.says,.small,.note,.crowd text{{fill:{faint}}}",
        f".crowd rect{{fill:{page};stroke:{faint}}}",
    ]
    for actor, colours in _ACTORS.items():
        colour = colours[index]
        rules.append(f".{actor}{{stroke:{colour}}}text.{actor},marker.{actor}{{fill:{colour};stroke:none}}")
    for cls, themes in _STATES.items():
        fill, stroke, text = themes[index]
        rules.append(f".{cls} rect{{fill:{fill};stroke:{stroke}}}.{cls} text{{fill:{text}}}")
    return "".join(rules)


STYLE = (
    f"text{{font:11.5px {FONT};stroke:none}}"
    ".kind{font-size:18px;font-weight:650}.says{font-size:12px}"
    ".state text{font-size:14px;font-weight:600;text-anchor:middle}"
    ".state .small{font-size:10.5px;font-weight:400;opacity:.8}"
    ".state rect{stroke-width:1.6}"
    ".transitional rect{stroke-dasharray:6 3.5}.absent rect{stroke-dasharray:1.5 3.5;stroke-linecap:round}"
    ".absent text{font-style:italic}"
    ".crowd rect{stroke-dasharray:3 3;stroke-width:1}.crowd text{font-size:10.5px;text-anchor:middle}"
    ".arrow{fill:none;stroke-width:1.7;stroke-linecap:round}.aside{stroke-width:1.1;stroke-opacity:.75}"
    ".label text{text-anchor:middle}.label rect{fill-opacity:.94}.who{opacity:.72}"
    ".note{font-size:11px}"
    + _theme(0, "#ffffff", "#dde2e8", "#1c2430", "#5b6675")
    + "@media(prefers-color-scheme:dark){"
    + _theme(1, "#12171d", "#2b333d", "#e7ecf2", "#98a4b3")
    + "}"
)
"""The style sheet of every drawing."""
