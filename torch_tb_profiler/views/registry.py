"""All views by name, in the order pages list them. A new view is one import and one line here."""

from __future__ import annotations

from torch_tb_profiler.views import (
    compare,
    distributed,
    kernels,
    memory,
    modules,
    operators,
    overview,
)
from torch_tb_profiler.views.spec import PairView, RunView, TraceView, ViewSpec

__all__ = ["PairView", "RunView", "TraceView", "ViewSpec", "all_views"]

SPECS: tuple[ViewSpec, ...] = (
    overview.SPEC,
    operators.SPEC,
    kernels.SPEC,
    memory.SPEC,
    modules.SPEC,
    distributed.SPEC,
    compare.SPEC,
)


def all_views() -> dict[str, ViewSpec]:
    """Every view by name, in the order pages list them."""
    return {spec.name: spec for spec in SPECS}
