"""The page of the infrastructure file, from its schema."""

from __future__ import annotations

from tools.docs.markdown import MADE, code, table
from tools.docs.schemas import Schema, meaning, type_of

HEAD = f"""{MADE}

# Infrastructure file

What `stead mci create -f` reads, in YAML or JSON; [Infrastructures](../infrastructures.md) shows it at work. The
same, for editors and programs: [infrastructure.schema.json](infrastructure.schema.json), which `stead mci schema`
prints. A field that is not known is a mistake. `stead mci example` writes a file to begin with.
"""


def page(schema: Schema) -> str:
    """Every part of the file with its fields."""
    lines = [HEAD]
    for name, part in schema["$defs"].items():
        needed = part.get("required", ())
        fields = part["properties"].items()
        rows = [(code(field), type_of(said), meaning(said, needed=field in needed)) for field, said in fields]
        lines += [f"## {name}", "", part["description"], "", *table(("field", "type", "meaning"), rows), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
