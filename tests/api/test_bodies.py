"""The look at a body says the same as building it would, and is quick whatever it is given."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.api.body_limits import TooDeeplyNested, TooManyValues, check_size

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a"\\[]{},é\n'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='"\\[{,'), inner, max_size=4),
    max_leaves=30,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def items(value: Any) -> int:
    """Brackets and commas, outside of texts."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(0, len(inner) - 1) + sum(map(items, inner))


@given(VALUES, st.integers(0, 6), st.integers(0, 40), st.booleans())
def test_it_says_what_building_it_would(value: Any, deepest: int, most: int, ascii: bool) -> None:
    try:
        check_size(json.dumps(value, ensure_ascii=ascii).encode(), deepest, most)
    except TooDeeplyNested:
        assert depth(value) > deepest
    except TooManyValues:
        assert items(value) > most
    else:
        assert depth(value) <= deepest
        assert items(value) <= most


MIB = 1024 * 1024


@pytest.mark.parametrize(
    "body",
    [
        b"[" * MIB,
        b"{" * MIB,
        b'{"a":' * (MIB // 5),
        b"[]" * (MIB // 2),
        b"," * MIB,
        b'"' * MIB,
        b'"\\"' * (MIB // 3),
        b'["' + b'\\"[' * (MIB // 3),
        b'[",' * (MIB // 3),
        b"[" + b'"a",' * (MIB // 4),
        b"\\" * MIB,
        b"]" * MIB + b"[" * 100,
        b"\0" * MIB,
    ],
)
def test_no_body_takes_long(body: bytes) -> None:
    began = time.process_time()
    with suppress(TooDeeplyNested, TooManyValues):
        check_size(body, 64, 50_000)
    assert time.process_time() - began < 0.5
