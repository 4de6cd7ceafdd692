"""The page of the HTTP interface: every endpoint, as the interface says it of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tools.docs.markdown import MADE, code, flat, table
from tools.docs.schemas import meaning, type_of

HEAD = f"""{MADE}

# HTTP API

Every endpoint there is. The same, for programs: [openapi.json](openapi.json), which a server also has at
`/v1/openapi.json`. Whatever is not an answer is a problem: [errors](errors.md) has all of them. Who asks shows
a token or a login: [who may do what](../access.md).

A change is answered with 202 and an operation. With the header `Idempotency-Key`, the same request may be sent again
after an answer was lost: it is let in once.
"""

TITLES = {
    "overview": "At a glance",
    "resources": "Resources",
    "operations": "Operations and claims",
    "queues": "Queues",
    "quotas": "Quotas",
    "leases": "Leases and hosts",
    "systems": "Systems",
    "scaling": "Following demand",
    "agents": "Agents",
    "journal": "Journal",
    "drift": "Providers",
    "recovery": "After a restore",
    "lifecycles": "Lifecycles",
    "access": "Who may what",
    "health": "Health",
    "tumblebug": "In the words of CB-Tumblebug",
    "blazar": "In the words of Blazar",
}

UNSAID = {"any": "Successful Response", "200": "The answer", "202": "It was let in, and will be carried to an end"}
"""What stands for a description that the framework has made up."""


def page(said: Mapping[str, Any]) -> str:
    """Every endpoint, below what it is about."""
    lines = [HEAD]
    found = list(endpoints(said))
    for tag, title in TITLES.items():
        mine = [(name, does) for name, does in found if does["tags"][0] == tag]
        lines += [f"## {title}", ""]
        for name, does in mine:
            lines += [f"### `{name}`", "", does["description"].strip(), "", *_takes(said, does), *_answers(does), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def endpoints(said: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each with its method and path."""
    for path, methods in said["paths"].items():
        for method, does in methods.items():
            yield f"{method.upper()} {path}", does


def _takes(said: Mapping[str, Any], does: Mapping[str, Any]) -> list[str]:
    rows = [
        (code(one["name"]), one["in"], type_of(one["schema"]), meaning(one["schema"], one.get("description", "")))
        for one in does.get("parameters", ())
    ]
    for name, schema, needed in _fields(said, does):
        rows.append((code(name), "body", type_of(schema), meaning(schema, needed=needed)))
    return [*table(("parameter", "in", "type", "meaning"), rows), ""] if rows else []


def _fields(said: Mapping[str, Any], does: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """The fields of a body."""
    for content in does.get("requestBody", {}).get("content", {}).values():
        for schema in _resolved(said, content["schema"]):
            needed = schema.get("required", ())
            for name, field in schema.get("properties", {}).items():
                yield name, field, name in needed


def _resolved(said: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in schema.get("anyOf", [schema]):
        if "$ref" in one:
            yield said["components"]["schemas"][one["$ref"].rpartition("/")[2]]
        elif one.get("type") != "null":
            yield one


def _answers(does: Mapping[str, Any]) -> list[str]:
    rows = []
    for status, answer in does["responses"].items():
        if status == "default":
            rows.append(("otherwise", "[a problem](errors.md#problems)", ""))
            continue
        kinds = [type_of(content.get("schema", {})) for content in answer.get("content", {}).values()]
        said = UNSAID.get(status, "") if answer["description"] == UNSAID["any"] else answer["description"]
        rows.append((status, flat(said).removesuffix("."), ", ".join(kinds)))
    return table(("answer", "meaning", "body"), rows)
