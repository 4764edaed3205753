"""The view of the critical path: sums, facts, what-if, and which steps it is of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.critical_path import what_ifs
from torch_tb_profiler.views.critical_path.view import SPEC, critical_path
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.schema import View


def events(number: int, at: float, gemm: float) -> list[Event]:
    """A step: 10 µs of Python, 10 in an operator with a launch of 5, a kernel after 2 more."""
    return [
        step(number, at, 40), op("aten::mm", at + 10, 10),
        call("cudaLaunchKernel", at + 15, 5, corr=number),
        kernel("gemm", at + 22, gemm, corr=number),
    ]  # fmt: skip


@pytest.fixture
def made() -> Trace:
    return trace([*events(1, 0, 100), *events(2, 200, 300), *events(3, 600, 200)])


def rows(view: View, table: str, *keys: str) -> list[Any]:
    return view.tables[table].frame.select(keys).rows()


def facts(view: View) -> dict[str, Any]:
    return {fact.key: fact.value for fact in view.facts}


def test_the_step_of_median_length_by_category(made: Trace) -> None:
    view = critical_path(made, Selection())
    assert facts(view) == {
        "step": "3", "step_us": 222, "path_us": 222, "main": "Compute kernels: 90 %",
        "host_pct": pytest.approx(100 * 20 / 222), "device_pct": pytest.approx(100 * 200 / 222),
        "between_pct": pytest.approx(100 * 2 / 222),
    }  # fmt: skip
    assert rows(view, "categories", "category", "path_us", "pieces", "side") == [
        ("compute", 200, 1, "device"), ("python", 10, 1, "host"), ("operator", 5, 1, "host"),
        ("runtime", 5, 1, "host"), ("launch", 2, 1, "both"),
    ]  # fmt: skip


def test_selected_steps_are_summed(made: Trace) -> None:
    view = critical_path(made, Selection(steps="1:2"))
    assert facts(view)["step"] == "1, 2"
    assert rows(view, "operators", "name", "path_us", "total_us", "on_path_pct", "pieces") == [
        ("gemm", 400, 400, 100, 2),
        ("Python between operators", 20, 60, pytest.approx(100 / 3), 2),
        ("aten::mm", 10, 10, 100, 2),
        ("cudaLaunchKernel", 10, 10, 100, 2),
    ]
    assert rows(view, "pieces", "step", "start_us", "duration_us", "where")[-2:] == [
        ("2", 220, 2, "GPU 0, stream 7"), ("2", 222, 300, "GPU 0, stream 7"),
    ]  # fmt: skip


def test_the_table_of_what_if(made: Trace) -> None:
    view = critical_path(made, Selection(steps="1"))
    told = rows(view, "what_if", "name", "halve_us", "remove_us", "overlap_us")
    # Without the kernel the step's own range still takes 40 µs, 82 less than 122.
    assert told[0] == ("gemm", 50, 82, 0)
    assert ("aten::mm", 2.5, 5, 5) in told


@pytest.mark.parametrize(
    ("asked", "saved"),
    [("gemm:halve", 50), ("compute:remove", 82), ("launch:remove", 2), ("aten::mm:remove", 5)],
)
def test_one_what_if(made: Trace, asked: str, saved: float) -> None:
    told = facts(critical_path(made, Selection(steps="1"), what_if=asked))
    assert told["what_if_saved_us"] == saved
    assert told["what_if_step_us"] == 122 - saved


@pytest.mark.parametrize("asked", ["gemm", "gemm:double", ":halve", "nothing:halve"])
def test_a_what_if_that_means_nothing(made: Trace, asked: str) -> None:
    with pytest.raises(SelectionError, match="what_if"):
        critical_path(made, Selection(), what_if=asked)


def test_many_pieces_are_made_when_the_table_is_asked_for() -> None:
    many = [op("aten::add", 2 * n, 1) for n in range(3000)]
    table = critical_path(trace([step(1, 0, 6000), *many]), Selection()).tables["pieces"]
    assert (table.frame.height, table.row_count) == (2000, 6000)
    assert query(table, offset=5999).frame["start_us"].to_list() == [5999]


def test_of_a_very_large_step_only_one_change_is_estimated(
    made: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_ifs, "MAX_EDGES", 1)
    view = critical_path(made, Selection(steps="1"), what_if="gemm:halve")
    assert view.tables["what_if"].why_empty == what_ifs.TOO_LARGE
    assert facts(view)["what_if_saved_us"] == 50


def test_a_path_of_the_host_says_so() -> None:
    made = trace([step(1, 0, 100), op("aten::add", 10, 80)])
    assert SPEC.missing(made) is None
    assert [note.code for note in critical_path(made, Selection()).notes] == ["path_of_host"]
    assert SPEC.missing(trace([])) is not None


def test_to_overlap_what_runs_on_several_threads_costs_nothing() -> None:
    """Three threads in one operator at once: one after the other they would take thrice as long."""
    busy = [op("work", 1, 98, tid=thread) for thread in (1, 2, 3)]
    view = critical_path(trace([step(1, 0, 100), *busy]), Selection())
    assert all(saved >= 0 for (saved,) in rows(view, "what_if", "overlap_us"))
