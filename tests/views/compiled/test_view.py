"""The view of graphs and compiled code: its tables agree with each other and with the kernels."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.helpers.graphs import FLASH, GEMM, LAYER, decode_step, launch
from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled.view import SPEC, compiled
from torch_tb_profiler.views.schema import Fact, View

GRAPH_TABLES = ("graphs", "graph_launches", "graph_kernels", "launch_kinds", "graph_nodes")


def _events() -> list[Event]:
    """Two steps; in each a replay of eight kernels and one eager kernel; the second is slower."""
    events: list[Event] = []
    for number in range(2):
        at = 300 * number
        events += [
            step(number, at, 290),
            *decode_step(at + 10, 10 * number + 1, names=LAYER * 2, dur=4 + number),
            call("cudaLaunchKernel", at + 100, 3, corr=10 * number + 2),
            kernel("eager", at + 110, 20, corr=10 * number + 2),
        ]
    return events


@pytest.fixture(scope="module")
def made() -> Trace:
    return trace(_events())


def _facts(view: View) -> dict[str, Fact]:
    return {fact.key: fact for fact in view.facts}


def _frame(view: View, table: str):  # type: ignore[no-untyped-def]
    return view.tables[table].frame


def test_sums_agree(made: Trace) -> None:
    view = compiled(made, Selection())
    launches, graphs = _frame(view, "graph_launches"), _frame(view, "graphs")
    nodes, parts = _frame(view, "graph_nodes"), _frame(view, "graph_parts")
    work = 2 * 8 * 4.0 + 8
    for table in (nodes, parts):
        assert table["total_us"].sum() == pytest.approx(work)
        assert table["total_pct"].sum() == pytest.approx(100)
    kinds = ["matrix_us", "attention_us", "communication_us", "other_us"]
    assert launches.select(kinds).sum().sum_horizontal().item() == pytest.approx(work)
    assert launches["busy_us"].to_list() == [32, 40]
    assert launches["gaps_us"].to_list() == [7, 7]
    assert graphs["total_us"].to_list() == [86]
    assert graphs["mean_busy_us"].to_list() == [36]
    facts = _facts(view)
    assert facts["graph_launches"].value == 2
    assert facts["graph_time_pct"].value == pytest.approx(100 * work / (work + 40))
    assert facts["graph_gaps_pct"].value == pytest.approx(100 * 14 / 86)
    assert facts["attributed_pct"].value == 0


def test_the_longest_launch_is_listed_or_the_one_that_is_named(made: Trace) -> None:
    longest = compiled(made, Selection())
    kernels = _frame(longest, "graph_kernels")
    assert kernels["duration_us"].to_list() == [5] * 8
    assert kernels["offset_us"].to_list() == [6.0 * position for position in range(8)]
    assert kernels["gap_before_us"].to_list() == [None] + [1.0] * 7
    assert kernels["kind"].to_list() == ["attention", "gemm", "communication", "elementwise"] * 2
    kinds = {row[0]: row[1:] for row in _frame(longest, "launch_kinds").rows()}
    assert kinds["attention"] == (2, 10.0, pytest.approx(100 * 10 / 47), 9.0)
    assert kinds["gaps"] == (None, 7.0, pytest.approx(100 * 7 / 47), 7.0)
    named = compiled(made, Selection(), operator_id="1")
    assert _frame(named, "graph_kernels")["duration_us"].to_list() == [4] * 8


@pytest.mark.parametrize("text", ["0", "3", "x", "-1", "1" * 30, "²"])
def test_other_numbers_are_no_launch(made: Trace, text: str) -> None:
    with pytest.raises(SelectionError, match="it has 2, numbered from 1"):
        compiled(made, Selection(), operator_id=text)


def test_a_selection_narrows_everything(made: Trace) -> None:
    view = compiled(made, Selection(steps="0"))
    assert _frame(view, "graph_launches")["step"].to_list() == ["0"]
    assert _frame(view, "graph_nodes")["calls"].to_list() == [1] * 8
    assert _facts(view)["graph_time_pct"].value == pytest.approx(100 * 32 / 52)
    nothing = compiled(made, Selection(start_ns=10**9))
    assert all(_frame(nothing, table).is_empty() for table in GRAPH_TABLES)
    assert _facts(nothing)["mean_launch_us"].reason


def test_rows_say_where_they_are_from(made: Trace) -> None:
    (row, _) = _frame(compiled(made, Selection()), "graph_launches").rows(named=True)
    assert (row["launch"], row["graph"], row["kernels"]) == (1, "5", 8)
    assert row["range"] == "execute_context_0(0)_generation_8(8)"
    assert (row["call"], row["call_us"], row["delay_us"]) == ("cudaGraphLaunch", 5, 10)
    assert (row["first_kernel"], row["start_us"]) == (FLASH, 20)


def test_idle_time_before_launches(made: Trace) -> None:
    """From the eager kernel at 130 µs to the second replay at 320 µs."""
    view = compiled(made, Selection())
    assert _frame(view, "graph_launches")["idle_before_us"].to_list() == [0, 190]
    assert _frame(view, "graphs")["mean_idle_before_us"].to_list() == [95]


def test_launches_without_recorded_call_or_work() -> None:
    events = [*launch(0, 1, (GEMM,))[1:], call("hipGraphLaunch", 50, 4, corr=9)]
    view = compiled(trace(events), Selection())
    (row,) = _frame(view, "graph_launches").rows(named=True)
    assert (row["call"], row["call_us"], row["range"]) == (None, None, None)
    assert view.tables["graph_launches"].null_reasons.keys() == {
        "call", "call_us", "delay_us", "range",
    }  # fmt: skip
    assert {note.code for note in view.notes} >= {"graph_launch_without_work", "graph_attribution"}


def test_only_what_there_is_is_shown() -> None:
    assert SPEC.missing(trace([op("aten::mm", 0, 5)]))
    region = trace([op("Torch-Compiled Region: 0/0", 0, 5)])
    assert SPEC.missing(region) is None
    assert compiled(region, Selection()).tables.keys() == {"regions", "compilations"}
    assert compiled(trace(launch(0, 1)), Selection()).tables.keys() == {
        *GRAPH_TABLES,
        "graph_parts",
    }


def test_compilations_in_steady_steps_are_advice() -> None:
    events: list[Event] = []
    for number in range(3):
        data = f"x_data: compile_id=0/{number}"
        events += [
            step(number, 100 * number, 90),
            op("_compile.compile_inner (dynamo_timed)", 100 * number + 5, 50),
            annotation(data, 100 * number + 6, 1),
        ]
    view = compiled(trace(events), Selection())
    (note,) = [note for note in view.notes if note.code == "steady_compilations"]
    assert (note.evidence["compilations"], note.evidence["again"]) == (2, 2)
    assert note.evidence["steps"] == ["1", "2"]
    assert _facts(view)["recompilations"].value == 2
    assert _facts(view)["compiling_us"].value == 150
    first = compiled(trace(events), Selection(steps="0"))
    assert "steady_compilations" not in {note.code for note in first.notes}


def test_text_of_files_stays_text() -> None:
    """What a hostile annotation says is a value like any other."""
    events = launch(0, 1, (GEMM,))
    events[1]["args"]["annotation"] = '{"name": "<script>alert(1)</script>"}'
    view = compiled(replace(trace(events)), Selection())
    assert _frame(view, "graph_nodes")["part"].to_list() == ["<script>alert(1)</script>"]


def test_graphs_without_numbers_are_a_note(made: Trace) -> None:
    codes = [note.code for note in compiled(trace(launch(0, 1, graph=None)), Selection()).notes]
    assert "graph_nodes_unnumbered" in codes
    assert "graph_nodes_unnumbered" not in {n.code for n in compiled(made, Selection()).notes}


def test_rows_of_compiled_code_lie_in_one_another_so_no_footer_sums_them() -> None:
    """One kernel of 10 µs, in Inductor's graph, in a region: each row has it."""
    made = trace(
        [
            op("Torch-Compiled Region: 0/0", 0, 50),
            op("## Call CompiledFxGraph fabc ##", 5, 30),
            call("cudaLaunchKernel", 10, 2, corr=1),
            kernel("triton_poi_fused_add_0", 60, 10, corr=1),
        ]
    )
    table = compiled(made, Selection()).tables["regions"]
    assert table.frame["device_us"].to_list() == [10, 10]
    assert not any(column.additive for column in table.spec.columns)
