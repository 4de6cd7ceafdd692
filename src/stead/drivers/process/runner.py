"""Who carries out what stands in an app's folder, as processes or as containers; and how the app is, in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from stead.drivers.base import LogTail
from stead.drivers.process.folders import App, Wanted
from stead.drivers.process.spec import App as Asked
from stead.drivers.process.users import User

READY = "Ready"


class Sight(Struct, frozen=True, kw_only=True):
    """How an app is."""

    state: str
    """The lifecycle's word."""
    alive: bool = False
    """Somebody is at it."""
    fresh: bool = False
    """Nobody has ever begun with what is wanted now."""
    failed: bool = False
    """It was tried, and given up."""
    ended: bool = False
    """It finished its work, and does not run any more."""
    error: str = ""


class Frame(Struct, frozen=True, kw_only=True):
    """What an app has around it, and what it is known by."""

    path: str
    token: str
    digest: str
    env: dict[str, str]
    """What it is told of itself; its spec may say otherwise."""
    host: str
    tmp: str
    """The folder that it has as `/tmp`, with those around it."""
    net: str = ""
    """The file at which its network is kept; the machine's, if nothing is said."""


class Runner(Protocol):
    """What is done to apps."""

    pause: float
    """Seconds between two looks of a call that waits."""

    def read(self, spec: Mapping[str, Any]) -> Asked:
        """What an app's spec says. Raises `Permanent` where it makes no sense."""

    def user(self, path: str, named: int | str | None) -> User | None:
        """The user that a program runs as, where its spec names this one; None: the agent's own. Raises `Permanent`
        where the spec may not name it, or no id is left for the namespace."""

    def room(self, wanted: Wanted) -> float:
        """Seconds that a start may take."""

    def run(self, place: App, frame: Frame, asked: Asked) -> dict[str, Any]:
        """What has to be known to run it, from then on without its spec."""

    def view(self) -> object:
        """All that there is, to be looked at many times; None where single looks cost nothing."""

    def observe(self, place: App, wanted: Wanted, view: object = None) -> Sight:
        """How an app is, compared with what is wanted."""

    def lost(self, place: App, wanted: Wanted) -> bool:
        """Whether it was started, and the machine or somebody else has ended it with whoever would start it again."""

    def alive(self, place: App) -> bool:
        """Whether there is anything left of it."""

    def start(self, place: App, wanted: Wanted, within: float) -> None:
        """Begin with what is wanted. Where somebody has, nothing happens."""

    def heed(self, place: App) -> None:
        """What is wanted has changed."""

    def end(self, place: App) -> None:
        """Stop it, as its spec says."""

    def drop(self, place: App) -> None:
        """It did not come up, and is tried no further."""

    def kill(self, place: App) -> None:
        """End it at once."""

    def tail(self, place: App, lines: int, since: str) -> LogTail:
        """The last that it wrote."""
