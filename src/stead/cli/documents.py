"""YAML and JSON from users: a value, or one error for any fault in it."""

from __future__ import annotations

from typing import Any

import yaml


class NotYaml(ValueError):
    """It cannot be read."""

    def __init__(self, says: str, line: int | None = None) -> None:
        super().__init__(says)
        self.line = line
        """Where, as far as that is known; what stands there may be a secret, and is not told here."""


def read_yaml(text: str) -> Any:
    """The value that a text is."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise NotYaml(str(error), mark.line + 1 if mark else None) from None
    except RecursionError:
        raise NotYaml("it is nested too deeply") from None
    except (ValueError, OverflowError, LookupError, TypeError, AttributeError) as error:
        # The library makes numbers, days and times of words that only look like some.
        raise NotYaml(f"a value in it is none: {error}") from None
