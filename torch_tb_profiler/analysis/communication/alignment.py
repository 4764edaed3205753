"""Calls that order alone distinguishes, aligned by time where some of them were lost.

One call that a recording lost shifts all later calls of its kind, if they are counted. The calls
that are certain say how the clocks of the workers differ; on one clock the calls of one collective
end together. What no clock decides stays without a match
(``docs/views-distributed.md#which-calls-are-one-collective``).
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.communication.lags import rhythm_keys
from torch_tb_profiler.analysis.communication.offsets import (
    components,
    offsets_from,
    pair_offsets,
    typical_sigma,
)

TOLERANCE_SIGMAS = 6.0
"""Ends of one collective are at most so many standard deviations apart: of a million normal values
none is further out."""

FINEST_NS = 1000.0
"""Recorders write times in µs: no closer ends are distinguished."""


def align_by_time(calls: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Replace keys that only count calls, where time says otherwise, and add ``is_ambiguous``.

    Of calls that workers have different numbers of, those that end together on one clock get one
    key; those that nothing distinguishes get none and are ambiguous. Equal numbers may hide that
    each worker lost another call: there time decides where more calls end together by it than by
    order.

    Args:
        calls: With ``worker``, ``record``, ``key``, ``bucket`` and ``is_uneven`` of
            :func:`~torch_tb_profiler.analysis.communication.keys.add_keys`.
        spans: ``worker``, ``record``, ``start_ns`` and ``end_ns`` of the calls that have times.
    """
    if calls["bucket"].null_count() == calls.height:
        return calls.with_columns(is_ambiguous=pl.lit(value=False))
    call = ("worker", "record")
    timed = calls.join(spans, on=call, how="left", maintain_order="left", suffix="_there")
    is_timed = pl.col("end_ns").is_not_null()
    certain = timed.filter(~pl.col("is_uneven") & pl.col("key").is_not_null() & is_timed)
    counted = timed.filter(pl.col("bucket").is_not_null() & is_timed)
    workers = calls["worker"].unique().to_list()
    clocks, tolerance_ns = _clock_table(certain, workers)
    apart = _apart(counted, clocks)
    if apart.height:
        rhythm = apart.join(rhythm_keys(apart), on=call).with_columns(key="rhythm_key")
        certain = pl.concat([certain, rhythm.select(certain.columns)])
        clocks, tolerance_ns = _clock_table(certain, workers)
    clustered = _clustered(counted, clocks, tolerance_ns)
    aligned = _unambiguous(clustered)
    by_time = _decided_by_time(clustered, aligned, tolerance_ns)
    aligned = aligned.join(by_time, on="bucket", how="semi")
    return (
        calls.join(aligned.select(*call, "aligned_key"), on=call, how="left", maintain_order="left")
        .with_columns(
            is_timed=pl.col("is_uneven") | pl.col("bucket").is_in(by_time["bucket"].implode())
        )
        .with_columns(
            key=pl.when("is_timed").then("aligned_key").otherwise("key"),
            is_ambiguous=pl.col("is_timed") & pl.col("aligned_key").is_null(),
        )
        .drop("aligned_key", "is_timed")
    )


