"""Where repeated sequences of kernels run. Definitions: ``docs/views-sequences.md#sequences``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.kernels.sequences.repeated import Run, repeated
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds, kernel_name_kinds
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

FUSIBLE = (
    "elementwise", "reduction", "foreach", "normalization", "softmax", "loss", "copy", "layout",
    "fill", "random", "concatenation", "quantization", "pooling", "indexing",
)  # fmt: skip
"""Kinds of kernels (``knowledge/kernels.toml``) that a compiler can make one kernel of."""

HEADS = ("gemm", "gemv", "convolution")
"""Kinds that may begin a sequence: what follows may become their epilogue."""

BREAK_NS = 1_000_000
"""A stream that ran nothing for so long has ended a run."""

MAX_KERNELS = 50_000
"""Kernels of different runs that are looked at, those that come most often first."""


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Sequences, and each time that one ran.

    Attributes:
        texts: Name codes of each sequence.
        has_head: Whether each begins with a matrix product or convolution.
        sequence: Per occurrence its sequence.
        first: Per occurrence the row of ``trace.device_work`` of its first kernel.
        busy_ns: Per occurrence how long its kernels ran.
        head_ns: The part of that of the head.
        gap_ns: Per occurrence how long the stream ran nothing inside it.
    """

    texts: tuple[Run, ...]
    has_head: Bools
    sequence: Int64
    first: Int64
    busy_ns: Int64
    head_ns: Int64
    gap_ns: Int64


@per_split
def occurrences(trace: Trace) -> Occurrences:
    """The sequences of a trace."""
    order, begins, ends, head = _runs(trace)
    names = trace.device_work["name_code"].to_numpy()[order].astype(np.int32)
    places: dict[bytes, list[int]] = defaultdict(list)
    text = names.tobytes()
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        places[text[4 * begin : 4 * end]].append(begin)
    distinct = _most_frequent(places)
    runs: list[Run] = [tuple(np.frombuffer(run, np.int32).tolist()) for run in distinct]
    found = repeated(runs, [len(places[run]) for run in distinct])
    where = [np.array(places[run], np.int64) for run in distinct]
    sequence, start = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, parts in enumerate(found.values()):
        for run, at in parts:
            start.append(where[run] + at)
            sequence.append(np.full(len(where[run]), number))
    return _measured(
        trace, tuple(found), order, head, np.concatenate(sequence), np.concatenate(start)
    )


def _most_frequent(places: dict[bytes, list[int]]) -> list[bytes]:
    """The runs that are looked at."""
    chosen, kernels = [], 0
    for run in sorted(places, key=lambda run: -len(places[run])):
        kernels += len(run) // 4
        if kernels > MAX_KERNELS:
            break
        chosen.append(run)
    return chosen


def _runs(trace: Trace) -> tuple[Int64, Int64, Int64, Bools]:
    """Device work by stream and time (rows of ``trace.device_work``), where runs of two or more
    kernels in that begin and end, and which work is a head."""
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


def _measured(
    trace: Trace, texts: tuple[Run, ...], order: Int64, head: Bools, *found: Int64
) -> Occurrences:
    """Occurrences with their times."""
    sequence, start = found
    work = trace.device_work
    dur = work["dur_ns"].to_numpy()[order]
    begin = work["start_ns"].to_numpy()[order]
    lengths = np.array([len(text) for text in texts], np.int64)
    length = lengths[sequence] if len(texts) else sequence
    busy = np.append(0, np.cumsum(dur))
    gap = np.maximum(begin[1:] - (begin + dur)[:-1], 0)
    gaps = np.append(0, np.cumsum(gap))
    has_head = np.zeros(len(texts), np.bool_)
    has_head[sequence] = head[start]
    return Occurrences(
        texts,
        has_head,
        sequence,
        order[start],
        busy[start + length] - busy[start],
        np.where(head[start], dur[start], 0),
        gaps[start + length - 1] - gaps[start] if len(start) else start,
    )
