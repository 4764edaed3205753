"""Our summary of Paddle's own recordings says what Paddle printed of them, row by row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.importers.kineto.reference import read_file
from tests.views.summary.paddle_tables import Printed, tables
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.summary.view import summary

ROUNDING_US = 0.0151
"""Half of the last digit printed, and the few ns that start times of single precision lose."""

ROUNDING_PCT = 0.0051
FIGURES = ("cpu_total_us", "cpu_mean_us", "cpu_max_us", "cpu_min_us", "cpu_pct")

Row = dict[str, Any]


@pytest.fixture(scope="module", params=["w0.json", "w0.pb", "w2.json", "w2.pb"])
def recording(request: pytest.FixtureRequest, corpus: Path) -> tuple[Path, Trace]:
    """The path of what was printed, without its ending, and the recording as one of its exports."""
    name, _, ending = str(request.param).partition(".")
    folder = corpus / "paddle_3.3.1" / "oracle"
    return folder / name, build_trace(read_file(folder / f"{name}.paddle_trace.{ending}"))


Recording = tuple[Path, Trace]


def ours(recording: Recording, group_by: str) -> View:
    return summary(recording[1], Selection(group_by=group_by))


def text_of(recording: Recording, which: str) -> str:
    path = recording[0]
    return path.with_name(f"{path.name}.{which}.txt").read_text(encoding="utf-8")


def printed(recording: Recording, which: str) -> dict[str, list[Printed]]:
    return tables(text_of(recording, which))


def assert_same(row: Row, theirs: Printed) -> None:
    assert row["calls"] == theirs.calls, theirs.name
    for key, expected in zip(FIGURES, theirs.numbers, strict=False):
        if expected is None:
            assert row[key] is None
        else:
            within = ROUNDING_PCT if key.endswith("_pct") else ROUNDING_US
            assert row[key] == pytest.approx(expected, abs=within), (theirs.name, key)
    # Paddle prints 0 for what a recording without a device cannot tell.
    assert row["gpu_total_us"] is None
    assert set(theirs.numbers[len(FIGURES) :]) <= {0.0, None}


def rows_of(view: View, table: str) -> list[Row]:
    rows: list[Row] = view.tables[table].frame.rows(named=True)
    return rows


def test_device_and_overview(recording: Recording) -> None:
    view, theirs = ours(recording, "name"), printed(recording, "summary_us")
    text = text_of(recording, "summary_us")
    for row in rows_of(view, "device"):
        (line,) = [each for each in text.splitlines() if each.startswith(f"{row['device']}  ")]
        assert row["utilization_pct"] == pytest.approx(float(line.split()[-1]), abs=0.005)

    overview = rows_of(view, "overview")
    assert [row["type"] for row in overview] == [row.name for row in theirs["Overview"]]
    for row, (_, _, calls, (time_us, pct)) in zip(overview, theirs["Overview"], strict=True):
        assert (row["side"], row["calls"]) == ("host", calls)
        assert row["time_us"] == pytest.approx(time_us, abs=ROUNDING_US), row
        assert row["pct"] == pytest.approx(pct, abs=ROUNDING_PCT)


def test_model_and_user_ranges(recording: Recording) -> None:
    view, theirs = ours(recording, "name"), printed(recording, "summary_us")
    for table, title in (("model", "Model"), ("user_defined", "UserDefined")):
        own = {row["name"]: row for row in rows_of(view, table)}
        assert list(own) == [row.name for row in theirs[title]]
        for row in theirs[title]:
            assert_same(own[row.name], row)
    assert {row["thread"] for row in rows_of(view, "user_defined")} == {"all"}


def test_operators_with_their_parts(recording: Recording) -> None:
    theirs = printed(recording, "summary_us")["Operator"]
    own = {
        (row["parent"] or row["path"], row["name"]): row
        for row in rows_of(ours(recording, "name+parts"), "operator")
    }
    assert len(own) == len(theirs) == 64
    outer = ""
    for row in theirs:
        outer = outer if row.indent else row.name
        assert_same(own[outer, row.name], row)


def test_operators_and_ranges_of_each_thread(recording: Recording) -> None:
    view, theirs = ours(recording, "name+thread"), printed(recording, "summary_threads_us")
    for table, title in (("operator", "Operator"), ("user_defined", "UserDefined")):
        own = {row["name"]: row for row in rows_of(view, table)}
        assert len(own) == len(theirs[title])
        for row in theirs[title]:
            assert_same(own[row.name], row)
        assert {row["thread"] for row in own.values()} <= {"30590", "30680"}


def test_tables_that_paddle_leaves_out_have_no_rows(recording: Recording) -> None:
    view = ours(recording, "name")
    for name in ("distributed", "kernel", "memory_manipulation"):
        assert view.tables[name].frame.is_empty()
        assert view.tables[name].why_empty


MEMORY_ROW = re.compile(r"^(\S.*?) {2,}Allocated +(\d+) +(\d+) +(\d+) +(\d+) +(-?\d+) *$", re.M)


def test_memory_by_place(recording: Recording) -> None:
    """Equal to the byte, in the same order but where increases are equal."""
    theirs = [
        (name, *map(int, numbers))
        for name, *numbers in MEMORY_ROW.findall(text_of(recording, "summary_us"))
    ]
    own = [tuple(row.values()) for row in rows_of(ours(recording, "name"), "memory")]
    assert {row[0] for row in own} == {"CPU"}
    named = [row[1:] for row in own if row[1] is not None]
    assert len(theirs) > 30
    assert sorted(named) == sorted(theirs)
    assert [row[-1] for row in named] == [row[-1] for row in theirs]
