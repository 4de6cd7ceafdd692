"""`stead doctor`: prerequisites of `stead dev` on this machine, or the health of a running cell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from stead.cli.dev import CloudPort, Port
from stead.cli.output import Code, ListFormat, data, line
from stead.cli.server_commands import Output, plain, reach
from stead.client import DEFAULT_SERVER, Finding, HealthReport
from stead.dev.cell import Wanted
from stead.dev.doctor import examine

SKEW = 5.0
"""Seconds by which a server's clock may differ from this machine's, the way there and back included."""


def doctor(
    port: Port = 7770,
    cloud_port: CloudPort = 7780,
    running: Annotated[
        bool, typer.Option("--running", help="Check the running cell that --server names (admins only).")
    ] = False,
    server: Annotated[
        str,
        typer.Option("--server", envvar="STEAD_SERVER", metavar="URL", help="URL of a server of the cell."),
    ] = "",
    output: Output = ListFormat.TABLE,
) -> None:
    """Check this machine's prerequisites, or the health of a running cell.

    Prerequisites are those of `stead dev`. With --running or --server, the command checks the database, bus,
    controller, operations and agents of a cell.

    Exit code 0: healthy. 1: a prerequisite is missing, or a warning. 2: unhealthy.
    """
    if not (running or server):
        findings = list(examine(Wanted(port, cloud_port)))
        for finding in findings:
            line(f"{'ok' if finding.well else 'WRONG':<6} {finding.what:<11} {finding.says}")
        raise typer.Exit(Code.DONE if all(finding.well for finding in findings) else Code.FAILED)
    found = examined(server or DEFAULT_SERVER)
    if output in (ListFormat.TABLE, ListFormat.WIDE, ListFormat.NAME):
        show(found)
    else:
        data(plain(found), output)
    raise typer.Exit(code_of(found))


def examined(server: str) -> HealthReport:
    """The cell, and whether its clock agrees with this machine's."""
    with reach(server) as client:
        began = datetime.now(UTC)
        found = client.examine()
        ended = datetime.now(UTC)
    apart = max((found.at - ended).total_seconds(), (began - found.at).total_seconds(), 0.0)
    clock = Finding(
        check="server",
        grade="warn" if apart > SKEW else "ok",
        message=f"version {found.version}; its clock is {apart:.0f} s from this machine's",
        remedy="run an NTP client on both machines" if apart > SKEW else "",
    )
    return HealthReport(at=found.at, version=found.version, findings=(clock, *found.findings))


def show(found: HealthReport) -> None:
    """A line for each, and below it what to do."""
    width = max(len(finding.check) for finding in found.findings)
    for finding in found.findings:
        line(f"{finding.grade:<4}  {finding.check:<{width}}  {finding.message}")
        if finding.remedy:
            line(f"{'':<4}  {'':<{width}}  -> {finding.remedy}")


def code_of(found: HealthReport) -> int:
    """0: all is well. 1: something will be trouble. 2: something is."""
    grades = {finding.grade for finding in found.findings}
    return 2 if "bad" in grades else 1 if "warn" in grades else 0
