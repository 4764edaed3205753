"""The table of copies and memsets of memory that devices did.

Definitions: ``docs/metrics.md#copies-and-sets``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.kernels.copies import copy_groups
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.filling import Rows, fill, microseconds, text
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

NO_DIRECTION = "The recording does not state the direction of the copy."
NO_HOST_MEMORY = "No host memory is involved, or its kind is not recorded."
NO_DEVICE = "The device was not recorded."
NO_BYTES = "The number of bytes was not recorded."
NO_RATE = "The number of bytes was not recorded, or the duration is 0."
NO_LAUNCH = "The launching call was not recorded."
NO_TIME = "The device work of the selection has no duration."


def _rate(rows: Rows) -> pl.Series:
    """Bytes per ns, which are 10^9 bytes per second; null of what took no time."""
    rate = pl.col("total_bytes") / pl.col("sized_ns")
    return rows.frame.select(pl.when(pl.col("sized_ns") > 0).then(rate)).to_series()


COPIES = TableSpec(
    "copies",
    "Copies and memsets",
    "One row per direction of a copy (or memset), kind of host memory and device. Kernels that "
    "copy count as kernels.",
    (
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "Direction: HtoD (host to device), DtoH, DtoD (within a device), PtoP (between "
            "devices), HtoH; or set for a memset.",
            null_reason=NO_DIRECTION,
        ),
        Column(
            "host_memory",
            "Host Memory",
            "string",
            None,
            "pageable, pinned or managed. A copy from or to pageable memory blocks the host and "
            "goes through a staging buffer of the driver.",
            null_reason=NO_HOST_MEMORY,
        ),
        Column("device", "Device", "integer", None, "Number of the device.", null_reason=NO_DEVICE),
        Column("calls", "Calls", "integer", "count", "Number of operations.", additive=True),
        Column(
            "total_bytes",
            "Size",
            "integer",
            "bytes",
            "Bytes copied or set.",
            additive=True,
            null_reason=NO_BYTES,
        ),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Summed duration on the device.",
            additive=True,
            value=microseconds("total_ns"),
        ),
        Column(
            "mean_us",
            "Mean",
            "number",
            "us",
            "Total divided by Calls.",
            family="call",
            value=microseconds("total_ns", divisor="calls"),
        ),
        Column(
            "rate_gb_per_s",
            "Rate",
            "number",
            "gb_per_s",
            "Size divided by the summed duration of the copies with a recorded size.",
            value=_rate,
            null_reason=NO_RATE,
        ),
        Column(
            "api_call",
            "Launched by",
            "string",
            None,
            "API function that launched most of them.",
            value=text("launch_code"),
            null_reason=NO_LAUNCH,
        ),
        Column(
            "total_pct",
            "Share",
            "number",
            "pct",
            "Total as share of the summed duration of all device work in the selection, kernels "
            "included.",
            additive=True,
            value=lambda rows: rows["share_pct"],
            null_reason=NO_TIME,
        ),
    ),
    sort="-total_us,-total_bytes,kind,host_memory,device",
    is_summary=True,
    when_empty="No copies or memsets in the selection.",
)


def copies_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`COPIES`, in default order.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    groups = copy_groups(trace, selection)
    durations = trace.device_work["dur_ns"]
    if not selection.is_everything:
        durations = durations.filter(pl.Series(device_work_mask(trace, selection)))
    shares = of_whole(groups["total_ns"], int(durations.sum())).alias("share_pct")
    return in_default_order(fill(COPIES, Rows(trace, groups.with_columns(shares))))
