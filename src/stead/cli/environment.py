"""What is said to processes by the environment alone; everything else is an option that names its variable."""

from __future__ import annotations

from collections.abc import Mapping

CA = "STEAD_CA"
"""The variable that names the file of trusted certificates. `--ca` sets it for the rest of the command."""

CELL = "STEAD_CELL"
"""The variable that names the cell."""

VARIABLES: Mapping[str, str] = {
    "STEAD_LOG": "Log level of `stead server`, `controller` and `agent`: `DEBUG`, `INFO` (the default), `WARNING` or "
    "`ERROR`.",
    "STEAD_DEV_DATA": "The folder in which `stead dev --keep` keeps its data. Without it: `stead/dev` in "
    "`XDG_DATA_HOME` or in `~/.local/share`; for root `/var/lib/stead-dev`.",
    "STEAD_POSTGRES": "The folder with the programs of the PostgreSQL that `stead dev` is to run. Without it: one "
    "that is installed, the newest first, or the one that came with Stead.",
    "STEAD_UID_FILE": "The file in which agents that run as root keep which namespace has which user ids, for all of "
    "this machine. Without it: `/var/lib/stead-users/ids.json`; the drivers' setting `uid_file` goes before it.",
    "STEAD_TOKEN": "Token that commands authenticate with. Without it: the login that `stead login` keeps.",
    "STEAD_CLIENT_SECRET": "Client secret of `stead server` at its issuer, if the issuer needs one.",
    "STEAD_ISSUER_CA": "A file of certificates that `stead server` trusts for its issuer, instead of the system's.",
    "STEAD_WITH_PARENT": "Set by `stead server` for the controller that it starts, which then ends when the server "
    "does. Internal.",
    "STEAD_METRICS_SOCKET": "Set by `stead server` for the controller that it starts: where the server asks for "
    "its metrics. Internal.",
    CA: "CA bundle that commands trust in addition to the system's, as `stead --ca FILE`.",
    CELL: "The cell whose lanes, hosts, agents and other objects without a namespace commands address. Needed behind "
    "a router in front of several cells. Without it: the cell of the server that answers.",
    "NO_COLOR": "Disables colours in a terminal.",
}
