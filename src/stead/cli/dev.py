"""`stead dev`: a whole cell on this machine."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from typing import Annotated

import typer

from stead.cli.output import Code, fail, line, note
from stead.dev.cell import CELL, HOSTS, LANES, LOCAL, RACK, Cell, Wanted, home, lanes_of
from stead.dev.children import NotStarted
from stead.dev.doctor import examine

Port = Annotated[int, typer.Option("--port", help="Port of the console and the API.")]
CloudPort = Annotated[int, typer.Option("--cloud-port", help="Port of the simulated cloud.")]


def dev(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data for the next run.")] = False,
    port: Port = 7770,
    cloud_port: CloudPort = 7780,
    delay: Annotated[float, typer.Option(min=0, help="Seconds that a call to the simulated cloud takes.")] = 1.0,
) -> None:
    """Run a whole cell on this machine until Ctrl-C.

    It consists of a database, a bus, a server, agents, a simulated cloud and a simulated rack. It listens on loopback
    only, without authentication: it is for trying things out. A process that ends is restarted, so kill any of them.
    """
    wanted = Wanted(port, cloud_port, home() if keep else None, delay)
    wrong = [finding for finding in examine(wanted) if not finding.well]
    for finding in wrong:
        note(f"error: {finding.what}: {finding.says}")
    if wrong:
        raise typer.Exit(Code.FAILED)
    began = time.monotonic()
    for word in (signal.SIGTERM, signal.SIGINT):  # also where a shell had it ignore the second
        signal.signal(word, _interrupt)
    with suppress(KeyboardInterrupt):
        note("starting, which takes some seconds …")
        try:
            with Cell(wanted, note) as cell:
                _tell(cell, time.monotonic() - began)
                cell.watch()
        except (NotStarted, TimeoutError) as error:
            fail(f"it does not start: {str(error).strip()[-1000:]}")
    note("ended" + ("" if keep else ", and nothing is left"))


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _tell(cell: Cell, took: float) -> None:
    wanted = cell.wanted
    url = f"http://127.0.0.1:{wanted.port}"
    kept = f"kept in {wanted.keep}" if wanted.keep else "thrown away at the end; --keep keeps it"
    line(f"Stead runs, after {took:.1f} s: on loopback only, open to every user of this machine.\n")
    line(f"  console    {url}/console/")
    line(f"  API        {url}/v1, described at {url}/v1/openapi.json")
    line(f"  clouds     {', '.join(lanes_of(LANES))} (simulated)")
    line(f"  hosts      {', '.join(HOSTS)} at {', '.join(lanes_of(RACK))} (simulated)")
    line(f"  systems    on {LOCAL}: processes of this machine")
    line(f"  sites      on the bus {cell.nats.url}, cell {CELL}")
    line(f"  data       {kept}\n")
    line(f"  {'PART':<12} {'PROCESS':>7}  ADDRESS")
    for name, pid, address in cell.parts():
        line(f"  {name:<12} {pid:>7}  {address}".rstrip())
    server = "" if wanted.port == 7770 else f" --server {url}"
    line("\nTry, in another terminal:\n")
    line(f"  stead mci example | stead mci create shop/web -f -{server}")
    line(f"  stead mci tree shop/web{server}")
    line(f"  stead explain shop/web resume{server}")
    line(f"  stead lease create lab/monday --from now --to +2h --hosts 2{server}")
    line(f"  stead system create shop/site --lane {LOCAL}{server}")
    line(f"  stead cloudlet create lab/berlin{server}")
    bus = f"--nats {cell.nats.url} --cell {CELL} --lane edge.lab.berlin --name lab-berlin"
    line(f"  stead agent run {bus} --driver process --set root=$PWD/berlin --set isolation=false")
    line("\nKill any of the processes meanwhile and it goes on. Ctrl-C ends it.")
