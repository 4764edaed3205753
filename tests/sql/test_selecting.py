"""Views that a query names over a part of a recording and in other groupings, against sums over
the tables of the trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.api_result import Result
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.trace.categories import Category

TOTALS = "select sum(calls) as calls, sum(total_us) as total_us from kernels"


@pytest.fixture(scope="module")
def resnet(samples: Path) -> Iterator[OpenedTrace]:
    """Steps 5 to 10."""
    with open_trace(samples / "kineto_resnet50_nw0", span="1", cache=False) as trace:
        yield trace


def kernels_between(trace: OpenedTrace, first: str, last: str) -> tuple[int, float]:
    """Number and total time in µs of the kernels that start from the begin of one step on the
    device to the end of another."""
    bounds = {row["name"]: row for row in trace.trace.steps.iter_rows(named=True)}
    start = pl.col("start_ns")
    kernels = trace.trace.device_work.filter(
        (pl.col("category") == Category.KERNEL)
        & (start >= bounds[first]["start_ns"])
        & (start < bounds[last]["end_ns"])
    )
    return kernels.height, float(kernels["dur_ns"].sum()) / 1000


def texts(result: Result) -> str:
    return " ".join(note.text for note in result.notes)


def test_views_are_those_of_the_steps(resnet: OpenedTrace) -> None:
    whole = resnet.sql(TOTALS)
    assert whole.frame.row(0) == kernels_between(resnet, "5", "10")
    assert not whole.notes
    part = resnet.sql(TOTALS, steps="6:7")
    assert part.frame.row(0) == kernels_between(resnet, "6", "7") != whole.frame.row(0)
    assert texts(part) == "Tables of views are those of the selection: steps 6:7."
    assert resnet.sql(TOTALS, steps=range(6, 8)).frame.equals(part.frame)


def test_raw_tables_stay_whole_and_a_note_says_so(resnet: OpenedTrace) -> None:
    query = "select count(*) from raw.device_work"
    whole, part = resnet.sql(query), resnet.sql(query, steps="6")
    assert whole.frame.equals(part.frame)
    assert texts(part) == "raw.device_work: whole recordings, whatever is selected (steps 6)."
    both = resnet.sql(f"{TOTALS} where calls < ({query})", steps="6")
    assert "Tables of views are those of the selection: steps 6. raw.device_work:" in texts(both)
    assert not resnet.sql("select 1", steps="6").notes


def test_rows_are_grouped_as_asked(resnet: OpenedTrace) -> None:
    query = "select count(*), sum(calls), count(input_shape) from operators"
    rows, calls, shapes = resnet.sql(query).frame.row(0)
    by_shape = resnet.sql(query, group_by="name+input_shape")
    more_rows, same_calls, more_shapes = by_shape.frame.row(0)
    assert more_rows > rows
    assert (same_calls, shapes) == (calls, 0)
    assert more_shapes > 0
    both = "select count(*) from operators, (select 1 from efficiency.operators limit 1)"
    grouped = resnet.sql(both, group_by="name+input_shape")
    assert grouped.frame.row(0) == (more_rows,)
    assert "efficiency: default grouping, as there is none by name+input_shape." in texts(grouped)


def test_what_is_not_there_is_refused(resnet: OpenedTrace) -> None:
    with pytest.raises(RequestError, match=r"no view of the query can be grouped by 'x'") as error:
        resnet.sql("select 1 from operators", group_by="x")
    assert "operators: name, name+input_shape" in (error.value.problem.hint or "")
    with pytest.raises(RequestError, match="there is no step '77'"):
        resnet.sql(TOTALS, steps="77")
    with pytest.raises(TypeError, match=r"sql\(\) got an unexpected keyword argument 'stepz'"):
        resnet.sql(TOTALS, stepz="6")
    with pytest.raises(RequestError, match="no view of the query"):
        resnet.sql("select 1 from raw.slices", group_by="name")


def test_recordings_without_the_steps_are_left_out_with_a_note(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from torch_tb_profiler.cli import main  # noqa: PLC0415

    # Span 1 has steps 5 to 10, span 2 those from 16 on.
    query = "select distinct span from kernels"
    path = str(samples / "kineto_resnet50_nw0")
    arguments = ["sql", path, query, "--format", "md", "--no-cache"]
    assert main([*arguments, "--steps", "6"]) == 0
    printed = capsys.readouterr().out
    assert "kernels.kernels has no rows of" in printed
    assert "there is no step '6'" in printed
    assert main([*arguments, "--steps", "77"]) == 2
    assert "there is no step '77'" in capsys.readouterr().err


def test_a_phase_that_a_view_ignores_is_noted(resnet: OpenedTrace) -> None:
    result = resnet.sql("select count(*) from iterations", phase="forward")
    assert "the phase forward does not apply" in texts(result)