def _apart(counted: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """The calls of buckets with different numbers of calls whose workers no certain call connects:
    only their rhythm can say how the clocks differ."""
    components = clocks.select(pl.col("worker"), "component")
    known = counted.filter("is_uneven").with_columns(pl.col("worker").cast(pl.Int64))
    joined = known.join(components, on="worker", how="left", maintain_order="left")
    is_apart = (pl.col("component").n_unique() > 1) | pl.col("component").is_null().any()
    return joined.filter(is_apart.over("bucket")).drop("component")


def _decided_by_time(
    clustered: pl.DataFrame, aligned: pl.DataFrame, tolerance_ns: float
) -> pl.DataFrame:
    """The buckets of which workers have different numbers of calls, of which more calls end
    together by time than by order, or whose order joins calls of different moments: a collective
    runs on all its workers at once."""
    by_time = (
        aligned.group_by("bucket", "aligned_key")
        .len()
        .group_by("bucket")
        .agg(pl.col("len").filter(pl.col("len") > 1).sum().alias("by_time"))
    )
    by_order = (
        aligned.group_by("bucket", "key", "aligned_key")
        .len()
        .group_by("bucket", "key")
        .agg(pl.col("len").max())
        .group_by("bucket")
        .agg(pl.col("len").filter(pl.col("len") > 1).sum().alias("by_order"))
    )
    apart_ns = pl.col("start_ns").max() - pl.col("end_ns").min()
    buckets = (
        clustered.group_by("bucket", "component", "key")
        .agg(pl.col("is_uneven").any(), is_apart=apart_ns > tolerance_ns)
        .group_by("bucket")
        .agg(pl.col("is_uneven", "is_apart").any())
    )
    more = (pl.col("by_time") > pl.col("by_order")).fill_null(value=False)
    return (
        buckets.join(by_time, on="bucket", how="left")
        .join(by_order, on="bucket", how="left")
        .filter(pl.col("is_uneven") | pl.col("is_apart") | more)
        .select("bucket")
    )


def _clock_table(certain: pl.DataFrame, workers: list[int]) -> tuple[pl.DataFrame, float]:
    """Per worker the lowest one that it is connected with (``component``) and what turns its times
    into those of that one; and how far apart the ends of one collective may be. Without any worker
    where too few collectives are certain to say that."""
    ends = certain.select("worker", "end_ns", match=pl.col("key").rank("dense")).unique(
        ["worker", "match"], keep="none"
    )
    pairs = pair_offsets(ends)
    lowest = components(pairs, workers)
    rows = [
        (clock, reference, offset.offset_ns, offset.drift, offset.pivot_ns)
        for reference in sorted(set(lowest.values()))
        for clock, offset in offsets_from(pairs, reference).items()
    ]
    schema = {
        "worker": pl.Int64,
        "component": pl.Int64,
        "offset_ns": pl.Float64,
        "drift": pl.Float64,
        "pivot_ns": pl.Float64,
    }
    sigma = typical_sigma(pairs)
    table = pl.DataFrame(rows, schema=schema, orient="row")
    if sigma is None:
        return table.clear(), FINEST_NS
    return table, max(TOLERANCE_SIGMAS * sigma, FINEST_NS)


def _clustered(counted: pl.DataFrame, clocks: pl.DataFrame, tolerance_ns: float) -> pl.DataFrame:
    """The calls whose clocks are known, with times on the clock of their ``component`` and
    ``cluster``: equal in a bucket where ends follow each other without a gap."""
    within = ("bucket", "component")
    on_one_clock = (
        counted.with_columns(pl.col("worker").cast(pl.Int64))
        .join(clocks, on="worker")
        .with_columns(
            pl.col(time)
            + pl.col("offset_ns")
            + pl.col("drift") * (pl.col(time) - pl.col("pivot_ns"))
            for time in ("start_ns_there", "end_ns")
        )
        .with_columns(start_ns="start_ns_there")
        .sort(*within, "end_ns")
    )
    gap = pl.col("end_ns").diff().over(*within).fill_null(0.0) > tolerance_ns
    return on_one_clock.with_columns(cluster=gap.cum_sum().over(*within))


def _unambiguous(clustered: pl.DataFrame) -> pl.DataFrame:
    """Those of clusters that hold no worker twice, with ``aligned_key``."""
    cluster = ("bucket", "component", "cluster")
    return (
        clustered.with_columns(times=pl.len().over("worker", *cluster))
        .filter(pl.col("times").max().over(*cluster) == 1)
        .select(
            "worker",
            "record",
            "key",
            "bucket",
            aligned_key=pl.concat_str(
                pl.lit("t"), *(pl.col(name).cast(pl.String) for name in cluster), separator="\n"
            ),
        )
    )
