"""Packages of one folder stay apart, whatever stands beside them."""

from __future__ import annotations

import grimp
import pytest

from tools.import_contracts import IndependentPackages

MODULES = ("p.views.a.rows", "p.views.b.rows", "p.views.shared", "p.other")


@pytest.mark.parametrize(
    ("importer", "imported", "is_forbidden"),
    [
        ("p.views.a.rows", "p.views.b.rows", True),
        ("p.views.a", "p.views.b", True),
        ("p.views.shared", "p.views.a", True),
        ("p.views.a.rows", "p.views.a", False),
        ("p.views.a.rows", "p.views.shared", False),
        ("p.views.a.rows", "p.other", False),
        ("p.other", "p.views.a", False),
    ],
)
def test_only_imports_of_other_packages_are_forbidden(
    importer: str, imported: str, is_forbidden: bool
) -> None:
    graph = grimp.ImportGraph()
    for module in ("p", "p.views", "p.views.a", "p.views.b", *MODULES):
        graph.add_module(module)
    graph.add_import(importer=importer, imported=imported)
    options = {"container": "p.views", "name": "", "type": ""}
    contract = IndependentPackages("apart", {"root_packages": ["p"]}, options)
    check = contract.check(graph, verbose=False)
    assert check.metadata["forbidden"] == ([(importer, imported)] if is_forbidden else [])
    assert check.kept is not is_forbidden
