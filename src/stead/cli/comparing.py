"""Recorded states beside observed ones, kind by kind, after a restore."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

import typer

from stead.cli.listing import Columns, write
from stead.cli.orphan import ORPHANS
from stead.cli.output import Code, Format, ListFormat, data, heading, line, note, table
from stead.cli.server_commands import clock, plain, reach
from stead.client import DriftReport, Forbidden, Hold, Orphan, SyncClient
from stead.lifecycle.rows import ABSENT

TIMES = 2
"""Surveys in which an object is found before it counts as an orphan."""

PAUSE, PATIENCE = 0.5, 60.0
"""Seconds between two readings of the lanes, and the maximum wait for their surveys."""

SHOWN = 20
"""Rows of each list, in a table."""

COLUMNS = ("RESOURCES", "MATCHES", "DIFFERS", "MISSING", "TRANSITIONAL", "UNSPECIFIED", "UNOBSERVED")

RESOURCES: Columns[DriftReport] = Columns(
    narrow=(
        ("PATH", lambda one: one.path),
        ("RECORDED", lambda one: one.recorded),
        ("OBSERVED", lambda one: one.observed or "-"),
        ("NEXT ACTION", lambda one: one.next_action or "-"),
    ),
    wide=(("LANE", lambda one: one.lane or "-"),),
    name=lambda one: one.path,
)
"""Every resource, with what the cell would do next."""


def compare(server: str, below: str, output: Format) -> None:
    """Write the comparison, and end the command: 0 where all is as recorded and at rest, 1 otherwise."""
    with reach(server) as client:
        # First: the surveys of agents correct what the cell has recorded.
        hold = _hold(client)
        found = [one for one in client.drift(below=below) if one.lane or one.next_action]
        unknown = [orphan for orphan in _surveyed(client) if _within(orphan.path, below)]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        kinds[one.kind].update(("RESOURCES", _word(one)))
    missing = [one for one in found if _word(one) == "MISSING"]
    differs = [one for one in found if _word(one) == "DIFFERS"]
    unseen = sorted({one.lane for one in found if _word(one) == "UNOBSERVED"})
    if output is Format.TABLE:
        _write(kinds, found, unknown)
        _tell(hold)
        if unseen:
            note(f"\nnothing was observed on {', '.join(unseen)}: see `stead lane list`")
    else:
        counted = {kind: {c.lower(): n[c] for c in COLUMNS} for kind, n in sorted(kinds.items())}
        lists = {"resources": found, "missing": missing, "differs": differs, "unknown": unknown}
        data({"held_since": plain(hold.since), "kinds": counted, **plain(lists)}, output)
    doubtful = any(
        one.next_action or (one.reason == "unsaid" and one.observed not in (None, ABSENT)) for one in found
    )
    raise typer.Exit(Code.FAILED if missing or differs or unknown or unseen or doubtful else Code.DONE)


def _hold(client: SyncClient) -> Hold:
    """Whether the cell is held, as far as the caller may know."""
    try:
        return client.hold()
    except Forbidden:
        return Hold(orders=0, released=())


def _tell(hold: Hold) -> None:
    if hold.since is not None:
        waiting = f"orders waiting for `stead backup release`: {hold.orders}"
        note(f"\nThe cell is held since {clock(hold.since)}; {waiting}")


def _word(one: DriftReport) -> str:
    """The column that it counts in."""
    if one.matches is not None:
        return "MATCHES" if one.matches else "MISSING" if one.observed == ABSENT else "DIFFERS"
    return {"moving": "TRANSITIONAL", "unsaid": "UNSPECIFIED"}.get(one.reason or "", "UNOBSERVED")


def _surveyed(client: SyncClient) -> list[Orphan]:
    """Orphans, after as many surveys of every lane as it takes to find one."""
    lanes = [lane.lane for lane in client.lanes()]
    for _ in range(TIMES):
        before = {lane.lane: lane.next_inventory_at for lane in client.lanes()}
        try:
            # A connected agent answers, also where the cell has no heartbeat of it yet since the restore.
            lanes = [lane for lane in lanes if client.request_inventory(lane)]
        except Forbidden:
            note("only admins may survey lanes: orphans found before are listed")
            break
        waited, ends = set(lanes), time.monotonic() + PATIENCE
        while waited and time.monotonic() < ends:
            time.sleep(PAUSE)
            # The next survey is postponed once this one is complete.
            waited &= {lane.lane for lane in client.lanes() if lane.next_inventory_at == before.get(lane.lane)}
        if waited:
            note(f"{', '.join(sorted(waited))} did not report every object within {PATIENCE:g} s")
    return list(client.orphans().items)


def _within(path: str, below: str) -> bool:
    return below in ("/", path) or path.startswith(f"{below}/")


def _write(kinds: dict[str, Counter[str]], found: list[DriftReport], unknown: list[Orphan]) -> None:
    rows = [[kind, *(str(n[column]) for column in COLUMNS)] for kind, n in sorted(kinds.items())]
    table(["KIND", *COLUMNS], rows, right=COLUMNS)
    if found:
        line()
        write(found, RESOURCES, ListFormat.TABLE)
    if unknown:
        line()
        heading(f"Unknown to the cell: {len(unknown)}")
        write(unknown[:SHOWN], ORPHANS, ListFormat.TABLE)
        _more(len(unknown))
        note("adopt them: stead orphan adopt; or remove them: stead orphan remove")


def _more(count: int) -> None:
    if count > SHOWN:
        line(f"and {count - SHOWN} more, which -o json lists")
