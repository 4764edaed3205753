"""The step by category: of the overview, and of both sides of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.reports.step_bar import TABLE, compared_bars, step_bar
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View


def _view(**columns: Sequence[float | str | None]) -> View:
    declared = tuple(
        Column(key, key, "string" if key == "category" else "number", None, "") for key in columns
    )
    spec = TableSpec(TABLE, "Average step", "", declared)
    return View(tables={TABLE: Table(spec, pl.DataFrame(columns, spec.polars_schema()))})


def test_parts_without_time_are_left_out() -> None:
    bar = step_bar(_view(category=["Kernel", "Memset", "Other"], duration_us=[750.0, None, 250.0]))
    assert bar is not None
    assert bar.title == "Average step: 1.00 ms"
    assert [(part.name, part.pct) for part in bar.parts] == [("Kernel", 75.0), ("Other", 25.0)]
    assert bar.parts[0].text == "750 µs, 75.0 %"


def test_both_sides_of_a_comparison_without_their_total() -> None:
    names = ["Total", "Kernel", "Other"]
    view = _view(
        category=names,
        baseline_duration_us=[100.0, 60.0, 40.0],
        candidate_duration_us=[50.0, 50.0, 0.0],
    )
    assert step_bar(view) is None
    baseline, candidate = compared_bars(view)
    assert (baseline.title, baseline.duration_us) == ("Baseline: 100 µs", 100.0)
    assert [part.name for part in candidate.parts] == ["Kernel"]


def test_nothing_known_is_no_bar() -> None:
    assert step_bar(_view(category=["Kernel"], duration_us=[None])) is None
    assert step_bar(View()) is None
    assert compared_bars(View()) == []


def _table(name: str, **columns: object) -> Table:
    declared = tuple(
        Column(
            key,
            "NPU" if key == "gpu" else key,
            "string" if type(value) is str else "number",
            None,
            "",
        )
        for key, value in columns.items()
    )
    spec = TableSpec(name, name, "", declared)
    frame = pl.DataFrame({key: [value] for key, value in columns.items()}, spec.polars_schema())
    return Table(spec, frame)


def test_idle_time_and_the_longest_gap_as_far_as_they_are_known() -> None:
    view = _view(category=["Kernel", "Memcpy", "CPU Exec"], duration_us=[50.0, 10.0, 40.0])
    bar = step_bar(view)
    assert bar is not None
    assert (bar.idle, bar.gap) == (None, None)  # no devices
    gap = _table("longest_gap", step="5", duration_us=20.0, category="CPU Exec", category_pct=99.0)
    view = replace(
        view, tables={**view.tables, "gpus": _table("gpus", gpu="0"), "longest_gap": gap}
    )
    bar = step_bar(view)
    assert bar is not None
    assert bar.idle == (40.0, "NPU idle 40.0 %")
    assert bar.gap == "Longest gap: 20.0 µs, 99.0 % CPU Exec"
    steps = _table("steps", step="5")
    two = replace(steps, frame=pl.concat([steps.frame, steps.frame]))
    bar = step_bar(replace(view, tables={**view.tables, "steps": two}))
    assert bar is not None
    assert bar.gap == "Longest gap: 20.0 µs in step 5, 99.0 % CPU Exec"
