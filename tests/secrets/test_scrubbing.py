"""What is known is taken out, in every form; and nothing else is."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
from urllib.parse import quote, quote_plus

import pytest

from stead.secrets import scrubbing
from stead.secrets.scrubbing import KnownSecrets, ScrubbingFormatter

VALUE = 'p/ä+s "w\\ord=1&x'


@pytest.fixture
def known() -> KnownSecrets:
    known = KnownSecrets()
    known.remember(VALUE)
    return known


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        json.dumps(VALUE),
        repr(VALUE),
        VALUE.encode().hex(),
        base64.b64encode(VALUE.encode()).decode(),
        *(base64.b64encode(f"{'u' * n}:{VALUE}:x".encode()).decode() for n in range(3)),
        *(base64.urlsafe_b64encode(f"{'u' * n}:{VALUE}".encode()).decode() for n in range(3)),
    ],
)
def test_in_every_form(known: KnownSecrets, text: str) -> None:
    clean = known.scrub(f"before {text} after")
    assert clean.startswith("before ")
    assert "***" in clean
    assert len(clean) < len("before  after") + 16  # what mixes with its neighbours, and no more


def test_nothing_else(known: KnownSecrets) -> None:
    assert known.scrub("p ord x") == "p ord x"
    assert not KnownSecrets()
    short = KnownSecrets()
    short.remember("abc")
    assert short.scrub("abc") == "abc"


def test_the_longest_goes_first() -> None:
    known = KnownSecrets()
    for value in ("hunter", "hunter2hunter2"):
        known.remember(value)
    assert known.scrub("hunter2hunter2 hunter") == "*** ***"


def test_so_many_are_known_and_the_latest_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "MAX_SECRETS", 2)
    known = KnownSecrets()
    for value in ("first", "second", "third"):
        known.remember(value)
    assert known.scrub("first second third") == "first *** ***"


def test_a_log_with_a_traceback(known: KnownSecrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "scrub", known.scrub)
    try:
        raise ValueError(f"asked with {VALUE}")
    except ValueError as error:
        trace = (type(error), error, error.__traceback__)
        record = logging.LogRecord("a", 40, "f", 1, "said %r", (VALUE,), trace)
    text = ScrubbingFormatter("%(message)s").format(record)
    assert "Traceback" in text
    assert VALUE not in text
    assert repr(VALUE)[1:-1] not in text


PROGRAM = """
import sys, threading
from stead.secrets.scrubbing import KNOWN, install_hooks
KNOWN.remember("hunter2hunter2")
install_hooks()
def fail(): raise ValueError("hunter2hunter2 in a thread")
thread = threading.Thread(target=fail); thread.start(); thread.join()
class Gone:
    def __del__(self): raise ValueError("hunter2hunter2 at the end")
Gone()
try:
    raise KeyError("hunter2hunter2")
except KeyError as error:
    raise ValueError("and hunter2hunter2") from error
"""


def test_what_the_interpreter_writes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 4
    assert "*** in a thread" in done.stderr
    assert "hunter2hunter2" not in done.stderr.replace('hunter2hunter2"', "").replace("hunter2hunter2 ", "")
