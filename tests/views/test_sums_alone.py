"""Views of a recording that holds sums alone: what sums say stays, the rest is null with the
reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import proton as pt
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.proton.reader import SUMS_ALONE
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.sums_alone import sums_alone, unavailable


@pytest.fixture(name="path")
def profile_path(tmp_path: Path) -> Path:
    path = tmp_path / "decode.hatchet"
    path.write_bytes(pt.as_json(pt.decode()))
    return path


def test_kernels_have_calls_totals_and_means_only(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        view = opened.view("kernels")
    rows = {row["name"]: row for row in view.tables["kernels"].iter_rows(named=True)}
    silu = rows["silu"]
    assert (silu["calls"], silu["total_us"], silu["mean_us"]) == (40, 14.0, 0.35)
    for key in ("min_us", "max_us", "median_us", "p95_us", "std_us", "gaps_before_us"):
        assert silu[key] is None


def test_groups_have_totals_and_shares_only(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        table = opened.view("groups").tables["groups"]
    totals = dict(table.select("path", "gpu_total_us").iter_rows())
    assert totals["decode/layer1/mlp"] == pytest.approx(107.0)
    for key in ("calls", "iterations", "gpu_mean_us", "gpu_min_us", "cpu_total_us"):
        assert table[key].null_count() == table.height


def test_boxes_of_the_flame_graph_lie_in_their_parents_side_by_side(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        flame = opened.view("groups").tables["group_flame"]
    left = dict(flame.select("path", "device_left_us").iter_rows())
    width = dict(flame.select("path", "device_width_us").iter_rows())
    assert left["decode"] == left["decode/layer0"] == 0
    assert left["decode/layer1"] == pytest.approx(width["decode/layer0"])


def test_efficiency_divides_stated_work_by_time(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        table = opened.view("efficiency").tables["operators"]
    rows = {row["name"]: row for row in table.iter_rows(named=True)}
    assert rows["matmul_kernel"]["tflops_per_s"] == pytest.approx(16.0e9 / 200e-6 / 1e12)
    assert rows["matmul_kernel"]["calls"] is None


def test_the_overview_names_the_largest_kernel_and_no_step(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        view = opened.view("overview")
        facts = {fact.key: fact for fact in view.facts}
    assert view.answer == f"matmul_kernel takes the most kernel time (59.8 %). {SUMS_ALONE}"
    assert view.tables["average_step"].height == 0
    assert facts["average_step_us"].value is None
    assert facts["average_step_us"].reason == SUMS_ALONE
    assert not [note for note in view.notes if note.kind == "advice"]


def test_tables_without_rows_give_the_reason(path: Path) -> None:
    """Not that a GPU works all the time."""
    with open_trace(path, cache=False) as opened:
        spec = all_views()["overview"]
        view = spec.function(opened.trace, Selection())  # type: ignore[call-arg, arg-type]
        gaps = sums_alone(opened.trace, view).tables["longest_gap"]
    assert gaps.frame.is_empty()
    assert gaps.spec.when_empty == SUMS_ALONE


def test_views_about_times_are_not_available(path: Path) -> None:
    with open_trace(path, cache=False) as opened:
        available = {
            name for name, spec in all_views().items() if not unavailable(spec, opened.trace)
        }
    # Dumps of hangs have no moments of a profile; this recording has none.
    assert available == {"overview", "kernels", "groups", "efficiency", "hang"}


def test_other_recordings_are_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "streams.chrome_trace"
    path.write_bytes(pt.streams())
    with open_trace(path, cache=False) as opened:
        spec = all_views()["kernels"]
        view = spec.function(opened.trace, Selection())  # type: ignore[call-arg, arg-type]
        assert sums_alone(opened.trace, view) is view
