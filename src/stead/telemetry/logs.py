"""Lines of the log: for people, or one JSON object each for programs; never with what is secret."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

from stead.secrets.scrubbing import HIDDEN, ScrubbingFormatter, install_hooks, scrub
from stead.telemetry.context import current_context

FORMAT = "STEAD_LOG_FORMAT"
"""The variable that says how lines are written."""

__all__ = ["FORMAT", "HIDDEN", "Json", "Text", "begin"]


class Text(ScrubbingFormatter):
    """Lines for people, which end with the request that they are about."""

    def format(self, record: logging.LogRecord) -> str:
        """As usual, with the request."""
        line = super().format(record)
        request = current_context().get("request_id", "")
        first, newline, rest = line.partition("\n")
        return f"{first} [{request}]{newline}{rest}" if request else line


class Json(logging.Formatter):
    """Lines for programs."""

    def __init__(self, part: str) -> None:
        """From a `part` of the cell: server, controller or agent."""
        super().__init__()
        self.part = part

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, who writes, what, and what it is about."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "part": self.part,
            "logger": record.name,
            "message": record.getMessage(),
            **current_context(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        # Each value by itself: what is taken out must not take the quotes with it.
        return json.dumps({name: scrub(value) for name, value in line.items()}, ensure_ascii=False)


def drop_traceback(record: logging.LogRecord) -> bool:
    """One line is enough where a database is away: everybody who wants something of it says so."""
    if record.exc_info and record.exc_info[1] is not None:
        record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]!r}", ()
        record.exc_info = record.exc_text = None
    return True


def begin(part: str, form: str) -> None:
    """Write lines to stderr; so is what the interpreter itself writes when nobody catches an exception."""
    to_stderr = logging.StreamHandler(sys.stderr)
    text = Text("%(asctime)s %(levelname)s %(name)s %(message)s")
    to_stderr.setFormatter(Json(part) if form == "json" else text)
    logging.basicConfig(level=os.environ.get("STEAD_LOG", "INFO"), handlers=[to_stderr])
    logging.getLogger("asyncpg.pool").addFilter(drop_traceback)
    os.environ[FORMAT] = form  # for the controller that a server starts
    install_hooks()
