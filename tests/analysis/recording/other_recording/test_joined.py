"""What another recording adds to a trace: arguments of its kernels, on the trace's own slices."""

from __future__ import annotations

import numpy as np

from tests.helpers.traces import Event, call, columns, kernel, op, step
from torch_tb_profiler.analysis.recording.other_recording.joined import join, kernels_of
from torch_tb_profiler.analysis.recording.other_recording.matching import (
    KernelMatch,
    match_kernels,
)
from torch_tb_profiler.importers.slice_arguments import ArgumentRows, add_arguments
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

COUNT = 30


def _kernels(late_us: float) -> list[Event]:
    rng = np.random.default_rng(1)
    starts = np.cumsum(rng.integers(50, 400, COUNT)).tolist()
    return [
        kernel(f"k{number % 4}", late_us + start, 20 + number % 7, corr=number + 1)
        for number, start in enumerate(starts)
    ]


def _built(events: list[Event], arguments: dict[str, dict[int, object]]) -> Trace:
    """The trace whose kernels have these arguments, by correlation."""
    given = columns(events)

    def code(text: str) -> int:
        if text not in given.strings:
            given.strings.append(text)
        return given.strings.index(text)

    correlation = given.tables["slices"]["correlation"].tolist()
    is_kernel = [name == Category.KERNEL for name in given.tables["slices"]["category"].tolist()]
    rows = ArgumentRows(code)
    for key, values in arguments.items():
        for number, value in values.items():
            (row,) = (
                row for row, each in enumerate(correlation) if each == number and is_kernel[row]
            )
            rows.add(row, key, value)
    add_arguments(given, [rows.table()])
    return build_trace(given)


def _joined(own: Trace, other: Trace) -> Trace:
    (first, own_rows), (second, other_rows) = kernels_of(own), kernels_of(other)
    match = match_kernels(first, second)
    assert isinstance(match, KernelMatch)
    return join(own, other, match, (own_rows, other_rows), "Other: file")


def _arguments(joined: Trace) -> dict[tuple[int, str], object]:
    """Correlation and key → value."""
    correlation = joined.slices["correlation"].to_list()
    return {
        (correlation[row], str(joined.text(key))): value if text is None else joined.text(text)
        for row, key, value, text in joined.arguments.iter_rows()
    }


def test_kernels_get_the_arguments_of_the_other_recording() -> None:
    launches = [call("cudaLaunchKernel", 5 * number, 2, corr=number + 1) for number in range(COUNT)]
    own = _built(
        [step(1, 0, 9000), op("aten::mm", 0, 300), *launches, *_kernels(400)],
        {"queued": {3: 1.5}, "SQ_WAVES": {4: 7}},
    )
    other = _built(_kernels(1e6), {"SQ_WAVES": {2: 64, 4: 128, 30: 256}, "note": {2: "shared"}})
    joined = _joined(own, other)
    assert _arguments(joined) == {
        (2, "SQ_WAVES"): 64,
        (2, "note"): "shared",
        (3, "queued"): 1.5,
        (4, "SQ_WAVES"): 7,  # what the trace itself has of a kernel stays
        (30, "SQ_WAVES"): 256,
    }
    assert joined.arguments["slice"].is_sorted()
    assert joined.device_work.equals(own.device_work)


def test_slices_beyond_the_time_of_the_trace_are_cut() -> None:
    own = _built([step(1, 400, 5000), *_kernels(400)], {})
    other = _built(
        [op("wide", 1e6 - 5000, 40_000), op("late", 1e6 + 90_000, 5), *_kernels(1e6)], {}
    )
    added = _joined(own, other).slices[own.slices.height :]
    assert (added["start_ns"] >= own.meta.start_ns).all()
    assert (added["start_ns"] + added["dur_ns"] <= own.meta.end_ns).all()
    assert added.height == COUNT + 1
    assert added["id"].to_list() == list(range(own.slices.height, own.slices.height + COUNT + 1))
    longest = added["dur_ns"].max()
    assert longest == own.meta.end_ns - own.meta.start_ns
