"""Nothing in the product reads the wall clock of its machine, but for a short list of places, each with a reason.

A cell goes by the clock of its database (`store.clock`), and counts what passes by a monotonic clock.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src/stead"

READS = {
    "time": {"time", "time_ns", "localtime", "gmtime", "strftime", "ctime", "asctime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
}
"""What reads the wall clock, by what it belongs to; `gmtime` and the like also where they are given a time."""

ALLOWED = {
    "access/oidc.py": "tokens of an issuer are checked by the clock of the server, and an error says what that is",
    "agent/lane_worker.py": "its own time is reported to controllers, which measure it",
    "agent/session.py": "its own time is reported to controllers; an epoch while no controller answers",
    "agent/credential_renewal.py": "an identity ends by the clock of others; it is renewed at half of its life",
    "bus/connection.py": "an error about a certificate says by what time it was judged",
    "cli/*": "the clock of the person at the terminal, who says `in an hour` and reads `a minute ago`",
    "controller/health/doctor.py": "the clock of the server is measured",
    "drivers/ec2/errors.py": "how far off the clock of this machine is from the provider's",
    "drivers/libvirt/machines.py": "when a machine was defined, as a mark for as long as a call lasts",
    "drivers/libvirt/pool.py": "ages of files of the same machine",
    "drivers/lxd/call.py": "what stands for LXD's own time until its first answer",
    "drivers/podman/containers.py": "ages of containers of the same machine",
    "drivers/process/*": "ages of files of the same machine",
    "drivers/sim/ledger.py": "the simulated provider's own time",
    "pki/certificates.py": "the authority is made by a command, where there is no cell yet",
    "pki/claims.py": "the operator is made by a command, where there is no cell yet",
    "store/clock.py": "how far off the clock of this machine is; and the time before the first reading",
    "telemetry/tracing.py": "when a span began, for those who look at traces",
}


def reads(source: str) -> list[int]:
    """The lines that read the wall clock, whether they call what reads it or hand it on."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in READS.get(_name(node.value), ())
    ]


def _name(of: ast.expr) -> str:
    return of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("time.time()", True),
        ("clock = time.time", True),
        ("datetime.now(UTC)", True),
        ("datetime.datetime.utcnow()", True),
        ("time.monotonic()", False),
        ("datetime.fromtimestamp(at, UTC)", False),
        ("loop.time()", False),
    ],
)
def test_reading_of_the_wall_clock_is_found(line: str, found: bool) -> None:
    assert bool(reads(line)) is found


def test_wall_clock_is_read_where_there_is_a_reason_alone() -> None:
    found = {str(path.relative_to(SRC)) for path in SRC.rglob("*.py") if reads(path.read_text(encoding="utf-8"))}
    unused = {name for name in ALLOWED if not any(Path(path).match(name) or _within(path, name) for path in found)}
    assert sorted(path for path in found if not any(Path(path).match(n) or _within(path, n) for n in ALLOWED)) == []
    assert unused == set()


def _within(path: str, name: str) -> bool:
    return name.endswith("/*") and path.startswith(name[:-1])
