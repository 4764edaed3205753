"""``<worker>.throughput.json``: the throughput of a recording, for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from torch_tb_profiler.recorder.events import EVALUATION, TRAIN
from torch_tb_profiler.recorder.throughput.figures import (
    UNKNOWN,
    WARMUP_RULE,
    StepColumns,
    Throughput,
    step_figures,
)

THROUGHPUT_SUFFIX = ".throughput.json"
THROUGHPUT_KINDS = ("steps", "timer", "window", "profiler")
"""Kinds of journal blocks the figures are computed from."""

PROFILED_KINDS = THROUGHPUT_KINDS[2:]

_Row = tuple[int, int, int, int]


def throughput_from_blocks(blocks: Iterable[Mapping[str, Any]]) -> Throughput | None:
    """Compute the throughput from the blocks of a journal; None without steps.

    Duplicate steps count once; invalid values are skipped.
    """
    columns_by_phase = {TRAIN: StepColumns(), EVALUATION: StepColumns()}
    warmup_steps = 0
    windows: dict[str, tuple[int | None, int | None]] = {}
    for block in blocks:
        kind = block.get("kind")
        if kind == "steps":
            columns = columns_by_phase.get(str(block.get("phase")), StepColumns())
            for row in _rows(block):
                columns.add(*row)
        elif kind == "timer":
            warmup_steps = _int_or(block.get("warmup_steps"), warmup_steps) or 0
        elif kind in PROFILED_KINDS:
            trace = str(block.get("trace", block.get("start_ns")))
            start_ns, end_ns = windows.get(trace, (None, None))
            windows[trace] = (
                _int_or(block.get("start_ns"), start_ns),
                _int_or(block.get("end_ns"), end_ns),
            )
    if not any(map(len, columns_by_phase.values())):
        return None
    trained, evaluated = (
        _in_order(columns_by_phase.pop(TRAIN)),
        _in_order(columns_by_phase.pop(EVALUATION)),
    )
    train, _ = _split_by_windows(islice(_rows_of(trained), warmup_steps, None), windows.values())
    _, traced = _split_by_windows(islice(_rows_of(trained), 1, None), windows.values())
    evaluation, _ = _split_by_windows(_rows_of(evaluated), windows.values())
    return Throughput(
        warmup_steps=min(warmup_steps, len(trained)),
        warmup_rule=WARMUP_RULE,
        train=step_figures(train),
        evaluation=step_figures(evaluation),
        traced=step_figures(traced),
    )


def write_throughput(path: str, throughput: Throughput) -> None:
    """Write the file atomically.

    Raises:
        OSError: it cannot be written.
    """
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(throughput.as_dict(), file, indent=2, allow_nan=False)
        file.write("\n")
    os.replace(partial, path)


def _rows(block: Mapping[str, Any]) -> Iterable[_Row]:
    names = ("start_ns", "end_ns", "reader_ns", "samples")
    columns = [block.get(name) for name in names]
    if not all(isinstance(column, list) for column in columns):
        return
    for start_ns, end_ns, reader_ns, samples in zip(*columns, strict=False):
        start, end = _int_or(start_ns, None), _int_or(end_ns, None)
        if start is not None and end is not None and end >= start:
            yield start, end, _or_unknown(reader_ns), _or_unknown(samples)


def _in_order(steps: StepColumns) -> StepColumns:
    """The steps sorted by time without duplicates. Columns, because there may be millions."""
    if all(map(int.__lt__, steps.start_ns, steps.start_ns[1:])):
        return steps
    in_order, last = StepColumns(), None
    for at in sorted(range(len(steps)), key=lambda at: _row(steps, at)):
        row = _row(steps, at)
        if row != last:
            in_order.add(*row)
        last = row
    return in_order


def _row(steps: StepColumns, at: int) -> _Row:
    return steps.start_ns[at], steps.end_ns[at], steps.reader_ns[at], steps.samples[at]


def _rows_of(steps: StepColumns) -> Iterator[_Row]:
    return zip(steps.start_ns, steps.end_ns, steps.reader_ns, steps.samples, strict=True)


def _split_by_windows(
    rows: Iterable[_Row], slowed: Collection[tuple[int | None, int | None]]
) -> tuple[StepColumns, StepColumns]:
    """Split steps into those outside the slowed time ranges and those that overlap one."""
    outside, inside = StepColumns(), StepColumns()
    for row in rows:
        is_slowed = any(
            start_ns is not None and row[1] > start_ns and (end_ns is None or row[0] < end_ns)
            for start_ns, end_ns in slowed
        )
        (inside if is_slowed else outside).add(*row)
    return outside, inside


def _int_or(value: object, otherwise: int | None) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    return otherwise


def _or_unknown(value: object) -> int:
    whole = _int_or(value, None)
    return UNKNOWN if whole is None else whole
