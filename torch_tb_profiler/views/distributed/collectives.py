"""Collectives by worker and process group: sizes, times, bandwidths."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.kernel_names import short_names
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.collectives import NO_GROUP, NO_SIZE, UNTIMED, worker_names
from torch_tb_profiler.views.distributed.columns import COLLECTIVES
from torch_tb_profiler.views.distributed.times import NO_TRANSFER, covered_with_transfer
from torch_tb_profiler.views.name_columns import DEMANGLED, SHORT, with_other_names
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shares import schema_before, with_shares

NO_BANDWIDTH = (
    "Needs the size and duration of the calls; bus bandwidth also needs the number of ranks in "
    "the group and the factor that nccl-tests defines for the collective."
)
ONE_RANK = "A group of one rank transfers no data over links."

_RECORD_KEY = ("worker", "record")


def collectives_table(matching: Matching, traces: Mapping[str, Trace]) -> Table:
    """The ``collectives`` table, in its default order."""
    no_size = missing_reason(next(iter(traces.values())), "collective_sizes", NO_SIZE)
    of_sizes = dict.fromkeys(("total_bytes", "mean_bytes"), no_size)
    calls = _in_groups(_with_own_times(matching))
    groups = _summed(calls)
    ranges = matching.ranges.join(calls.select(*_RECORD_KEY, "row"), on=list(_RECORD_KEY))
    total_ns, _ = covered_with_transfer(ranges, ranges["row"], groups.height)
    known = ranges.filter(pl.col("transfer_ns").is_not_null())
    _, transfer_ns = covered_with_transfer(known, known["row"], groups.height)
    timed = pl.col("untimed_calls") < pl.col("calls")
    frame = groups.with_columns(
        worker=worker_names(matching),
        total_ns=pl.when(timed).then(pl.Series(total_ns)),
        transfer_ns=pl.when(pl.col("known_calls") > 0).then(pl.Series(transfer_ns)),
        **_bandwidths(groups),
    )
    frame = frame.with_columns(
        total_us=microseconds(frame["total_ns"]),
        mean_us=microseconds(frame["total_ns"], frame["calls"]),
        mean_call_us=microseconds(frame["call_ns"], frame["calls"] - frame["untimed_calls"]),
        transfer_us=microseconds(frame["transfer_ns"]),
        mean_transfer_us=microseconds(frame["transfer_ns"], frame["known_calls"]),
    )
    frame = frame.with_columns(**dict.fromkeys((SHORT, DEMANGLED), pl.lit(None, pl.String)))
    schema = schema_before(COLLECTIVES)
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    table = Table(
        COLLECTIVES, shown, needed(shown, {**_REASONS, **of_sizes, **_bandwidth_reasons(shown)})
    )
    table = with_shares(in_default_order(table), "total_us", UNTIMED)
    return with_other_names(table, short_names(set(shown["name"].drop_nulls())))


def _summed(calls: pl.DataFrame) -> pl.DataFrame:
    """A row per ``row`` of the calls, in that order."""
    return (
        calls.group_by("row")
        .agg(
            pl.col("worker", "name", "group", "collective").first(),
            pl.len().cast(pl.Int64).alias("calls"),
            pl.when(pl.col("input_bytes").is_not_null().any())
            .then(pl.col("input_bytes").sum())
            .alias("total_bytes"),
            pl.col("input_bytes").mean().alias("mean_bytes"),
            pl.col("input_bytes").count().cast(pl.Int64).alias("sized_calls"),
            pl.when(pl.col("group_size").n_unique() == 1)
            .then(pl.col("group_size").first())
            .alias("group_size"),
            pl.col("duration_ns").sum().alias("call_ns"),
            pl.col("duration_ns").null_count().cast(pl.Int64).alias("untimed_calls"),
            pl.col("transfer_known").sum().cast(pl.Int64).alias("known_calls"),
            pl.col("match").is_null().sum().cast(pl.Int64).alias("unmatched_calls"),
            *_bandwidth_parts(),
        )
        .sort("row")
    )


_REASONS = {
    "group": NO_GROUP,
    "group_size": NO_GROUP,
    **dict.fromkeys(("total_us", "mean_us", "mean_call_us"), UNTIMED),
    **dict.fromkeys(("transfer_us", "mean_transfer_us"), NO_TRANSFER),
}


def _bandwidth_reasons(rows: pl.DataFrame) -> dict[str, str]:
    """Why bandwidths are null: all that holds for some row."""
    texts = [NO_BANDWIDTH]
    if (rows["group_size"] == 1).any():
        texts.append(ONE_RANK)
    if rows["total_us"].null_count():
        texts.append(UNTIMED)
    return dict.fromkeys(_BANDWIDTHS, " ".join(texts))


_BANDWIDTHS = (
    "algorithm_bandwidth_gb_per_s",
    "bus_bandwidth_gb_per_s",
    "transfer_bus_bandwidth_gb_per_s",
)


def _in_groups(calls: pl.DataFrame) -> pl.DataFrame:
    """Add ``row``, the row of the table."""
    key = pl.concat_str(
        pl.col("worker").cast(pl.String).str.zfill(8),
        "name",
        pl.col("group").fill_null(""),
        separator="\n",
    )
    return calls.with_columns(row=key.rank("dense").cast(pl.Int64) - 1)


def _with_own_times(matching: Matching) -> pl.DataFrame:
    """Calls with ``duration_ns`` (from first start to last end), ``transfer_ns`` (summed) and
    ``transfer_known``; nulls for calls without a range."""
    times = matching.ranges.group_by(_RECORD_KEY).agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("duration_ns"),
        pl.col("transfer_ns").sum(),
        pl.col("transfer_ns").is_not_null().all().alias("transfer_known"),
    )
    return matching.calls.join(times, on=list(_RECORD_KEY), how="left")


def _bandwidth_parts() -> list[pl.Expr]:
    """Sums over the calls whose size and duration are known, among two ranks or more."""
    several = (pl.col("group_size") != 1).fill_null(value=True)
    timed = several & pl.col("size_bytes").is_not_null() & (pl.col("duration_ns") > 0)
    moved = timed & pl.col("transfer_known") & (pl.col("transfer_ns") > 0)
    return [
        pl.col("size_bytes").filter(timed).sum().alias("timed_bytes"),
        pl.col("duration_ns").filter(timed).sum().alias("timed_ns"),
        pl.col("size_bytes").filter(moved).sum().alias("moved_bytes"),
        pl.col("transfer_ns").filter(moved).sum().alias("moved_ns"),
    ]


def _bandwidths(groups: pl.DataFrame) -> dict[str, pl.Expr]:
    """Bandwidths; bytes per ns are 10^9 bytes per second."""
    factors = [
        communication.bus_factor(kind or "", size or 0)
        for kind, size in zip(groups["collective"], groups["group_size"], strict=True)
    ]
    factor = pl.lit(pl.Series(factors, dtype=pl.Float64))
    timed = pl.when((pl.col("timed_ns") > 0) & (pl.col("timed_bytes") > 0)).then(
        pl.col("timed_bytes") / pl.col("timed_ns")
    )
    moved = pl.when((pl.col("moved_ns") > 0) & (pl.col("moved_bytes") > 0)).then(
        pl.col("moved_bytes") / pl.col("moved_ns")
    )
    return {
        "algorithm_bandwidth_gb_per_s": timed,
        "bus_bandwidth_gb_per_s": timed * factor,
        "transfer_bus_bandwidth_gb_per_s": moved * factor,
    }
