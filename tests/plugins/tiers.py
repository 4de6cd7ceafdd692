"""The tiers of the suite: which tests a run selects.

`fast` runs on every push. `full` adds the tests marked `long`. Tests marked `heavy` bring up a whole cloud, which
takes minutes, and run only with `-m heavy`.
"""

from __future__ import annotations

import pytest

FAST, FULL = "fast", "full"


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=(FAST, FULL), default=FAST, help="fast leaves out the tests marked long")


def of(config: pytest.Config) -> str:
    """The tier that a run selects; a run that names a marker of a slower tier is not a fast one."""
    named = any(mark in config.option.markexpr for mark in ("heavy", "long"))
    return FULL if named else str(config.option.tier)


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what belongs to slower tiers."""
    left_out = [mark for mark in _left_out(config) if mark not in config.option.markexpr]
    deselected = [item for item in items if any(item.get_closest_marker(mark) for mark in left_out)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        out = set(deselected)
        items[:] = [item for item in items if item not in out]


def _left_out(config: pytest.Config) -> list[str]:
    return ["heavy"] if config.option.tier == FULL else ["heavy", "long"]
