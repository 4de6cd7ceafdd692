"""JSON schemas in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tools.docs.markdown import code, flat

type Schema = Mapping[str, Any]


def type_of(schema: Schema) -> str:
    """In a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "enum" in schema:
        return ", ".join(code(one) if one else '`""`' for one in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")


def meaning(schema: Schema, description: str = "", needed: bool = False) -> str:
    """What is said of a field, and what it is where nobody says."""
    default = schema.get("default")
    told = default not in (None, "", (), [], {})
    value = code(default if isinstance(default, str) else json.dumps(default))
    words = [flat(description or schema.get("description", ""))]
    words += ["Required."] if needed else [f"Default: {value}."] if told else []
    return " ".join(word for word in words if word)
