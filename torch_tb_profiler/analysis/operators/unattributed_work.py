"""Device work that no operator launched, by the host call that did.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.idle.gaps import gaps_before
from torch_tb_profiler.analysis.operators.call_stacks import call_stacks
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

UNASSOCIATED = "unassociated_"
"""Before the name of a kernel or a device call: the operator, type or range that it counts as
where none is around it."""

UNKNOWN_LAUNCH = "(launch not recorded)"
"""The name of the row of device work without a launch in the file."""

_LAUNCHES = {
    "name_code": pl.Int64,
    "call_stack_code": pl.Int32,
    "device_ns": pl.Int64,
    "tensor_core_ns": pl.Int64,
    "tensor_core_unknown_ns": pl.Int64,
    "known": pl.Boolean,
    "unknown": pl.Boolean,
    "calls": pl.Int64,
    "host_ns": pl.Int64,
}
"""The columns of :func:`launches_outside`, where there are none."""


@per_trace
def work_outside(trace: Trace) -> pl.DataFrame:
    """One row per kernel, copy and memset that no operator launched; made once.

    Columns: row (of ``trace.device_work``), launch (slice of the host call that launched it, -1
    where the file does not tell), name_code of that (-1 for none), dur_ns, tensor_core_ns (dur_ns
    where the kernel uses Tensor Cores, else 0), tensor_core_unknown_ns (likewise of kernels no
    rule knows), known and unknown (whether it is a kernel some
    rule knows, or none).
    """
    work, kinds = trace.device_work, kernel_kinds(trace)
    is_inside = np.append(operator_mask(trace), False)[indices(work["owner"])]
    rows = np.flatnonzero(~is_inside)
    launch = indices(work["launch"])[rows]
    duration = work["dur_ns"].to_numpy()[rows]
    verdict, is_kernel = kinds.tensor_core[rows], kinds.is_kernel[rows]
    return pl.DataFrame(
        {
            "row": rows,
            "launch": launch,
            "name_code": gather(indices(trace.slices["name_code"]), launch),
            "dur_ns": duration,
            "tensor_core_ns": np.where(verdict == codes.YES, duration, 0),
            "tensor_core_unknown_ns": np.where(verdict == codes.UNKNOWN, duration, 0),
            "known": is_kernel & (verdict != codes.UNKNOWN),
            "unknown": is_kernel & (verdict == codes.UNKNOWN),
        }
    )


def launches_outside(
    trace: Trace, selection: Selection, *, by_stack: bool, with_gaps: bool = False
) -> pl.DataFrame:
    """Selected device work that no operator launched, by name of the host call that did.

    Columns: name_code (-1: the file does not tell what launched it), call_stack_code where asked
    for, calls and host_ns (of launching calls that are selected; null where not told), device_ns,
    tensor_core_ns, tensor_core_unknown_ns, and whether any kernel is known or unknown; and where
    asked for gap_before_ns, the idle time of devices directly before the work.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    everything = work_outside(trace)
    if everything.is_empty():
        return pl.DataFrame(schema=_LAUNCHES | ({"gap_before_ns": pl.Int64} if with_gaps else {}))
    if with_gaps:
        gaps = gaps_before(trace)[everything["row"].to_numpy()]
        everything = everything.with_columns(gap_before_ns=pl.Series(gaps))
    keys = ["name_code"]
    if by_stack:
        stack = np.append(call_stacks(trace).code, np.int32(-1))[everything["launch"].to_numpy()]
        everything = everything.with_columns(call_stack_code=pl.Series(stack))
        keys.append("call_stack_code")
    work, calls = everything, everything.select("launch", *keys).filter(pl.col("launch") >= 0)
    calls = calls.unique("launch", maintain_order=True)
    if not selection.is_everything:
        rows = everything["row"].to_numpy()
        work = work.filter(pl.Series(device_work_mask(trace, selection)[rows]))
        chosen = slice_mask(trace, selection)[calls["launch"].to_numpy()]
        calls = calls.filter(pl.Series(chosen))
    duration = trace.slices["dur_ns"].gather(calls["launch"])
    host = (
        calls.with_columns(host_ns=duration)
        .group_by(keys)
        .agg(pl.len().cast(pl.Int64).alias("calls"), pl.col("host_ns").sum())
    )
    device = work.group_by(keys, maintain_order=True).agg(
        pl.col("dur_ns").sum().alias("device_ns"),
        pl.col("tensor_core_ns", "tensor_core_unknown_ns").sum(),
        pl.col("known", "unknown").any(),
        *([pl.col("gap_before_ns").sum()] if with_gaps else []),
    )
    has_launch = pl.col("name_code") >= 0
    return device.join(host, on=keys, how="left", maintain_order="left").with_columns(
        pl.when(has_launch).then(pl.col("calls", "host_ns").fill_null(0))
    )
