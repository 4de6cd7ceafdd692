"""The console's types, made from the committed OpenAPI document by openapi-typescript.

That is a program for Node, which is not installed everywhere. So the file carries a digest of what it was made from,
and where the program is missing only the digest is compared.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools import generated_file
from tools.client_models import find_answers

CONSOLE = generated_file.ROOT / "console"
TARGET = CONSOLE / "src/schema.ts"
PROGRAM = CONSOLE / "node_modules/openapi-typescript/bin/cli.js"
OPTIONS = ("--root-types", "--root-types-no-schema-prefix", "--root-types-keep-casing")


def reduce_document(openapi: Mapping[str, Any]) -> str:
    """What the types are made from: the schemas of answers, without what is said of them."""
    schemas = openapi["components"]["schemas"]
    shown = {name: _strip(schemas[name]) for name in sorted(find_answers(openapi))}
    info = {"title": openapi["info"]["title"], "version": "1"}
    return json.dumps({"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": shown}}, indent=1)


def header_line(source: str) -> str:
    """The first line of the file, with the digest of what it was made from."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    return f"// Generated from docs/reference/openapi.json by `make docs`; do not edit. {digest}\n"


def generate(source: str) -> str:
    """The file with the types."""
    with TemporaryDirectory() as folder:
        given, target = Path(folder, "openapi.json"), Path(folder, "schema.ts")
        given.write_text(source, encoding="utf-8")
        command = ["node", str(PROGRAM), str(given), *OPTIONS, "--output", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        return header_line(source) + target.read_text(encoding="utf-8").split("*/\n", 1)[1].lstrip("\n")


def current_text(source: str, target: Path = TARGET) -> str:
    """What the file is to be; where the program is missing, what it is, as long as it was made from the same."""
    if PROGRAM.is_file():
        return generate(source)
    there = target.read_text(encoding="utf-8") if target.is_file() else ""
    if there.startswith(header_line(source)):
        return there
    raise SystemExit(f"stale {target.name}: run `npm ci` in console/, then `make docs` and `make console`")


def _strip(schema: object) -> Any:
    """A schema without titles and descriptions; fields of these names stay."""
    match schema:
        case {"properties": dict(fields), **rest}:
            return {**_strip(rest), "properties": {name: _strip(field) for name, field in fields.items()}}
        case dict():
            return {word: _strip(value) for word, value in schema.items() if word not in ("title", "description")}
        case list():
            return [_strip(one) for one in schema]
    return schema


if __name__ == "__main__":
    sys.exit(
        generated_file.main(
            TARGET,
            lambda: current_text(reduce_document(generated_file.read_openapi())),
        )
    )
