"""Contracts of import-linter of our own (``[tool.importlinter]`` in ``pyproject.toml``)."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class IndependentPackages(Contract):
    """No package in ``container`` imports another one, and no module beside them imports any.

    What stands beside the packages is theirs to share, so neither is listed: a new package or
    module is under the contract from its first line.
    """

    container = fields.ModuleField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Find the imports that the contract forbids."""
        container = self.container.name  # type: ignore[attr-defined]
        children = graph.find_children(container)
        packages = {child for child in children if graph.find_children(child)}
        forbidden = sorted(
            (importer, imported)
            for importer in graph.find_descendants(container)
            for imported in graph.find_modules_directly_imported_by(importer)
            if (package := _child_of(container, imported)) in packages
            and package != _child_of(container, importer)
        )
        return ContractCheck(kept=not forbidden, metadata={"forbidden": forbidden})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each of them."""
        for importer, imported in check.metadata["forbidden"]:
            output.print_error(f"{importer} imports {imported}, a package beside its own.")


def _child_of(container: str, module: str) -> str | None:
    """The child of ``container`` that is ``module`` or holds it; None elsewhere."""
    if not module.startswith(f"{container}."):
        return None
    return f"{container}.{module.removeprefix(f'{container}.').partition('.')[0]}"
