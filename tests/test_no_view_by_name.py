"""What is special about a view is a property of its declaration: no room asks for one by name."""

from __future__ import annotations

import ast
from pathlib import Path

import torch_tb_profiler
from torch_tb_profiler.views.registry import VIEW_NAMES

PACKAGE = Path(torch_tb_profiler.__file__).parent
ROOMS = ("api.py", "cli", "loading", "plugin.py", "requests", "server", "views/*.py")
"""All but the views themselves and what is made of the tables of certain views: reports of other
tools, and findings that point to a table."""

OTHER_MEANING = {
    "api.py": {"overview", "operators", "kernels", "compare"},  # public methods of these names
    "cli/arguments.py": {"compare"},  # the command
    "cli/dlprof_reports.py": {"summary"},  # a report of DLProf
    # Of a rank, in the cache; a module of Dask; process groups of a job.
    "loading/ingest": {"summary", "distributed", "groups"},
    "loading/opening": {"summary", "memory", "shapes"},  # the same; tables and inputs of nodes
    "loading/processes": {"memory"},  # a controller of cgroups
    "loading/queries": {"summary"},  # of a rank
    "loading/store": {"summary", "data"},  # of a rank; a key of NumPy's array interface
    "server/timeline_routes.py": {"critical_path"},  # a route
    "views/cut_notes.py": {"iterations"},  # a count in the evidence of a note
    "views/null_reasons.py": {"snapshot", "operators"},  # a format; what a recording may lack
    "views/registry.py": set(VIEW_NAMES),
}
"""File or folder → names of views that mean something else there."""


def test_no_view_is_asked_for_by_name() -> None:
    assert [text for path in files() for text in names_in(path)] == []


def files() -> list[Path]:
    listed = [path for room in ROOMS for path in PACKAGE.glob(room)]
    return sorted(
        file for path in listed for file in (path.rglob("*.py") if path.is_dir() else [path])
    )


def names_in(path: Path) -> list[str]:
    file = path.relative_to(PACKAGE).as_posix()
    allowed = {
        name for place, names in OTHER_MEANING.items() if file.startswith(place) for name in names
    }
    return [
        f"{file}:{node.lineno} {node.value}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in VIEW_NAMES and node.value not in allowed
    ]
