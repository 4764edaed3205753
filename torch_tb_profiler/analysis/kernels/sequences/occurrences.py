"""Occurrences of repeated sequences of kernels, with their times.

Definitions: ``docs/views-sequences.md#sequences``.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.attribution import WAITING_NS
from torch_tb_profiler.analysis.kernels.sequences.repeats import Run, find_repeats
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

FUSIBLE = (
    "elementwise", "reduction", "foreach", "normalization", "softmax", "loss", "copy", "layout",
    "fill", "random", "concatenation", "quantization", "pooling", "indexing",
)  # fmt: skip
"""Kinds of kernels (``knowledge/kernels.toml``) that a compiler can fuse."""

HEADS = ("gemm", "gemv", "convolution")
"""Kinds that may start a sequence: the rest may become their epilogue."""

BREAK_NS = 1_000_000
"""A run ends where its stream is idle for so long."""

MAX_KERNELS = 50_000
"""At most so many kernels of distinct runs are searched, the most frequent runs first."""


class SequenceOccurrences(Struct, frozen=True, eq=False):
    """Sequences, and each occurrence of one.

    Attributes:
        texts: Name codes of each sequence.
        has_head: Whether each starts with a matrix product or convolution.
        sequence: Per occurrence its sequence.
        first: Per occurrence the row of ``trace.device_work`` of its first kernel.
        busy_ns: Per occurrence the time of its kernels.
        head_ns: The part of it of the head.
        gap_ns: Per occurrence the idle time of the stream inside it.
        device_gap_ns: The part of it in gaps that the device makes between two launched kernels.
    """

    texts: tuple[Run, ...]
    has_head: Bools
    sequence: Int64
    first: Int64
    busy_ns: Int64
    head_ns: Int64
    gap_ns: Int64
    device_gap_ns: Int64


@per_split
def occurrences(trace: Trace) -> SequenceOccurrences:
    """The sequences of a trace."""
    order, begins, ends, head = _runs(trace)
    names = trace.device_work["name_code"].to_numpy()[order].astype(np.int32)
    starts_of: dict[bytes, list[int]] = defaultdict(list)
    text = names.tobytes()
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        starts_of[text[4 * begin : 4 * end]].append(begin)
    distinct = _most_frequent(starts_of)
    runs: list[Run] = [tuple(np.frombuffer(run, np.int32).tolist()) for run in distinct]
    repeats = find_repeats(runs, [len(starts_of[run]) for run in distinct])
    run_starts = [np.array(starts_of[run], np.int64) for run in distinct]
    sequence, start = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, parts in enumerate(repeats.values()):
        for run, offset in parts:
            start.append(run_starts[run] + offset)
            sequence.append(np.full(len(run_starts[run]), number))
    return _measure(
        trace,
        tuple(repeats),
        order,
        head,
        sequence=np.concatenate(sequence),
        start=np.concatenate(start),
    )


def _most_frequent(starts_of: dict[bytes, list[int]]) -> list[bytes]:
    """The runs that are searched."""
    chosen, kernels = [], 0
    for run in sorted(starts_of, key=lambda run: -len(starts_of[run])):
        kernels += len(run) // 4
        if kernels > MAX_KERNELS:
            break
        chosen.append(run)
    return chosen


def _runs(trace: Trace) -> tuple[Int64, Int64, Int64, Bools]:
    """Device work by stream and time (rows of ``trace.device_work``), the start and end of runs of
    two or more kernels in it, and which work is a head."""
    work = trace.device_work
    start = work["start_ns"].to_numpy()
    device, stream = indices(work["device"]), indices(work["stream"])
    order = np.lexsort((start, stream, device))
    kinds = kernel_name_kinds(trace)
    code = work["name_code"].to_numpy()[order]
    plain = kernel_kinds(trace).is_kernel[order] & ~kernel_kinds(trace).is_communication[order]
    fusible = plain & (
        kinds.verdicts(code, lambda k: codes.verdict(k.kind in FUSIBLE)) == codes.YES
    )
    head = plain & (kinds.verdicts(code, lambda k: codes.verdict(k.kind in HEADS)) == codes.YES)
    end = (start + work["dur_ns"].to_numpy())[order]
    step = device_work_steps(trace)[order]
    breaks = (device[order][1:] != device[order][:-1]) | (stream[order][1:] != stream[order][:-1])
    breaks |= (start[order][1:] - end[:-1] >= BREAK_NS) | (step[1:] != step[:-1])
    member = fusible | head
    before = np.append(False, member[:-1] & ~breaks)[: len(order)]
    opens = member & (head | ~before)
    begins = np.flatnonzero(opens)
    stops = np.flatnonzero(np.append(opens | ~member | np.append(True, breaks)[: len(order)], True))
    ends = stops[np.searchsorted(stops, begins, "right")] if len(begins) else begins
    long = ends - begins >= 2
    return order, begins[long], ends[long], head


def _measure(
    trace: Trace,
    texts: tuple[Run, ...],
    order: Int64,
    head: Bools,
    *,
    sequence: Int64,
    start: Int64,
) -> SequenceOccurrences:
    """Occurrences with their times."""
    work = trace.device_work
    dur = work["dur_ns"].to_numpy()[order]
    begin = work["start_ns"].to_numpy()[order]
    lengths = np.array([len(text) for text in texts], np.int64)
    length = lengths[sequence] if len(texts) else sequence
    busy = np.append(0, np.cumsum(dur))
    gap = np.maximum(begin[1:] - (begin + dur)[:-1], 0)
    gaps = np.append(0, np.cumsum(gap))
    launch = indices(work["launch"])[order]
    # Of a graph whose first kernel runs all others have arrived.
    is_launched = (launch[1:] == launch[:-1]) & (launch[1:] >= 0)
    is_launched |= _returned_ns(trace)[launch][1:] <= (begin + dur)[:-1]
    is_of_device = is_launched & (gap < WAITING_NS)
    device_gaps = np.append(0, np.cumsum(np.where(is_of_device, gap, 0)))
    last = start + length - 1
    has_head = np.zeros(len(texts), np.bool_)
    has_head[sequence] = head[start]
    return SequenceOccurrences(
        texts,
        has_head,
        sequence,
        order[start],
        busy[start + length] - busy[start],
        np.where(head[start], dur[start], 0),
        gaps[last] - gaps[start] if len(start) else start,
        device_gaps[last] - device_gaps[start] if len(start) else start,
    )


def _returned_ns(trace: Trace) -> Int64:
    """When the call of each slice id had returned; at the last place, which -1 finds, never."""
    end_ns = (trace.slices["start_ns"] + trace.slices["dur_ns"]).to_numpy()
    returned: Int64 = np.append(end_ns, np.iinfo(np.int64).max)
    return returned
