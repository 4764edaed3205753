"""``step_trace_raw_*_detail_time.csv``: the phases of each step, in ticks of 10 ns.

Format: docs/format-mindspore.md#step-trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from torch_tb_profiler.importers.mindspore.numbers import TICKS, integer, mean, number
from torch_tb_profiler.importers.mindspore.parsing import csv_rows
from torch_tb_profiler.trace.quality import QualityReport

NEEDED = ("step_num", "start_point", "end_point", "total")

MEAN_NUMBERS = ("-", "0")
"""What the mean has for the number of a step."""

_TRANSFER = re.compile(r"(stream_.+)_start_point")
"""``stream_520_parallel_0_start_point``, ``stream_36_0_AllReduce-op4542_start_point``."""


class RecordedStep(NamedTuple):
    """A step: number, start and end (ticks), and start and end of each of its transfers
    (collectives, sends, receives), by the name that
    :func:`~torch_tb_profiler.importers.mindspore.parsing.column_key` returns."""

    number: int
    start: int
    end: int
    transfers: Mapping[str, tuple[int, int]]


class ParsedStepTrace(NamedTuple):
    """The steps of a file, their rows of the side table ``recorded_step_trace``, and the row of
    ``recorded_mean_step``, if the file has one."""

    steps: list[RecordedStep]
    rows: list[dict[str, object]]
    mean: list[dict[str, object]]


def read_step_trace(text: str, quality: QualityReport) -> ParsedStepTrace:
    """Read the steps, and the last row, the mean of all but the first step.

    Raises:
        UnreadableFileError: it has another header.
    """
    steps: list[RecordedStep] = []
    rows: list[dict[str, object]] = []
    means: list[dict[str, object]] = []
    totals: list[Decimal] = []
    for cells in csv_rows(text, NEEDED, quality):
        step_number = integer(cells["step_num"])
        if not step_number:
            _check_mean(cells, totals[1:], quality)
            if cells["step_num"].strip() in MEAN_NUMBERS and (step := _step(0, cells)):
                means = [_durations(step, cells)]
            continue
        step = _step(step_number, cells)
        if step is None:
            quality.add("side_row_left_out")
            continue
        steps.append(step)
        totals.append(Decimal(integer(cells["total"]) or step.end - step.start))
        rows.append(_row(step, cells))
    for row in means:
        # A step without a transfer has zeros for it: the mean of such points is none.
        row["communication_us"] = _mean_communication_us(rows[1:])
    return ParsedStepTrace(steps, rows, means)


def _mean_communication_us(rows: list[dict[str, object]]) -> float | None:
    known = [us for row in rows if isinstance(us := row["communication_us"], float)]
    return sum(known) / len(known) if known else None


def _step(step_number: int, cells: Mapping[str, str]) -> RecordedStep | None:
    start, end = integer(cells["start_point"]), integer(cells["end_point"])
    if start is None or end is None or end < start:
        return None
    transfers = {
        name: (first, last)
        for name, first, last in _transfers(cells)
        if 0 < first <= last  # zeros mean that the step has no such transfer
    }
    return RecordedStep(step_number, start, end, transfers)


def _transfers(cells: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    for key in cells:
        match = _TRANSFER.fullmatch(key)
        if match is not None:
            name = match[1]
            first, last = integer(cells[key]), integer(cells.get(f"{name}_end_point"))
            if first is not None and last is not None:
                yield name, first, last


def _row(step: RecordedStep, cells: Mapping[str, str]) -> dict[str, object]:
    return {"step": str(step.number), **_durations(step, cells)}


def _durations(step: RecordedStep, cells: Mapping[str, str]) -> dict[str, object]:
    """Inference has no backward pass: its files have ``fp``, the forward pass alone."""
    passes = cells.get("fp_and_bp", cells.get("fp"))
    return {
        "total_us": number(cells["total"], TICKS),
        "interval_us": number(cells.get("iteration_interval"), TICKS),
        "forward_backward_us": number(passes, TICKS),
        "tail_us": number(cells.get("tail"), TICKS),
        "communication_us": _communication_us(step, cells),
    }


def _communication_us(step: RecordedStep, cells: Mapping[str, str]) -> float | None:
    """The time in the step during which any transfer ran; None if the file has no transfers."""
    if not any(_TRANSFER.fullmatch(key) for key in cells):
        return None
    ticks, covered_until = 0, step.start
    for first, recorded_last in sorted(step.transfers.values()):
        last = min(recorded_last, step.end)
        ticks += max(0, last - max(first, covered_until))
        covered_until = max(covered_until, last)
    return number(Decimal(ticks), TICKS)


def _check_mean(cells: Mapping[str, str], totals: list[Decimal], quality: QualityReport) -> None:
    recorded, computed = integer(cells["total"]), mean(totals)
    if recorded is not None and computed is not None and abs(recorded - computed) > 1:
        quality.add("recorded_mean_differs")
