"""Recorded states beside those that providers show: `drift`, of VMs and of whole infrastructures."""

from __future__ import annotations

from collections import Counter

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, note
from stead.cli.server_commands import clock, reach
from stead.client import DriftReport

DRIFT: Columns[DriftReport] = Columns(
    narrow=(
        ("PATH", lambda vm: vm.path),
        ("RECORDED", lambda vm: vm.recorded),
        ("OBSERVED", lambda vm: vm.observed or ""),
        ("MATCHES", lambda vm: vm.reason or ("yes" if vm.matches else "no")),
        ("LANE", lambda vm: vm.lane),
    ),
    wide=(
        ("EXPECTED", lambda vm: vm.expected),
        ("OBSERVED AT", lambda vm: clock(vm.observed_at)),
    ),
    name=lambda vm: vm.path,
)


def compare(server: str, below: str, output: ListFormat, *, everything: bool) -> None:
    """Write what differs, and end the command: 0 where nothing does, 1 where something does."""
    with reach(server) as client:
        found = list(client.drift(kind="vm", below=below))
    differ = [vm for vm in found if vm.matches is False]
    write(found if everything else differ, DRIFT, output)
    note(_summary(found, len(differ)))
    raise typer.Exit(Code.FAILED if differ else Code.DONE)


def _summary(found: list[DriftReport], differ: int) -> str:
    """How many differ, and of how many that is unknown."""
    whys = Counter(vm.reason for vm in found)
    unseen = whys["unasked"] + whys["no-agent"] + whys["no-provider"]
    parts = (
        (unseen, "not observed"),
        (whys["moving"], "in transition"),
        (whys["unsaid"], "in a state without an expected one"),
    )
    return ", ".join([f"{differ} of {len(found)} differ", *(f"{count} {says}" for count, says in parts if count)])
