"""The JSON answer: its shape to the letter, what JSON cannot write."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.reports import json as json_report
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import (
    Column,
    Fact,
    Line,
    Note,
    Series,
    Table,
    TableSpec,
    View,
)
from torch_tb_profiler.views.spec import ViewSpec

NAME = Column("name", "Name", "string", None, "Which one.")
SELF = Column("self_us", "Self", "number", "us", "How long.", estimated=True)
TREE = TableSpec("nodes", "Nodes", "A row is a node.", (NAME, SELF), "-self_us", ("name", "name"))

NOT_NARROWED = dict.fromkeys(
    [
        *("iterations_by", "phase", "domain", "forward_start", "backward_end"),
        *("iteration", "operator_id", "at_us", "at_operator", "operator", "peak", "what_if"),
        *("measure", "parallel"),
    ]
)
"""Keys that scripts may rely on, beside those of time and grouping."""


def _never(_trace: Trace, _selection: Selection) -> View:
    raise AssertionError


REF = {"run": "r", "worker": "w", "span": "s"}
SPEC = ViewSpec("demo", "Demo", "What?", "trace", (TREE,), _never, ("name", "name+shape"))


def _table(names: list[str | None], numbers: list[float | None]) -> Table:
    frame = pl.DataFrame({"name": names, "self_us": numbers}, TREE.polars_schema())
    return Table(TREE, frame, {"self_us": "not measured"}, row_count=7)


def _dumps(view: View, selection: Selection | None = None, run: str = "r") -> bytes:
    subject = Subject(run, "w", "s", selection or Selection())
    return json_report.dumps(ViewResult(SPEC, view, subject))


def _answer(view: View, selection: Selection | None = None, run: str = "r") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_dumps(view, selection, run))
    return answer


def test_the_whole_shape() -> None:
    view = View(
        tables={"nodes": _table(["a", None], [1.5, None])},
        series={
            "curve": Series(
                "Curve", "stair", "Time", "us", "Size", "bytes", (Line("GPU 0", [0.5], [None]),)
            )
        },
        facts=(Fact("gpu_utilization_pct", "GPU utilization", 12.5, "pct", "GPU 0", "Busy."),),
        notes=(Note("quality", "truncated", "warning", "Cut.", {"count": 1}),),
        answer="One node takes all the time.",
    )
    assert _answer(view, Selection("3,5:8", 1500, None, "name+shape")) == {
        "schema_version": 1,
        "view": "demo",
        "title": "Demo",
        "group_bys": ["name", "name+shape"],
        "trace": {"run": "r", "worker": "w", "span": "s"},
        "answer": "One node takes all the time.",
        "selection": {
            "steps": "3,5:8",
            "start_us": 1.5,
            "end_us": None,
            "group_by": "name+shape",
            **NOT_NARROWED,
        },
        "tables": {
            "nodes": {
                "title": "Nodes",
                "help": "A row is a node.",
                "columns": [
                    {
                        "key": "name",
                        "title": "Name",
                        "type": "string",
                        "unit": None,
                        "help": "Which one.",
                        "estimated": False,
                        "family": None,
                        "hidden": False,
                        "additive": False,
                    },
                    {
                        "key": "self_us",
                        "title": "Self",
                        "type": "number",
                        "unit": "us",
                        "help": "How long.",
                        "estimated": True,
                        "family": None,
                        "hidden": False,
                        "additive": False,
                    },
                ],
                "rows": [["a", 1.5], [None, None]],
                "row_count": 7,
                "null_reasons": {"self_us": "not measured"},
                "why_empty": None,
                "sort": "-self_us",
                "tree": {"id": "name", "parent": "name"},
                "help_url": None,
            }
        },
        "series": {
            "curve": {
                "title": "Curve",
                "kind": "stair",
                "x_title": "Time",
                "x_unit": "us",
                "y_title": "Size",
                "y_unit": "bytes",
                "lines": [{"name": "GPU 0", "x": [0.5], "y": [None]}],
            }
        },
        "facts": [
            {
                "key": "gpu_utilization_pct",
                "title": "GPU utilization",
                "value": 12.5,
                "unit": "pct",
                "scope": "GPU 0",
                "help": "Busy.",
                "reason": None,
            }
        ],
        "notes": [
            {
                "kind": "quality",
                "code": "truncated",
                "severity": "warning",
                "text": "Cut.",
                "evidence": {"count": 1},
            }
        ],
    }


def test_the_default_group_by_is_named() -> None:
    assert _answer(View())["selection"] == {
        "steps": None,
        "start_us": None,
        "end_us": None,
        "group_by": "name",
        **NOT_NARROWED,
    }


def test_nan_and_infinities_are_null() -> None:
    view = View(tables={"nodes": _table(["a", "b", "c"], [math.nan, math.inf, -math.inf])})
    rows = _answer(view)["tables"]["nodes"]["rows"]
    assert [row[1] for row in rows] == [None, None, None]
    note = Note("advice", "x", "info", "t", {"gain_us": math.nan})
    assert b"NaN" not in _dumps(View(notes=(note,)))


def test_a_file_name_that_is_no_utf8_can_be_written() -> None:
    assert _answer(View(), run="a\udcff")["trace"] == {**REF, "run": "a?"}


def test_hostile_text_survives_as_text() -> None:
    name = '<img onerror=alert(1)>"\x1b[31m\u202e\n\\'
    view = View(tables={"nodes": _table([name], [1.0])})
    tables = _answer(view)["tables"]
    assert tables == {"nodes": {**tables["nodes"], "rows": [[name, 1.0]]}}
