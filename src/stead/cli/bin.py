"""`stead bin`: deleted resources that can still be restored."""

from __future__ import annotations

from heapq import merge

from stead.catalog import KINDS
from stead.cli.columns import LANE, PATH, STATE
from stead.cli.list_show import listed
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat
from stead.cli.paths import Under
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Resource

BINNED = tuple(
    name
    for name, kind in KINDS.items()
    if any(state.expiry is not None and state.expiry.action == "destroy" for state in kind.states)
)
"""Kinds with a recycle bin."""

EXPIRY = "expiry"
"""The timer after which a deleted resource is destroyed."""

BIN: Columns[Resource] = Columns(
    narrow=(
        PATH,
        ("KIND", lambda one: one.kind),
        STATE,
        ("SINCE", lambda one: clock(one.changed_at)),
        ("DESTROYED AT", lambda one: clock(one.timers.get(EXPIRY))),
    ),
    wide=(LANE,),
    name=lambda one: one.path,
)


def bin_(below: Under = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List the recycle bin, with the time at which each resource is destroyed.

    Resources are listed by path. `restore` of their noun restores one.
    """
    with reach(server) as client:
        found = [[one for one in listed(client, kind, below) if EXPIRY in one.timers] for kind in BINNED]
    write(merge(*found, key=lambda one: one.path), BIN, output)
