"""The view ``sequences``: which kernels follow each other again and again.

Definitions: ``docs/views-sequences.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.sequences.occurrences import (
    SequenceOccurrences,
    occurrences,
)
from torch_tb_profiler.analysis.kernels.sequences.repeats import Run
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK, missing_reason
from torch_tb_profiler.analysis.recording.module_tree import modules_around
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.sequences.answer import answer
from torch_tb_profiler.views.sequences.columns import SEQUENCES
from torch_tb_profiler.views.spec import ViewSpec

NO_OPERATOR = "The operator that launched it is unknown."
NO_MODULE = "The module around it is unknown."
NO_KERNELS = "The selection contains no kernels."
ARROW = " → "


def sequences(trace: Trace, selection: Selection) -> View:
    """The repeated sequences of a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    repeats = occurrences(trace)
    mask = device_work_mask(trace, selection)
    rows = np.flatnonzero(mask[repeats.first])
    frame = _frame(trace, repeats, rows)
    is_kernel = kernel_kinds(trace).is_kernel & mask
    all_ns = int(trace.device_work["dur_ns"].to_numpy()[is_kernel].sum())
    reasons = {"operators": NO_OPERATOR, "module": NO_MODULE}
    table = in_default_order(Table(SEQUENCES, frame, needed(frame, reasons)))
    inside_ns = _inside_ns(trace, repeats, rows, is_kernel)
    return View(tables={SEQUENCES.name: table}, facts=_facts(frame, inside_ns, all_ns))


def _inside_ns(trace: Trace, repeats: SequenceOccurrences, rows: Int64, is_kernel: Bools) -> int:
    """How long kernels of the selection run inside these occurrences; an occurrence that begins in
    the selection may end behind it."""
    order, position = _in_streams(trace)
    length = np.array([len(text) for text in repeats.texts], np.int64)[repeats.sequence[rows]]
    first = position[repeats.first[rows]]
    opens = np.zeros(len(order) + 1, np.int64)
    np.add.at(opens, first, 1)
    np.add.at(opens, first + length, -1)
    inside = order[np.cumsum(opens[:-1]) > 0]
    return int(trace.device_work["dur_ns"].to_numpy()[inside[is_kernel[inside]]].sum())


def _in_streams(trace: Trace) -> tuple[Int64, Int64]:
    """The rows of ``trace.device_work`` stream by stream in order of time, and the place of each
    row in that."""
    work = trace.device_work
    device, stream, start = (work[key] for key in ("device", "stream", "start_ns"))
    order = np.lexsort((start.to_numpy(), indices(stream), indices(device)))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return order, position


def _frame(trace: Trace, repeats: SequenceOccurrences, rows: Int64) -> pl.DataFrame:
    count = len(repeats.texts)
    sequence = repeats.sequence[rows]

    def summed(values: Int64) -> Int64:
        total = np.zeros(count, np.int64)
        np.add.at(total, sequence, values[rows])
        return total

    calls = np.bincount(sequence, minlength=count)
    present = np.flatnonzero(calls)
    length = np.array([len(text) for text in repeats.texts], np.int64)[present]
    busy, head, gap, device_gap = (
        summed(each)[present]
        for each in (repeats.busy_ns, repeats.head_ns, repeats.gap_ns, repeats.device_gap_ns)
    )
    calls = calls[present]
    first = np.full(count, trace.device_work.height, np.int64)
    np.minimum.at(first, sequence, repeats.first[rows])
    first = first[present]
    shorts = kernel_names(trace).shorts
    texts = [repeats.texts[number] for number in present.tolist()]
    return pl.DataFrame(
        {
            "sequence": [_short(text, shorts) for text in texts],
            "length": length,
            "calls": calls,
            "saved_us": (device_gap + (busy - head) * (1 - 2 / (length + 1))) / NS_PER_US,
            "kernel_us": busy / NS_PER_US,
            "gap_us": gap / NS_PER_US,
            "device_gap_us": device_gap / NS_PER_US,
            "mean_kernel_us": busy / (length * calls * NS_PER_US),
            "launches": (length - 1) * calls,
            "kind": np.where(repeats.has_head[present], "epilogue", "chain").tolist(),
            "operators": _operators(trace, first, length),
            "module": _modules(trace, first),
            "full_names": [ARROW.join(str(trace.strings[c]) for c in text) for text in texts],
            "slice": trace.device_work["slice"].to_numpy()[first],
        },
        schema=SEQUENCES.polars_schema(),
    )


def _short(text: Run, shorts: Mapping[int, str]) -> str:
    """Short names in order; equal ones in a row once, with how many."""
    parts = [(shorts.get(code, "?"), len(list(same))) for code, same in groupby(text)]
    return ARROW.join(name if count == 1 else f"{name} ×{count}" for name, count in parts)


def _operators(trace: Trace, first: Int64, length: Int64) -> list[str | None]:
    """What launched the kernels of each sequence the first time: names, each once in a row."""
    owner = indices(trace.device_work["owner"])
    order, position = _in_streams(trace)
    names = trace.slices["name_code"].to_numpy()
    labels: list[str | None] = []
    for row, count in zip(position[first].tolist(), length.tolist(), strict=True):
        owners = [own for own in owner[order[row : row + count]].tolist() if own >= 0]
        distinct = dict.fromkeys(str(trace.strings[names[own]]) for own in owners)
        labels.append(ARROW.join(distinct) or None)
    return labels


def _modules(trace: Trace, first: Int64) -> list[str | None]:
    owner = indices(trace.device_work["owner"])[first]
    around = gather(modules_around(trace), owner)
    named = gather(trace.slices["name_code"].to_numpy().astype(np.int64), around)
    return [trace.text(code) for code in named.tolist()]


def _facts(frame: pl.DataFrame, inside_ns: int, all_ns: int) -> tuple[Fact, ...]:
    saved = float(frame["saved_us"].sum())
    return (
        Fact(
            "saved_us",
            "Fusing Might Save (est.)",
            saved,
            "us",
            None,
            "Sum of the possible savings of all sequences. The estimate assumes memory-bound "
            "kernels and does not check whether other kernels read the intermediate results.",
        ),
        Fact(
            "sequence_count",
            "Sequences",
            frame.height,
            "count",
            None,
            "Number of different sequences that ran three times or more in the recording.",
        ),
        Fact(
            "covered_pct",
            "Share of Kernel Time",
            100 * inside_ns / all_ns if all_ns else None,
            "pct",
            None,
            "Share of kernel time inside these sequences.",
            None if all_ns else NO_KERNELS,
        ),
        Fact(
            "launches_saved",
            "Launches Saved",
            int(frame["launches"].sum()),
            "count",
            None,
            "Launches avoided if each sequence were one kernel.",
        ),
    )


def _missing(trace: Trace) -> str | None:
    if kernel_kinds(trace).is_kernel.any():
        return None
    return missing_reason(trace, "kernels", NO_DEVICE_WORK)


SPEC = ViewSpec(
    name="sequences",
    title="Kernels: Sequences",
    help="Which sequences of kernels repeat and could be fused into one kernel?",
    scope="trace",
    tables=(SEQUENCES,),
    function=sequences,
    missing=_missing,
    by_phase=True,
    leading_facts=("saved_us",),
    answer=answer,
)
