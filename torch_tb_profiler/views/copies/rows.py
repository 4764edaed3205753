"""The rows of copies by kind, and by size."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.kernels.copy_bandwidth import link_limits, pinned_savings
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason
from torch_tb_profiler.knowledge.links import link_rates
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.copies.columns import KINDS, SIZES
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table

NO_DIRECTION = "The direction is not part of the name of the copy."
NO_HOST_MEMORY = "No host memory is involved, or its kind is not part of the name."
NO_DEVICE = "The device was not recorded."
NO_BYTES = "The number of bytes was not recorded."
NO_RATE = "The number of bytes was not recorded, or the duration is 0."
NO_LIMIT = (
    "The peak rate of the link is unknown: the device model is unknown, the vendor does not "
    "publish it, or the copy has no direction."
)
NO_LAUNCH = "The launching call was not recorded."
NO_SAVING = (
    "The copies are not from or to pageable memory, or their size or the rate of pinned copies "
    "is unknown."
)
_REASONS = {
    "kind": NO_DIRECTION,
    "host_memory": NO_HOST_MEMORY,
    "gpu": NO_DEVICE,
    "total_bytes": NO_BYTES,
    "rate_gb_per_s": NO_RATE,
    "max_rate_gb_per_s": NO_RATE,
    "limit_gb_per_s": NO_LIMIT,
    "limit_pct": f"{NO_LIMIT} Or the rate is unknown.",
    "link": NO_LIMIT,
    "beside_pct": "The duration is 0.",
    "host_us": NO_LAUNCH,
    "pinned_saving_us": NO_SAVING,
}
_SIZED = pl.col("bytes").is_not_null()
_RATED = _SIZED & (pl.col("dur_ns") > 0)
# Bytes per ns are 10^9 bytes per second.
_RATE = pl.when(pl.col("sized_ns") > 0).then(pl.col("total_bytes") / pl.col("sized_ns"))
_SUMS = (
    pl.len().cast(pl.Int64).alias("calls"),
    pl.when(_SIZED.any()).then(pl.col("bytes").sum()).alias("total_bytes"),
    pl.col("dur_ns").sum().alias("total_ns"),
    pl.col("dur_ns").filter(_SIZED).sum().alias("sized_ns"),
)


def kinds_table(trace: Trace, selected: pl.DataFrame) -> Table:
    """The rows of :data:`KINDS` of some copies."""
    saved = pl.Series("saved_ns", pinned_savings(trace, selected), nan_to_null=True)
    keys = ["kind", "host_memory", "device"]
    groups = (
        selected.with_columns(saved)
        .group_by(keys, maintain_order=True)
        .agg(
            *_SUMS,
            (pl.col("bytes") / pl.col("dur_ns")).filter(_RATED).max().alias("max_rate_gb_per_s"),
            pl.col("overlapped_ns").sum(),
            pl.when(pl.col("call_ns").is_not_null().any()).then(pl.col("call_ns").sum()),
            pl.when(pl.col("saved_ns").is_not_null().any()).then(pl.col("saved_ns").sum()),
        )
    )
    known = link_limits(trace)
    names = dict(trace.devices.select("device", "name").iter_rows())
    limit = [known.get(key) for key in groups.select("kind", "device").iter_rows()]
    frame = groups.with_columns(
        gpu=pl.col("device"),
        total_us=microseconds(groups["total_ns"]),
        rate_gb_per_s=_RATE,
        limit_gb_per_s=pl.Series(limit, dtype=pl.Float64),
        link=pl.Series(
            [_link(kind, names.get(gpu)) for kind, gpu in groups.select("kind", "device").rows()],
            dtype=pl.String,
        ),
        beside_us=microseconds(groups["overlapped_ns"]),
        beside_pct=pl.when(pl.col("total_ns") > 0).then(
            100.0 * pl.col("overlapped_ns") / pl.col("total_ns")
        ),
        host_us=microseconds(groups["call_ns"]),
        pinned_saving_us=microseconds(groups["saved_ns"]),
    ).with_columns(limit_pct=100 * pl.col("rate_gb_per_s") / pl.col("limit_gb_per_s"))
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in KINDS.polars_schema().items())
    reasons = _REASONS | {"total_bytes": missing_reason(trace, "copies", NO_BYTES)}
    return in_default_order(Table(KINDS, shown, needed(shown, reasons)))


def _link(kind: str | None, name: str | None) -> str | None:
    device_links = link_rates(name) if name is not None and kind in ("HtoD", "DtoH") else None
    return None if device_links is None else device_links.host_name


def sizes_table(trace: Trace, selected: pl.DataFrame) -> Table:
    """The rows of :data:`SIZES` of some copies."""
    known = link_limits(trace)
    sized = selected.filter(_SIZED)
    limit = [known.get(key) for key in sized.select("kind", "device").iter_rows()]
    sized = sized.with_columns(limit=pl.Series(limit, dtype=pl.Float64))
    keys = ["kind", "host_memory"]
    groups = sized.group_by([*keys, "size_class"], maintain_order=True).agg(
        *_SUMS,
        # What the bytes would take at the limit, where each has one.
        least_ns=pl.when(pl.col("limit").is_not_null().all()).then(
            (pl.col("bytes") / pl.col("limit")).sum()
        ),
    )
    frame = groups.with_columns(
        size=pl.col("size_class").map_elements(_size_text, return_dtype=pl.String),
        from_bytes=pl.when(pl.col("size_class") >= 0)
        .then(pl.lit(2, pl.Int64).pow(pl.col("size_class").clip(0)))
        .otherwise(0),
        total_us=microseconds(groups["total_ns"]),
        mean_us=microseconds(groups["total_ns"], groups["calls"]),
        rate_gb_per_s=_RATE,
        limit_pct=pl.when(pl.col("sized_ns") > 0).then(
            100.0 * pl.col("least_ns") / pl.col("sized_ns")
        ),
        calls_pct=100 * pl.col("calls") / pl.col("calls").sum().over(keys),
        bytes_pct=_share_of_bytes(keys),
    )
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in SIZES.polars_schema().items())
    reasons = {key: text for key, text in _REASONS.items() if key in shown.columns}
    reasons |= {"bytes_pct": "The size is 0 bytes."}
    return in_default_order(Table(SIZES, shown, needed(shown, reasons)))


def _size_text(exponent: int) -> str:
    """``"16–32 KiB"`` for 14, ``"0"`` for -1."""
    if exponent < 0:
        return "0"
    divisor, label = next(
        (1 << bits, label)
        for bits, label in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B"))
        if exponent >= bits
    )
    first = (1 << exponent) // divisor
    return f"{first}–{2 * first} {label}"


def _share_of_bytes(keys: list[str]) -> pl.Expr:
    whole = pl.col("total_bytes").sum().over(keys)
    return pl.when(whole > 0).then(100.0 * pl.col("total_bytes") / whole)
