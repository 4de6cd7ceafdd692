"""The sentences that stand below the attributes of a class, which Python itself forgets."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from itertools import pairwise
from textwrap import dedent

from tools.docs.markdown import flat


def sentences(cls: type) -> Mapping[str, str]:
    """What is said of each attribute of a class, as far as something is."""
    (body,) = ast.parse(dedent(inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)
    said = {}
    for attribute, below in pairwise(body.body):
        name = _name(attribute)
        if name and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            said[name] = flat(str(below.value.value))
    return said


def _name(statement: ast.stmt) -> str:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""
