"""A rehearsed change, on paper."""

from __future__ import annotations

from stead.cli.listing import printable
from stead.cli.output import ListFormat, data, heading, line, table
from stead.cli.server_commands import plain
from stead.client import DryRun
from stead.lifecycle.files.times import duration


def show(plan: DryRun, output: ListFormat) -> None:
    """Write what a change would do."""
    if output is ListFormat.NAME:
        line(plan.path)
    elif output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(plan), output)
    else:
        _tables(plan)


def _tables(plan: DryRun) -> None:
    heading(f"{plan.action} of {plan.path}, nothing was done")
    if plan.would_join or plan.no_change or plan.would_queue:
        waits = "it would join the operation in progress" if plan.would_join else "it would be queued"
        line("nothing to do" if plan.no_change else waits)
        return
    fails = f", or {plan.failure_state} if it fails" if plan.failure_state else ""
    line(f"{' -> '.join(plan.states)}{fails}")
    rows = [
        ("transition", f"{m.source} -> {m.target}", f"{m.trigger} {m.detail} by {m.actor}") for m in plan.transitions
    ]
    rows += [("claim", c.path, f"{c.change}, {c.mode}") for c in plan.claims]
    rows += [("order", o.verb, f"on lane {o.lane}, {o.members} member{'s' * (o.members != 1)}") for o in plan.orders]
    rows += [("call", verb, "to the provider") for verb in plan.provider_calls[len(plan.orders) :]]
    rows += [("timer", t.name, duration(t.seconds)) for t in plan.timers]
    for part in plan.members:
        why = f": {part.reasons[0].message}" if part.reasons else ""
        rows.append(("members", f"{part.members} in {part.state}", f"{part.effect}{why}"))
    line()
    table(("STEP", "SUBJECT", "DETAIL"), [[printable(cell) for cell in row] for row in rows])
