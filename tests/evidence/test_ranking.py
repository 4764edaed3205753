"""The order of findings: by gain; of the same time once; of nearly the same gain by detector."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.detectors import detector
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.ranking import rank_findings
from torch_tb_profiler.views.schema import Note, Table


def found(code: str, gain_us: float | None, start: int, end: int) -> Finding:
    spec = detector(code).EVIDENCE
    table = Table(spec, pl.DataFrame(schema=spec.polars_schema()), {})
    time = Intervals(np.array([start]), np.array([end]))
    values = dict.fromkeys(("function", "steps", "longest", "median", "part", "excess"), "x")
    return Finding(code, 1.0, gain_us, table, values={**values, "steady": ""}, time=time)


def told(notes: tuple[Note, ...]) -> list[tuple[str, list[str]]]:
    return [
        (note.code, [each["code"] for each in note.evidence["same_time"]])  # type: ignore[attr-defined]
        for note in notes
    ]


def test_one_step_that_python_makes_slow_is_first_an_uneven_step() -> None:
    """Both lose the same time: the step says when, the function why."""
    uneven, python = found("uneven_steps", 99, 0, 120), found("python_code", 100, 10, 110)
    assert told(rank_findings([uneven, python])) == [("uneven_steps", ["python_code"])]


def test_of_clearly_different_gains_the_larger_is_first() -> None:
    uneven, python = found("uneven_steps", 60, 0, 120), found("python_code", 100, 10, 110)
    assert told(rank_findings([uneven, python])) == [("python_code", ["uneven_steps"])]


def test_other_time_is_another_finding() -> None:
    uneven, python = found("uneven_steps", 99, 0, 120), found("python_code", 100, 500, 600)
    assert told(rank_findings([uneven, python])) == [("python_code", []), ("uneven_steps", [])]
