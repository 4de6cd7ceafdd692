"""The two rules about imports, as contract types for import-linter.

import-linter's own contracts forbid; the house plan allows, and names packages before they exist. So these
two read a plan of what is allowed and call everything else broken. Both look at direct imports only: where
every package keeps to its row, no chain can leave the plan.
"""

from __future__ import annotations

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def top(module: str) -> str:
    """The package right below the root: `lifecycle` for `stead.lifecycle.decide`."""
    return module.split(".")[1]


class _AllowContract(Contract):
    """A contract whose check is a list of sentences, each saying what is not allowed."""

    def broken(self, graph: ImportGraph, root: str) -> list[str]:
        raise NotImplementedError

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        (root,) = self.session_options["root_packages"]
        broken = sorted(self.broken(graph, root))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for sentence in check.metadata["broken"]:
            output.print_error(sentence, bold=False)


class HouseContract(_AllowContract):
    """Each row, `package: those it may import`, is all that package may import of ours.

    The root itself holds nothing but the version and is open to everybody.
    """

    plan = fields.ListField(subfield=fields.StringField())

    def broken(self, graph: ImportGraph, root: str) -> list[str]:
        rows = (row.partition(":") for row in cast(list[str], self.plan))
        plan = {package.strip(): set(allowed.split()) for package, _, allowed in rows}
        broken = [
            f"{package} has no row in the plan"
            for package in map(top, graph.find_children(root))
            if package not in plan
        ]
        for importer in graph.find_descendants(root):
            source = top(importer)
            for imported in graph.find_modules_directly_imported_by(importer):
                if imported.startswith(f"{root}.") and top(imported) not in plan.get(source, set()) | {source}:
                    broken.append(f"{source} may not import {top(imported)}: {importer} -> {imported}")
        broken += [f"{root} imports {name}" for name in graph.find_modules_directly_imported_by(root)]
        return broken


class PureContract(_AllowContract):
    """The packages import, besides our own, only the modules that are listed as pure."""

    packages = fields.SetField(subfield=fields.StringField())
    allowed = fields.SetField(subfield=fields.StringField())

    def broken(self, graph: ImportGraph, root: str) -> list[str]:
        packages, allowed = cast(set[str], self.packages), cast(set[str], self.allowed)
        return [
            f"{top(importer)} is pure and may not import {imported}: {importer} -> {imported}"
            for importer in graph.find_descendants(root)
            if top(importer) in packages
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported.split(".")[0] not in allowed | {root}
        ]
