"""The page of everything that is not an answer: problems of the HTTP interface, refusals, exit codes."""

from __future__ import annotations

from stead.api.problem_codes import HELP, TITLES
from stead.lifecycle.decision import Code, Outcome
from tools.docs.attributes import sentences
from tools.docs.commandline import exit_codes
from tools.docs.markdown import MADE, code, table

HEAD = f"""{MADE}

# Errors

Whatever is not an answer says why, and what could be done instead. There are three places where it is said, and they
use the same words.

## Problems

The HTTP interface answers with a problem (RFC 9457, `application/problem+json`). Its `type` is `urn:stead:problem:`
and one of the codes below, which stay the same. `detail` says what is wrong in this very case; a refusal has
`current_state`, `allowed_actions`, `holder` and `reasons` as well. Where a time is known after which asking again
makes sense, it is in `retry_after` and in the header `Retry-After`.

*Again* says whether the same request may be let in another time.
"""

REFUSALS = """
## Refusals

`decide` answers with a decision or with a refusal, and a refusal has one of these codes, or several. Those that
callers can meet are problems with the same code. The others answer agents, timers and looks, and have no status:
nothing changes, and nobody has to do anything about them.
"""

OUTCOMES = """
## Outcomes

An operation that was let in is not refused any more. It ends with one of these:
"""

EXITS = """
## Exit codes

Every command of `stead` ends with one of these.
"""


def page() -> str:
    """All of them, each with what to make of it."""
    problems = [(code(name), str(status), f"{title}.", *HELP[name]) for name, (status, title) in TITLES.items()]
    said = sentences(Code)
    refusals = [(code(one.value), said[one.name], _status(one)) for one in Code]
    ends = sentences(Outcome)
    outcomes = [(code(one.value), ends[one.name]) for one in Outcome]
    lines = [HEAD, *table(("code", "status", "title", "meaning", "what to do", "again"), problems)]
    lines += [REFUSALS, *table(("code", "meaning", "status"), refusals)]
    lines += [OUTCOMES, *table(("outcome", "meaning"), outcomes), EXITS, *exit_codes()]
    return "\n".join(lines) + "\n"


def _status(one: Code) -> str:
    return str(TITLES[one.value][0]) if one.value in TITLES else "none"
