"""What a body may be, looked at before anything is made of it: its depth and how much is in it.

A few bytes of JSON can become a deep stack or a heap of objects. The look is one pass without making anything, and
most bodies need no more than a count of their brackets.
"""

from __future__ import annotations

import re

# A text without an end reaches to the end: otherwise each of its quotes would be tried as a beginning.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_OPENING = frozenset((b"[", b"{"))
_CLOSING = frozenset((b"]", b"}"))


class TooDeeplyNested(Exception):
    """It is nested deeper than is allowed."""


class TooManyValues(Exception):
    """There is more in it than is allowed."""


def check_size(body: bytes | bytearray, depth: int, items: int) -> None:
    """Raise where JSON goes too deep or has too many items. What is not JSON at all is somebody else's to refuse."""
    opened = body.count(b"[") + body.count(b"{")
    if opened <= depth and opened + body.count(b",") <= items:
        return
    now = count = 0
    for found in _TOKEN.finditer(body):
        token = found[0]
        if token in _OPENING:
            now += 1
            count += 1
            if now > depth:
                raise TooDeeplyNested
        elif token in _CLOSING:
            now -= 1
            if now < 0:
                return  # no JSON goes on after this
        elif token == b",":
            count += 1
        if count > items:
            raise TooManyValues
