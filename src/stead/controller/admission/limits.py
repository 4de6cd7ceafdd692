"""What a resource may be at most. It is checked when a request is admitted, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

KIB = 1024
MAX_SPEC_BYTES = 512 * KIB
"""Bytes of a spec, as JSON: an order with it and with facts of the provider has to fit into a message of the bus."""
MAX_DEPTH = 32
"""Names in a path. A change is counted for everything that its resource is part of."""
MAX_LABELS = 50
"""Labels of a resource."""
MAX_LABEL_NAME, MAX_LABEL_VALUE = 63, 200
"""Characters of the name and of the value of a label."""


def exceeded(path: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What of a resource is more than it may be: the field, and a sentence."""
    if (depth := path.count("/")) > MAX_DEPTH:
        yield "path", f"{depth} names are more than the {MAX_DEPTH} that a path may have"
    if (size := len(msgspec.json.encode(spec, enc_hook=str))) > MAX_SPEC_BYTES:
        yield "spec", f"{size:,} bytes of JSON are more than the {MAX_SPEC_BYTES:,} that a spec may have"
    if (labels := spec.get("labels")) is not None:
        yield from _labels(labels)


def _labels(labels: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(labels, Mapping):
        yield "spec.labels", "labels are names with values"
        return
    if len(labels) > MAX_LABELS:
        yield "spec.labels", f"{len(labels)} labels are more than the {MAX_LABELS} that a resource may have"
    for name, value in labels.items():
        if not 0 < len(name) <= MAX_LABEL_NAME:
            says = f"the name of a label has 1 to {MAX_LABEL_NAME} characters, and this one {len(name)}"
            yield f"spec.labels.{name[:MAX_LABEL_NAME]}", says
        if not isinstance(value, str | int | float):
            yield f"spec.labels.{name}", "the value of a label is a text, a number or a truth"
        elif len(str(value)) > MAX_LABEL_VALUE:
            yield f"spec.labels.{name}", f"the value of a label has at most {MAX_LABEL_VALUE} characters"
