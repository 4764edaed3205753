"""A JSON report as a side must say the same as the trace that it was written from."""

from __future__ import annotations

import json as json_module
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.loading.queries.views import trace_view
from torch_tb_profiler.reports import json
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.answer import comparison_answer
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.schema import View

ALL = Selection()
ROOT = Path(__file__).parents[3]
VIEWS = ("overview", "operators", "kernels", "modules", "memory")


def report(trace: Trace) -> Trace:
    """The trace as a report of it is read."""
    answers = []
    for name in VIEWS:
        spec = view_named(name)
        if spec.missing(trace) is None:
            view = trace_view(spec, trace, ALL)
            answers.append(json.dumps(ViewResult(spec, view, Subject("run", "w", "1"))))
    data = b"[\n" + b",\n".join(answers) + b"\n]\n"
    return build_trace(import_trace([data], name="report.json"))


def values(view: View, table: str, key: str) -> dict[Any, dict[str, Any]]:
    """What is compared, by the key of a row, without what needs the time of each step."""
    frame = view.tables[table].frame
    keep = [name for name in frame.columns if "confidence" not in name and "pair" not in name]
    return {row[key]: row for row in frame.select(keep).rows(named=True)}


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {k: pytest.approx(v) if isinstance(v, float) else v for k, v in row.items()}


def training(length: int, steps: int = 3) -> Trace:
    events: list[t.Event] = []
    for number in range(steps):
        at = 1000 * number
        events += [
            t.step(number, at, length + number),
            t.op("aten::mm", at + 10, 60),
            t.call("cudaLaunchKernel", at + 20, 5, corr=number + 1),
            t.kernel("gemm", at + 40, length // 2 + number, corr=number + 1),
        ]
    return t.trace(events)


def same_as_traces(a: Trace, b: Trace) -> None:
    expected = compare(a, ALL, b, ALL)
    sides = ((report(a), b), (a, report(b)), (report(a), report(b)))
    for left, right in sides:
        view = compare(left, ALL, right, ALL)
        assert view.tables.keys() == expected.tables.keys()
        for table, key in (
            ("average_step", "category"),
            ("steps", "position"),
            ("operators", "name"),
            ("kernels", "name"),
            ("modules", "path"),
            ("memory", "measure"),
        ):
            rows, others = values(view, table, key), values(expected, table, key)
            assert rows.keys() == others.keys(), table
            for name, row in rows.items():
                other = {k: v for k, v in others[name].items() if "name" not in k}
                assert {k: v for k, v in row.items() if "name" not in k} == rounded(other), table
        assert view.facts[:2] == expected.facts[:2]
        verdict, other_verdict = comparison_answer(view), comparison_answer(expected)
        assert verdict is not None
        assert other_verdict is not None
        assert other_verdict.startswith(verdict.removesuffix(".").split(". ")[0])


def test_a_report_says_the_same_as_its_trace() -> None:
    same_as_traces(training(400), training(300))


def test_so_on_recordings() -> None:
    traces = [
        open_trace(ROOT / "samples" / name).trace
        for name in ("cpu_slowloader_nw0", "cpu_slowloader_nw2")
    ]
    same_as_traces(traces[0], traces[1])


def test_the_significance_of_the_step_survives_and_that_of_rows_has_a_reason() -> None:
    view = compare(report(training(400)), ALL, training(300), ALL)
    total = view.tables["average_step"].frame.row(0, named=True)
    assert total["confidence_duration_pct"] > 99
    operators = view.tables["operators"]
    assert operators.frame["confidence_host_self_pct"].null_count() == operators.frame.height
    assert "A side is a report" in operators.null_reasons["confidence_host_self_pct"]
    assert view.tables["explained"].why_empty == "A side is a report, which has no events."
    assert next(note for note in view.notes if note.code == "side_is_report").evidence == {
        "baseline": "report"
    }


def test_a_report_is_not_narrowed() -> None:
    with pytest.raises(SelectionError, match="cannot be narrowed"):
        compare(report(training(400)), Selection(steps="1"), training(300), ALL)


def test_other_numbers_of_steps_are_compared_per_step() -> None:
    view = compare(report(training(400, 4)), ALL, training(400, 2), ALL)
    row = view.tables["operators"].frame.row(0, named=True)
    assert (row["baseline_calls"], row["candidate_calls"]) == (1, 1)


@given(data=st.data())
@examples(40)
def test_a_report_of_another_shape_is_refused_or_compared(data: st.DataObject) -> None:
    """Values of any cell, of the wrong type, missing or doubled, never crash."""
    trace = training(400)
    frame = report(trace).side["report_views"].frame
    view, text = frame.row(data.draw(st.integers(0, frame.height - 1)))
    answer = json_module.loads(text)
    name = data.draw(st.sampled_from(sorted(answer["tables"])))
    table = answer["tables"][name]
    table["row_count"] = len(table["rows"])
    change = data.draw(st.sampled_from(("cell", "row", "columns", "double", "table")))
    odd: object = data.draw(st.sampled_from((None, "x", -1, 1.5, True, 10**30, [], {})))
    if change == "table":
        answer["tables"][name] = odd
    elif change == "columns":
        table["columns"] = table["columns"][1:]
    elif table["rows"]:
        row = data.draw(st.integers(0, len(table["rows"]) - 1))
        if change == "cell":
            table["rows"][row][data.draw(st.integers(0, len(table["columns"]) - 1))] = odd
        elif change == "row":
            table["rows"][row] = table["rows"][row][:-1]
        else:
            table["rows"].append(table["rows"][row])
            table["row_count"] += 1
    texts = [json_module.dumps(answer) if each == view else own for each, own in frame.rows()]
    rest = ",".join(texts).encode()
    start = b'[{"schema_version":1,"view":"x","trace":{}},'
    side = build_trace(import_trace([start + rest + b"]"], name="r.json"))
    with suppress(SelectionError):
        compare(side, ALL, trace, ALL)


def test_a_report_opens_with_the_comparison() -> None:
    assert view_named("compare").is_first(report(training(400)))
    assert not view_named("compare").is_first(training(400))
