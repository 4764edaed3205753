"""``step_trace_raw_*_detail_time.csv``: the parts of each step, in ticks of 10 ns.

Format: docs/format-mindspore.md#step-trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from torch_tb_profiler.importers.mindspore.numbers import TICKS, mean, number, whole
from torch_tb_profiler.importers.mindspore.texts import csv_rows
from torch_tb_profiler.trace.quality import QualityReport

NEEDED = ("step_num", "start_point", "end_point", "total")

_TRANSFER = re.compile(r"(stream_.+)_start_point")
"""``stream_520_parallel_0_start_point``, ``stream_36_0_AllReduce-op4542_start_point``."""


class Step(NamedTuple):
    """A step: its number, where it begins and ends (ticks), and where each of its transfers
    (collectives, sends, receives) does, by name as :func:`~torch_tb_profiler.importers.mindspore.
    texts.key_of` writes it."""

    number: int
    start: int
    end: int
    transfers: Mapping[str, tuple[int, int]]


class StepTrace(NamedTuple):
    """The steps of a file, and the rows of ``recorded_step_trace`` that they make."""

    steps: list[Step]
    rows: list[dict[str, object]]


def read_step_trace(text: str, quality: QualityReport) -> StepTrace:
    """The steps; the last row, the mean of all but the first, is compared with them and left out.

    Raises:
        UnreadableError: it has another head.
    """
    steps: list[Step] = []
    rows: list[dict[str, object]] = []
    totals: list[Decimal] = []
    for cells in csv_rows(text, NEEDED, quality):
        step_number = whole(cells["step_num"])
        if not step_number:
            _check_mean(cells, totals[1:], quality)
            continue
        step = _step(step_number, cells)
        if step is None:
            quality.add("side_row_left_out")
            continue
        steps.append(step)
        totals.append(Decimal(whole(cells["total"]) or step.end - step.start))
        rows.append(_row(step, cells))
    return StepTrace(steps, rows)


def _step(step_number: int, cells: Mapping[str, str]) -> Step | None:
    start, end = whole(cells["start_point"]), whole(cells["end_point"])
    if start is None or end is None or end < start:
        return None
    transfers = {
        name: (first, last)
        for name, first, last in _transfers(cells)
        if 0 < first <= last  # zeros: this step has no such transfer
    }
    return Step(step_number, start, end, transfers)


def _transfers(cells: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    for key in cells:
        match = _TRANSFER.fullmatch(key)
        if match is not None:
            name = match[1]
            first, last = whole(cells[key]), whole(cells.get(f"{name}_end_point"))
            if first is not None and last is not None:
                yield name, first, last


def _row(step: Step, cells: Mapping[str, str]) -> dict[str, object]:
    """Inference has no backward pass: there the file tells ``fp``, the forward pass alone."""
    passes = cells.get("fp_and_bp", cells.get("fp"))
    return {
        "step": str(step.number),
        "total_us": number(cells["total"], TICKS),
        "interval_us": number(cells.get("iteration_interval"), TICKS),
        "forward_backward_us": number(passes, TICKS),
        "tail_us": number(cells.get("tail"), TICKS),
        "communication_us": _communication_us(step, cells),
    }


def _communication_us(step: Step, cells: Mapping[str, str]) -> float | None:
    """The time inside the step in which any transfer ran; None where the file tells of none at
    all."""
    if not any(_TRANSFER.fullmatch(key) for key in cells):
        return None
    ticks, reached = 0, step.start
    for first, told_last in sorted(step.transfers.values()):
        last = min(told_last, step.end)
        ticks += max(0, last - max(first, reached))
        reached = max(reached, last)
    return number(Decimal(ticks), TICKS)


def _check_mean(cells: Mapping[str, str], totals: list[Decimal], quality: QualityReport) -> None:
    told, own = whole(cells["total"]), mean(totals)
    if told is not None and own is not None and abs(told - own) > 1:
        quality.add("recorded_mean_differs")
