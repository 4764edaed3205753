"""Where each rank of a job ran: its node, and the switch that its node is connected to.

Sources, the first that is known of a rank: a small file beside the recordings
(``docs/views-ranks.md#where-ranks-ran``), the name of the machine in the recording, the name of the
worker as torch's own handler writes it (``node7_4321``: machine and process), and the rank divided
by the number of ranks per machine where the recording states that. Nothing else is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.rank_topology import NO_TOPOLOGY, RankTopology

LOCATION = pl.Schema({"host": pl.String, "local_world_size": pl.Int64})
"""What one recording states of where its rank ran; one row, null for what it does not state."""

LOCATIONS = pl.Schema(
    {
        "worker": pl.String,
        "rank": pl.Int64,  # null where it is not recorded
        "node": pl.String,  # null where it is unknown
        "switch": pl.String,  # null where it is unknown
        "source": pl.String,  # "file", "recording", "worker name", "local world size"; null
    }
)
"""One row per worker, in the given order."""

_TORCH_WORKER = re.compile(r"(?P<host>.*[^\d_].*?)_(?P<process>\d{2,10})")
"""``tensorboard_trace_handler`` calls a worker by its machine and process."""
_WORD = r"(?:worker|rank|host|proc|process|trace|gpu|dp|tp|pp|ep|step)s?\d*"
_NO_HOST = re.compile(rf"{_WORD}(?:_{_WORD})*", re.I)
"""Words before a number that name no machine: ``rank_12``, ``worker0_step_12``."""


@per_trace
def rank_topology(trace: Trace) -> RankTopology:  # noqa: ARG001 - provided where there is a file
    """What a file beside the recordings of the run states; nothing unless it was provided."""
    return NO_TOPOLOGY


@per_trace
def rank_location(trace: Trace) -> pl.DataFrame:
    """What the recording states of where its rank ran, as :data:`LOCATION`."""

    environment = trace.meta.info.settings.environment or {}
    text = environment.get("LOCAL_WORLD_SIZE", "")
    local = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
    row = {"host": trace.meta.info.host_name or None, "local_world_size": local or None}
    return pl.DataFrame([row], schema=LOCATION)


def rank_locations(traces: Mapping[str, Trace]) -> pl.DataFrame:
    """Where the ranks of a run ran, as :data:`LOCATIONS`."""
    if not traces:
        return pl.DataFrame(schema=LOCATIONS)
    stated = pl.concat([rank_location(trace) for trace in traces.values()])
    ranks = [own_rank(trace) for trace in traces.values()]
    named = [_host_of_worker(worker) for worker in traces]
    # Names that do not all follow it follow another convention: none of them is trusted.
    if None in named:
        named = [None] * len(named)
    topology = rank_topology(next(iter(traces.values())))
    of_worker = topology.node_of_worker.get
    in_file = [
        (None if rank is None else topology.node_of_rank.get(rank)) or of_worker(worker)
        for worker, rank in zip(traces, ranks, strict=True)
    ]
    frame = stated.with_columns(
        worker=pl.Series(list(traces), dtype=pl.String),
        rank=pl.Series(ranks, dtype=pl.Int64),
        in_file=pl.Series(in_file, dtype=pl.String),
        named=pl.Series(named, dtype=pl.String),
    ).with_columns(counted=pl.format("node {}", pl.col("rank") // pl.col("local_world_size")))
    sources = {
        "in_file": "file",
        "host": "recording",
        "named": "worker name",
        "counted": "local world size",
    }
    source = pl.coalesce(
        pl.when(pl.col(column).is_not_null()).then(pl.lit(text)) for column, text in sources.items()
    )
    located = frame.select(
        "worker", "rank", pl.coalesce(*sources).alias("node"), source.alias("source")
    )
    switch = [
        (None if rank is None else topology.switch_of_rank.get(rank))
        or (None if node is None else topology.switch_of_node.get(node))
        for rank, node in zip(ranks, located["node"].to_list(), strict=True)
    ]
    return (
        located.with_columns(switch=pl.Series(switch, dtype=pl.String))
        .select(LOCATIONS.names())
        .cast(LOCATIONS)
    )


def _host_of_worker(worker: str) -> str | None:
    match = _TORCH_WORKER.fullmatch(worker)
    if match is None or _NO_HOST.fullmatch(match["host"].rstrip("_")):
        return None
    return match["host"]
