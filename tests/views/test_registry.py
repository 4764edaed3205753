"""Every declared view keeps the rules of the schema; the core tables have their stable keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest

from tests.helpers.traces import trace
from tests.views.overview.test_view import FX1, FX7
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views import registry
from torch_tb_profiler.views.checks import CHECKED
from torch_tb_profiler.views.overview.mindspore import MINDSPORE_PARTS
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Table, TableSpec
from torch_tb_profiler.views.spec import TraceView, ViewSpec

SUFFIX_OF_UNIT = {"us": "_us", "ns": "_ns", "bytes": "_bytes", "pct": "_pct"}

STABLE_KEYS = {
    "average_step": "category, duration_us, pct",
    "steps": "step, total_us, kernel_us, memcpy_us, memset_us, communication_us, runtime_us, "
    "dataloader_us, cpu_exec_us, other_us",
    "gpus": "gpu, name, memory_bytes, compute_capability, utilization_pct, "
    "est_sm_efficiency_pct, est_achieved_occupancy_pct, tensor_core_time_pct",
    "operators": "name, input_shape, call_stack, calls, device_self_us, device_total_us, "
    "host_self_us, host_total_us, tensor_core_eligible, tensor_core_self_pct, "
    "tensor_core_total_pct",
    "kernels": "name, operator, grid, block, registers_per_thread, shared_memory_bytes, "
    "tensor_core_used, operator_tensor_core_eligible, calls, total_us, mean_us, min_us, max_us, "
    "mean_blocks_per_sm, mean_est_achieved_occupancy_pct, communication",
}
"""Scripts rely on these: they may grow at the end, never change."""

SPECS = list(all_views().values())
CORE = [all_views()[name] for name in ("overview", "operators", "kernels")]


def core_tables() -> dict[str, TableSpec]:
    return {table.name: table for spec in CORE for table in spec.tables}


@pytest.mark.parametrize("name", STABLE_KEYS)
def test_stable_keys(name: str) -> None:
    keys = [column.key for column in core_tables()[name].columns]
    assert ", ".join(keys).startswith(STABLE_KEYS[name])


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_declarations(spec: ViewSpec) -> None:
    assert spec.title
    assert spec.help.endswith("?")
    assert len({table.name for table in spec.tables}) == len(spec.tables) > 0
    for table in spec.tables:
        keys = [column.key for column in table.columns]
        assert len(set(keys)) == len(keys)
        for column in table.columns:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", column.key)
            assert column.help.endswith((".", ")")), column.key
            suffix = SUFFIX_OF_UNIT.get(column.unit or "", "")
            assert not suffix or f"_{column.key}".endswith((suffix, "pct")), column.key
        sort_keys = [key.strip().removeprefix("-") for key in table.sort.split(",") if key]
        assert set(sort_keys) <= set(keys)
        assert table.tree is None or set(table.tree) <= set(keys)


def assert_filled(table: Table) -> None:
    assert dict(table.frame.schema) == table.spec.polars_schema()
    for key in table.null_reasons:
        assert table.frame[key].null_count() > 0


@pytest.mark.parametrize("spec", CORE, ids=lambda spec: spec.name)
@pytest.mark.parametrize("events", [FX1, FX7, []], ids=["FX1", "FX7", "empty"])
def test_core_views_fill_what_they_declare(spec: ViewSpec, events: list[dict[str, object]]) -> None:
    recorded = trace(events)
    for group_by in spec.group_bys or (None,):
        view = cast(TraceView, spec.function)(recorded, Selection(group_by=group_by))
        # Who looks for findings states what was checked, and fills it in; these are no
        # recordings of MindSpore.
        absent = (CHECKED, MINDSPORE_PARTS)
        own = [table.name for table in spec.tables if table not in absent]
        assert list(view.tables) == own
        for table in view.tables.values():
            assert_filled(table)
    assert (spec.missing(recorded) is None) == bool(events)


def test_no_view_imports_another() -> None:
    """Also a new one, which the contract in ``pyproject.toml`` does not name."""
    folder = Path(registry.__file__).parent
    names = {path.parent.name for path in folder.glob("*/__init__.py")}
    foreign = [
        f"{path.relative_to(folder)} imports {other}"
        for name in names
        for path in (folder / name).rglob("*.py")
        for other in re.findall(r"torch_tb_profiler\.views\.(\w+)", path.read_text("utf-8"))
        if other in names - {name}
    ]
    assert foreign == []
