"""What a definition of a system is told of its mistakes."""

from __future__ import annotations

import pytest

from stead.catalog import tree
from stead.lifecycle.files.problems import DocumentError


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("stop: 15", "expected a mapping, such as {signal: TERM, grace: 15}, not a whole number"),
        ("health: /healthz", "expected a mapping, such as {http: {port: 8080, path: /healthz}, every: 10}, not text"),
        ("env: [A=1]", "expected a mapping, such as {PORT: '8080'}, not a list"),
        ("count: many", "expected a whole number, not text"),
        ("cpu: {most: 1}", "expected a number, not a mapping"),
    ],
)
def test_field_of_wrong_type_is_reported_with_expected_shape(line: str, says: str) -> None:
    with pytest.raises(DocumentError) as wrong:
        tree.parse(f"web:\n  command: [x]\n  {line}\n", "f")
    assert list(wrong.value.messages) == [f"f:3: web.{line.partition(':')[0]}: {says}"]
