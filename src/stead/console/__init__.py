"""The web console as it was built, to be served; its source is in `console/` at the root of the repository."""

from pathlib import Path


def folder() -> Path:
    """Where its files are."""
    return Path(__file__).resolve().parent / "static"
