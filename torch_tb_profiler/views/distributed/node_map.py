"""The map of a job: its hosts, their devices, and what went over the links between them.

Definitions: ``docs/views-distributed.md#map-of-the-nodes``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.ranks.locations import rank_locations
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

ALL_STEPS = "all"
_PARTS = ("computation_us", "overlap_us", "communication_us", "other_us")
_TOTAL = r"-total$"
"""Names of torch_npu's rows that sum up one kind of collective of a group; others repeat parts of
them."""


def _share(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "pct", text)


NODE_MAP = TableSpec(
    "node_map",
    "Map of the nodes",
    "One row per device of a rank: where it is, and how it spends its mean step.",
    (
        Column("node", "Host", "string", None, "Host of the rank; null: not recorded."),
        Column("switch", "Switch", "string", None, "Switch of the host, where a file names it."),
        WORKER,
        Column("rank", "Rank", "integer", None, "Rank, as recorded."),
        Column("device", "Device", "integer", None, "Number of the device on its host."),
        Column("device_name", "Name", "string", None, "What the device is."),
        _share("busy_pct", "Busy", "Share of the step in which it computes or communicates."),
        _share("exposed_pct", "Exposed Comm.", "Share in which it only communicates."),
        _share("wait_pct", "Wait", "Share in which it waits for other ranks in collectives."),
    ),
)

NODE_LINKS = TableSpec(
    "node_links",
    "Traffic between ranks",
    "One row per pair of ranks and kind of link: all that the selected steps sent over it, as "
    "reported in files of the workers.",
    (
        Column("source_rank", "From", "integer", None, "Sending rank."),
        Column("destination_rank", "To", "integer", None, "Receiving rank."),
        Column("transport", "Link", "string", None, "Transport: HCCS, PCIE, RDMA or SDMA."),
        Column("size_bytes", "Size", "number", "bytes", "Transferred data.", additive=True),
        Column("time_us", "Time", "number", "us", "Transfer time, summed.", additive=True),
        Column("bandwidth_gb_per_s", "Bandwidth", "number", "gb_per_s", "Size over Time."),
    ),
    sort="-size_bytes",
    when_empty="No file of the recordings states what went over which link.",
)


def node_map_tables(
    traces: Mapping[str, Trace],
    overlap: Table,
    wait: Table,
    devices: Table,
    links: pl.DataFrame | None,
) -> tuple[Table, Table]:
    """The tables ``node_map`` and ``node_links``.

    Args:
        traces: The workers, in order.
        overlap: The table of that name.
        wait: The table of that name.
        devices: The table of that name.
        links: The rows of the side table ``links`` with ``worker``; None where no worker has any.
    """
    return _devices(traces, overlap, wait, devices), _links(links)


def _devices(traces: Mapping[str, Trace], overlap: Table, wait: Table, devices: Table) -> Table:
    used = devices.frame.select("worker", device="gpu", device_name="name", host="node")
    shares = _shares(overlap.frame, wait.frame)
    frame = (
        rank_locations(traces)
        .join(used, on="worker", how="left", maintain_order="left")
        .join(shares, on="worker", how="left", maintain_order="left")
        .with_columns(node=pl.coalesce("node", "host"))
        .select(pl.col(key).cast(dtype) for key, dtype in NODE_MAP.polars_schema().items())
    )
    no_steps = "No whole step of the rank is recorded."
    reasons = {
        "node": "The host was not recorded.",
        "switch": "No file beside the recordings names the switch of the host.",
        "rank": "The rank was not recorded.",
        **dict.fromkeys(("device", "device_name"), "The recording holds no work of a device."),
        **dict.fromkeys(("busy_pct", "exposed_pct"), no_steps),
        "wait_pct": wait.null_reasons.get("wait_us", no_steps),
    }
    return Table(NODE_MAP, frame, needed(frame, reasons))


def _shares(overlap: pl.DataFrame, wait: pl.DataFrame) -> pl.DataFrame:
    """Per worker the shares of its mean step; of more than one process the mean."""
    step = pl.sum_horizontal(*_PARTS)
    mean = overlap.filter(step=ALL_STEPS).filter(step > 0)
    waits = wait.filter(step=ALL_STEPS).select("worker", "wait_us")
    return mean.join(waits, on="worker", how="left").select(
        "worker",
        busy_pct=100 * (step - pl.col("other_us")) / step,
        exposed_pct=100 * pl.col("communication_us") / step,
        wait_pct=100 * pl.col("wait_us") / step,
    )


def _links(links: pl.DataFrame | None) -> Table:
    schema = NODE_LINKS.polars_schema()
    if links is None:
        return Table(NODE_LINKS, pl.DataFrame(schema=schema))
    pair = ("source_rank", "destination_rank", "transport")
    group = ("worker", "step", "group")
    between = links.filter(
        pl.col("source_rank") != pl.col("destination_rank"), pl.col("size_bytes").is_not_null()
    )
    is_sum = pl.col("name").is_null()
    is_total = pl.col("name").str.contains(_TOTAL).fill_null(value=False)
    has_sum, has_total = (each.any().over(*group) for each in (is_sum, is_total))
    whole = between.filter(
        pl.when(has_sum).then(is_sum).when(has_total).then(is_total).otherwise(pl.lit(value=True))
    )
    by_worker = whole.group_by("worker", *pair).agg(
        pl.col("size_bytes").sum(), pl.col("time_us").sum()
    )
    # Both ends may report one transfer: the report of more is the whole of it.
    frame = (
        by_worker.sort("size_bytes", descending=True)
        .unique(list(pair), keep="first", maintain_order=True)
        .with_columns(
            bandwidth_gb_per_s=pl.when(pl.col("time_us") > 0).then(
                pl.col("size_bytes") / (1000 * pl.col("time_us"))
            )
        )
        .sort("size_bytes", *pair, descending=[True, False, False, False])
    )
    table = frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    reasons = dict.fromkeys(("time_us", "bandwidth_gb_per_s"), "The file gives no time.")
    return Table(NODE_LINKS, table, needed(table, reasons))
