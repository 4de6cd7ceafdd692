"""The page of the command line."""

from __future__ import annotations

import subprocess
import sys

from stead.cli.output import Code
from tools.docs.attributes import sentences
from tools.docs.markdown import MADE, table

COMMANDS = f"""{MADE}

# Command line

Results go to stdout, everything else to stderr. JSON and YAML (`-o json`, `-o yaml`) keep their keys; tables are for
people and may change. NO_COLOR is honoured. [Errors](errors.md) says what the exit codes mean and what to do.
"""


def page() -> str:
    """Every command with its options and an example."""
    command = [sys.executable, "-m", "typer", "stead.cli.main", "utils", "docs", "--name", "stead"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The first heading is the page's; the program's own goes one down, with all below it.
    body = ["#" + line if line.startswith("#") else line for line in made.strip().splitlines()]
    return "\n".join([COMMANDS, *exit_codes(), "", *body]) + "\n"


def exit_codes() -> list[str]:
    """Every exit code with what it means."""
    said = sentences(Code)
    return table(("exit code", "meaning"), [(str(code.value), said[code.name]) for code in Code])
