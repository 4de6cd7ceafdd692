"""Commands whose modules are imported when they are called for: all others start without them."""

from __future__ import annotations

from importlib import import_module

import typer
from typer.core import TyperGroup
from typer.main import get_command

LATE = {
    "agent": "stead.cli.agent",
    "pki": "stead.cli.pki",
    "backup": "stead.cli.backup",
    "install": "stead.cli.install",
    "lifecycle": "stead.cli.lifecycle",
    "policy": "stead.cli.policy",
}
"""By command, the module that has it as `app`."""


class Late(TyperGroup):
    """A group that knows the names of commands before it has the commands."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Those that are there, then those that can be."""
        return [*super().list_commands(ctx), *LATE]

    def get_command(self, ctx: typer.Context, cmd_name: str):  # type: ignore[no-untyped-def, override]
        """One of them; what comes late is imported now."""
        if cmd_name not in LATE:
            return super().get_command(ctx, cmd_name)
        found = get_command(import_module(LATE[cmd_name]).app)
        found.name = cmd_name
        return found
