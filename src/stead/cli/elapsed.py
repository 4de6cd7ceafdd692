"""How long things last, as one says it at a terminal."""

from __future__ import annotations

from datetime import UTC, datetime

from stead.client import Elapsed


def span(seconds: float) -> str:
    """So many seconds, as one says it."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes}m{whole % 60}s" if whole % 60 and minutes < 10 else f"{minutes}m"
    return f"{minutes // 60}h{minutes % 60}m" if minutes % 60 else f"{minutes // 60}h"


def lasted(since: datetime) -> str:
    """For how long, up to now."""
    return span((datetime.now(UTC) - since).total_seconds())


def usual(lasts: Elapsed | None) -> str:
    """How long it usually takes, and how long nearly always at most."""
    if lasts is None or lasts.typical is None or lasts.p99 is None:
        return ""
    return f"{span(lasts.typical)}, 99 of 100 within {span(lasts.p99)}"


def allowed(lasts: Elapsed | None) -> str:
    """How long it may take."""
    return span(lasts.limit) if lasts is not None and lasts.limit is not None else ""


def told(lasts: Elapsed | None) -> str:
    """All of it in a line: for how long, how long usually, how long at most, and whether that is too long."""
    if lasts is None:
        return ""
    known = f", from {lasts.samples}{f' on {lasts.lane}' if lasts.lane else ''}" if lasts.samples else ""
    parts = [lasted(lasts.since)]
    parts += [f"usually {usual(lasts)}{known}"] if usual(lasts) else []
    parts += [f"at most {allowed(lasts)}"] if allowed(lasts) else []
    word = "overdue" if lasts.overdue else "late" if lasts.late else ""
    return "; ".join(parts) + (f" ({word})" if word else "")
