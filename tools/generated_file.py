"""Write a generated file, or compare it with the committed one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).parents[1]
OPENAPI = ROOT / "docs/reference/openapi.json"


def read_openapi() -> dict[str, Any]:
    """The committed OpenAPI document."""
    return cast(dict[str, Any], json.loads(OPENAPI.read_text(encoding="utf-8")))


def main(target: Path, generate: Callable[[], str], arguments: Sequence[str] | None = None) -> int:
    """Write a file, or say that it is stale; the exit code."""
    parser = argparse.ArgumentParser(description=f"Make {target.name}.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is stale")
    check = parser.parse_args(arguments).check
    text = generate()
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{'stale' if check else 'wrote'} {target.relative_to(ROOT)}")
    if check:
        print("run `make docs`", file=sys.stderr)
        return 1
    target.write_text(text, encoding="utf-8")
    return 0
