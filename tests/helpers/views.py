"""Views of a test's own in the place of those there are."""

from __future__ import annotations

import pytest

from torch_tb_profiler.views import registry
from torch_tb_profiler.views.spec import ViewSpec


def use_views(monkeypatch: pytest.MonkeyPatch, *specs: ViewSpec) -> None:
    """Let ``specs`` be all the views there are."""
    monkeypatch.setattr(registry, "VIEW_NAMES", tuple(spec.name for spec in specs))
    monkeypatch.setattr(registry, "view_named", {spec.name: spec for spec in specs}.__getitem__)
    declared = {spec.name: spec.parameters for spec in specs}
    monkeypatch.setattr(registry, "declared_parameters", declared.__getitem__)
