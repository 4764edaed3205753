"""The view of efficiency: what files tell of FLOPs and of operators, as they tell it."""

from __future__ import annotations

import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.efficiency.recorded import NO_BYTES, NO_MODEL
from torch_tb_profiler.views.efficiency.view import NOTHING, SPEC, efficiency
from torch_tb_profiler.views.schema import View

FLOPS = side_table(
    "recorded_flops",
    "flops_0.txt, flops_summary_0.json",
    [
        {"level": "operator", "name": "a/Conv", "kind": "cube", "flops": 4e9, "flops_per_s": 2e12,
         "utilization_pct": 25},
        {"level": "operator", "name": "a/Conv", "kind": "vector", "flops": 1e6},
        {"level": "operator", "name": "a/Cast", "kind": "cube", "flops": 9e9},
        {"level": "scope", "name": "a", "parent": "Default", "flops": 4e9},
        {"level": "model", "flops": 8e9, "flops_per_s": 1e13, "utilization_pct": 4},
    ],
)  # fmt: skip
SUMS = side_table(
    "recorded_operators",
    "aicore_intermediate_0_detail.csv",
    [
        {"unit": "AI Core", "type": "Conv", "calls": 3, "total_us": 90, "pct": 60},
        {"unit": "AI Core", "type": "Conv", "name": "a/Conv", "calls": 3, "total_us": 90},
        {"unit": "AI Core", "type": "Cast", "name": "a/Cast", "calls": 1, "total_us": 1},
        {"unit": "AI CPU", "type": "Cast", "name": "a/Cast", "calls": 1, "total_us": 2},
    ],
)


def told(*side: object, **more: object) -> Trace:
    return recorded([op("a", 0, 1)], side=side, **more)  # type: ignore[arg-type]


def rows(view: View, table: str) -> list[dict[str, object]]:
    return [*view.tables[table].frame.iter_rows(named=True)]


def facts(view: View) -> dict[str, object]:
    return {fact.key: fact.value for fact in view.facts}


def test_operators_have_flops_times_and_reasons_for_the_rest() -> None:
    view = efficiency(told(FLOPS, SUMS), Selection())
    first, second, third = rows(view, "operators")
    assert (first["name"], first["calls"], first["tflops_per_s"]) == ("a/Cast", None, None)
    assert (second["name"], second["kind"], second["calls"]) == ("a/Conv", "cube", 3)
    assert (second["device_time_us"], second["tflops_per_s"], second["peak_pct"]) == (90, 2, 25)
    assert (third["kind"], third["flops"]) == ("vector", 1e6)
    reasons = view.tables["operators"].null_reasons
    assert reasons["bytes"] == reasons["roof_pct"] == NO_BYTES
    assert set(reasons) >= {"calls", "dtype", "bound", "recoverable_us"}
    assert {row["source"] for row in rows(view, "operators")} == {FLOPS.source}


def test_the_model() -> None:
    view = efficiency(told(FLOPS), Selection())
    assert facts(view) == {
        "model_flops_per_step": 8e9, "mfu_pct": 4, "peak_tflops": pytest.approx(250)
    }  # fmt: skip
    model, scope = rows(view, "recorded_scopes")
    assert (model["level"], model["name"], model["peak_pct"]) == ("model", None, 4)
    assert (scope["name"], scope["parent"], scope["flops"]) == ("a", "Default", 4e9)


def test_sums_of_operators_stand_as_the_file_has_them() -> None:
    view = efficiency(told(SUMS), Selection())
    assert list(view.tables) == ["operators", "recorded_operators"]
    assert len(rows(view, "recorded_operators")) == 4
    assert {row["source"] for row in rows(view, "recorded_operators")} == {SUMS.source}
    assert rows(view, "operators") == []
    assert {fact.reason for fact in view.facts if fact.key != "peak_tflops"} == {NO_MODEL}


def test_a_selection_does_not_narrow_what_files_tell() -> None:
    codes = {note.code for note in efficiency(told(SUMS), Selection(start_ns=1)).notes}
    assert codes == {"recorded_whole"}
    assert efficiency(told(SUMS), Selection()).notes == ()


def test_without_files_it_says_why() -> None:
    assert SPEC.missing(told(FLOPS)) is None
    assert SPEC.missing(told()) == f"{NOTHING[:-1]} (record_shapes=True records them)."
    requested = told(not_recorded={"flops": "needs Level1"})
    assert SPEC.missing(requested) == "Needs Level1."
