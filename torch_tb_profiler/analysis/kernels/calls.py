"""The kernels of a trace, each with its launch: the shared basis of every table of kernels.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.communication.certainty import may_communicate
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    eligible_slices,
    kernel_kinds,
    unknown_classes,
)
from torch_tb_profiler.analysis.recording.launch_measures import LAUNCH_KEYS, launch_measures
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def kernel_calls(trace: Trace) -> pl.DataFrame:
    """One row per kernel, in order of slice id, with its operator and verdicts.

    Columns: work (row of ``trace.device_work``), slice, name_code, operator_code (name of the
    owner), around_code (name of the innermost operator or range around the launch), eligible (of
    the owner, null without one), tensor_core, is_communication, may_communicate (it is unknown),
    recognized_by, unknown_class, device, stream, dur_ns, blocks_per_sm and
    est_achieved_occupancy_pct (of ``launch_measures``), and
    :data:`LAUNCH_KEYS`.
    """
    kinds = kernel_kinds(trace)
    rows = np.flatnonzero(kinds.is_kernel)
    work = trace.device_work.filter(pl.Series(kinds.is_kernel))
    owner = indices(work["owner"])
    owned = pl.Series(owner >= 0)
    node = indices(work["node"])
    names = trace.slices["name_code"].to_numpy()
    eligible = eligible_slices(trace)
    calls: pl.DataFrame = work.select(
        "slice",
        "name_code",
        "dur_ns",
        "device",
        "stream",
        *LAUNCH_KEYS,
        *launch_measures(trace).filter(pl.Series(kinds.is_kernel)),
        work=pl.Series(rows),
        tensor_core=pl.Series(kinds.tensor_core[kinds.is_kernel]),
        is_communication=pl.Series(kinds.is_communication[kinds.is_kernel]),
        may_communicate=pl.Series(may_communicate(trace)[kinds.is_kernel]),
        recognized_by=pl.Series(kinds.recognized_by[kinds.is_kernel]),
        unknown_class=pl.Series(unknown_classes(trace)[kinds.is_kernel]),
        around_code=pl.when(pl.Series(node >= 0)).then(pl.Series(names[node])),
        operator_code=pl.when(owned).then(pl.Series(names[owner])),
        eligible=pl.when(owned).then(pl.Series(eligible[owner])),
    )
    return calls


def selected_kernel_calls(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The rows of :func:`kernel_calls` in a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = kernel_calls(trace)
    if selection.is_everything:
        return calls
    is_kernel = kernel_kinds(trace).is_kernel
    return calls.filter(device_work_mask(trace, selection)[is_kernel])
