"""All views by name, in the order pages list them. A new view is one name here.

The module of a view is imported when the view is requested, so a report of three views does not
import the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from torch_tb_profiler.views.parameters import Parameter

if TYPE_CHECKING:  # the command line asks for names before it may wait for polars
    from torch_tb_profiler.trace.model import Trace
    from torch_tb_profiler.views.spec import ViewSpec

VIEW_NAMES = (
    "overview",
    "iterations",
    "phases",
    "data",
    "operators",
    "operator_types",
    "shapes",
    "kernels",
    "idle",
    "critical_path",
    "sequences",
    "copies",
    "compiled",
    "memory",
    "snapshot",
    "modules",
    "groups",
    "ranks",
    "distributed",
    "strategy",
    "experts",
    "roles",
    "hang",
    "efficiency",
    "resources",
    "compare",
    "summary",
)
"""Each is also the folder whose ``view.py`` declares the view, as ``SPEC``."""

DEFAULT_VIEW = VIEW_NAMES[0]
"""The view that is shown if none is requested."""

REPORT_VIEWS = (DEFAULT_VIEW, "operators", "kernels", "idle", "memory", "distributed")
"""The views of a saved report where nobody chose others; those without data are left out."""

COMPARISON_VIEW = "compare"
"""The view of two recordings."""


def view_named(name: str) -> ViewSpec:
    """The declaration of one view.

    Raises:
        KeyError: there is no such view.
    """
    if name not in VIEW_NAMES:
        raise KeyError(name)
    spec: ViewSpec = import_module(f"torch_tb_profiler.views.{name}.view").SPEC
    return spec


def all_views() -> dict[str, ViewSpec]:
    """Every view by name, in the order pages list them."""
    return {name: view_named(name) for name in VIEW_NAMES}


def all_parameters() -> dict[str, Parameter]:
    """Every parameter that a view declares, by key; no view is loaded for it."""
    return {each.key: each for name in VIEW_NAMES for each in declared_parameters(name)}


def declared_parameters(name: str) -> tuple[Parameter, ...]:
    """What the package of the view ``name`` declares as ``PARAMETERS``; nothing where it does
    not."""
    package = import_module(f"torch_tb_profiler.views.{name}")
    parameters: tuple[Parameter, ...] = getattr(package, "PARAMETERS", ())
    return parameters


def first_view(trace: Trace) -> str:
    """The name of the view to show first."""
    views = all_views().values()
    return next((spec.name for spec in views if spec.is_first(trace)), next(iter(views)).name)
