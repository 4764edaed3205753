"""The declared tables of the view of copies."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec

_KIND = Column(
    "kind",
    "Kind",
    "string",
    None,
    "Direction: HtoD (host to device), DtoH, DtoD (within a device), PtoP (between devices), HtoH.",
)
_HOST_MEMORY = Column(
    "host_memory",
    "Host Memory",
    "string",
    None,
    "pageable, pinned or managed. A copy from or to pageable memory blocks the host and goes "
    "through a staging buffer of the driver.",
)
_GPU = Column("gpu", "GPU", "integer", None, "Number of the device.")
_CALLS = Column("calls", "Calls", "integer", "count", "Number of copies.", additive=True)
_BYTES = Column("total_bytes", "Size", "integer", "bytes", "Bytes copied.", additive=True)
_RATE = Column(
    "rate_gb_per_s",
    "Rate",
    "number",
    "gb_per_s",
    "Size divided by the summed duration of the copies with a recorded size.",
    family="rate",
)
_LIMIT = Column(
    "limit_gb_per_s",
    "Limit",
    "number",
    "gb_per_s",
    "Peak rate of the link in one direction, as specified by the vendor: PCIe or NVLink-C2C to "
    "the host, NVLink or Infinity Fabric between devices; within a device half of the memory "
    "bandwidth, because a copy reads and writes.",
    family="rate",
)
_LIMIT_SHARE = Column("limit_pct", "Share of Limit", "number", "pct", "Rate as share of the limit.")


def _us(key: str, title: str, text: str, family: str, **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


KINDS = TableSpec(
    "copies_by_kind",
    "Copies by kind",
    "One row per direction of a copy, kind of host memory and GPU. Kernels that copy count as "
    "kernels; memsets are not included.",
    (
        _KIND,
        _HOST_MEMORY,
        _GPU,
        _CALLS,
        _BYTES,
        _us("total_us", "Time", "Summed duration on the device.", "time", additive=True),
        _RATE,
        Column(
            "max_rate_gb_per_s",
            "Highest Rate",
            "number",
            "gb_per_s",
            "Highest rate of a single copy.",
            family="rate",
        ),
        _LIMIT,
        _LIMIT_SHARE,
        Column(
            "link",
            "Link",
            "string",
            None,
            "Link to the host, as specified by the vendor.",
            hidden=True,
        ),
        _us(
            "beside_us",
            "Overlap",
            "Part of Time in which a kernel ran on the GPU, so that the copy cost no time.",
            "time",
            additive=True,
        ),
        Column("beside_pct", "Overlap Share", "number", "pct", "Overlap as share of Time."),
        _us(
            "host_us",
            "Host Calls",
            "Summed duration of the host calls that launched them; calls for pageable memory "
            "block.",
            "time",
            additive=True,
        ),
        Column(
            "pinned_saving_us",
            "Saved if Pinned",
            "number",
            "us",
            "Time saved if the pageable copies ran at the rate of large pinned copies in the "
            "recording, or at the limit of the link if there are none.",
            estimated=True,
            family="time",
            additive=True,
        ),
    ),
    sort="-total_us,-total_bytes,kind,host_memory,gpu",
    when_empty="No copies in the selection.",
)

SIZES = TableSpec(
    "copy_sizes",
    "Copies by size",
    "One row per direction, kind of host memory and size class (powers of two). Small copies are "
    "dominated by their fixed cost and reach only a fraction of the link rate.",
    (
        _KIND,
        _HOST_MEMORY,
        Column(
            "size", "Size Class", "string", None, "Size range of the class, upper bound excluded."
        ),
        Column(
            "from_bytes",
            "From",
            "integer",
            "bytes",
            "Smallest size of the class; the upper bound is twice that.",
            hidden=True,
        ),
        _CALLS,
        Column(
            "calls_pct",
            "Share of Calls",
            "number",
            "pct",
            "Share of the copies with this direction and kind of host memory.",
        ),
        _BYTES,
        Column(
            "bytes_pct", "Share of Size", "number", "pct", "Share of the bytes of these copies."
        ),
        _us("total_us", "Time", "Summed duration on the device.", "time", additive=True),
        _us("mean_us", "Mean", "Time divided by Calls.", "call"),
        _RATE,
        _LIMIT_SHARE,
    ),
    sort="kind,host_memory,from_bytes",
    is_summary=True,
    when_empty="No copies with a recorded size in the selection.",
)
