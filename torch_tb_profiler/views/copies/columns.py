"""The declared tables of the view of copies."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.views.schema import Column, TableSpec

_KIND = Column(
    "kind",
    "Kind",
    "string",
    None,
    "From where to where: HtoD (host to device), DtoH, DtoD (within a device), PtoP (between "
    "devices), HtoH.",
)
_HOST_MEMORY = Column(
    "host_memory",
    "Host Memory",
    "string",
    None,
    "pageable, pinned or managed. A copy from or to pageable memory keeps the host waiting and "
    "goes through a buffer of the driver.",
)
_GPU = Column("gpu", "GPU", "integer", None, "Number of the device.")
_CALLS = Column("calls", "Calls", "integer", "count", "How many copies there were.", additive=True)
_BYTES = Column("total_bytes", "Size", "integer", "bytes", "Bytes copied.", additive=True)
_RATE = Column(
    "rate_gb_per_s",
    "Rate",
    "number",
    "gb_per_s",
    "Size divided by the summed duration of those whose size is recorded.",
    family="rate",
)
_LIMIT = Column(
    "limit_gb_per_s",
    "Limit",
    "number",
    "gb_per_s",
    "What the link carries in one direction at most, by the vendor: PCIe or NVLink-C2C to the "
    "host, NVLink or Infinity Fabric between devices; within a device half of its memory "
    "bandwidth, as a copy reads and writes.",
    family="rate",
)
_LIMIT_SHARE = Column("limit_pct", "Share of Limit", "number", "pct", "Rate as share of the limit.")


def _us(key: str, title: str, text: str, family: str, **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


KINDS = TableSpec(
    "copies_by_kind",
    "Copies by kind",
    "One row per direction of a copy, kind of host memory and GPU. Kernels that copy are kernels, "
    "and fills of memory are no copies.",
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
            "The highest rate of a single copy.",
            family="rate",
        ),
        _LIMIT,
        _LIMIT_SHARE,
        Column("link", "Link", "string", None, "The link to the host, by the vendor.", hidden=True),
        _us(
            "beside_us",
            "Beside Kernels",
            "Part of Time in which a kernel ran on the GPU: it costs nothing.",
            "time",
            additive=True,
        ),
        Column("beside_pct", "Beside Share", "number", "pct", "That part as share of Time."),
        _us(
            "host_us",
            "Host Calls",
            "Summed duration of the calls that launched them: those of pageable memory wait.",
            "time",
            additive=True,
        ),
        Column(
            "pinned_saving_us",
            "Saved if Pinned",
            "number",
            "us",
            "How much less time the pageable ones would take at the pace of large copies of "
            "pinned memory in the recording, or where there are none of the link's limit.",
            estimated=True,
            family="time",
            additive=True,
        ),
    ),
    sort="-total_us,-total_bytes,kind,host_memory,gpu",
    when_empty="No copy is in the selection.",
)

SIZES = TableSpec(
    "copy_sizes",
    "Copies by size",
    "One row per direction, kind of host memory and class of size, a power of two: small copies "
    "pay for their beginning, and reach a fraction of the link's rate.",
    (
        _KIND,
        _HOST_MEMORY,
        Column("size", "Size Class", "string", None, "Sizes of the class, the upper not included."),
        Column(
            "from_bytes",
            "From",
            "integer",
            "bytes",
            "Smallest size of the class; the class ends below twice that.",
            hidden=True,
        ),
        _CALLS,
        Column("calls_pct", "Share of Calls", "number", "pct", "Its share of the copies of these."),
        _BYTES,
        Column("bytes_pct", "Share of Size", "number", "pct", "Its share of their bytes."),
        _us("total_us", "Time", "Summed duration on the device.", "time", additive=True),
        _us("mean_us", "Mean", "Time divided by Calls.", "call"),
        _RATE,
        _LIMIT_SHARE,
    ),
    sort="kind,host_memory,from_bytes",
    is_summary=True,
    when_empty="No copy of a recorded size is in the selection.",
)
