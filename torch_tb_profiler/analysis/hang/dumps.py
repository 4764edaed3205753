"""The dumps of all ranks as one set of columns.

What several dumps of a rank repeat counts once. A *channel* is a process group with one back end:
each back end counts its own sequence numbers. Definitions: ``docs/views-hang.md#definitions``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.communication.metadata import own_rank, world_size
from torch_tb_profiler.analysis.hang.attempts import earlier_attempts, without_dumps
from torch_tb_profiler.analysis.hang.channels import GroupChannels, channels_of
from torch_tb_profiler.analysis.hang.signatures import distinct_calls
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

SCHEDULED, STARTED, COMPLETED = range(3)
"""States of a call, as indices in ``FLIGHT_STATES``."""

TABLES = ("flight_dumps", "flight_groups", "flight_calls", "flight_stacks", "flight_entries")

_OFFSETS = {"dump": "flight_dumps", "group": "flight_groups", "call": "flight_calls",
            "stack": "flight_stacks"}  # fmt: skip


class FlightDumps(Struct, frozen=True):
    """The dumps of a run.

    Attributes:
        files: One row per dump, with ``worker`` and ``rank``; where no name says the rank, dumps
            are numbered in their order.
        entries: One row per call: ``rank``, ``channel``, ``is_transfer``, ``sequence``, ``part``
            (its number among the calls with this sequence number), ``call``, ``compared`` (equal
            for calls that fit each other), ``stack``, ``state`` (:data:`SCHEDULED` …, of a batch
            that of the batch), ``is_marker`` (the end of a batch), times since 1970.
        calls: One row per distinct call, as in ``flight_calls``.
        stacks: One row per distinct stack, as in ``flight_stacks``.
        channels: The channels.
        has_ranks: Whether the ranks are known.
        older: Ranks whose dump is left out, as others completed what it lacks.
        earlier: Files that are left out, as they are of earlier attempts of the job.
    """

    files: pl.DataFrame
    entries: pl.DataFrame
    calls: pl.DataFrame
    stacks: pl.DataFrame
    channels: GroupChannels
    has_ranks: bool
    older: tuple[int, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def ranks(self) -> list[int]:
        """The ranks with a dump that counts, in order."""
        return sorted(set(self.files["rank"].to_list()).difference(self.older))


def has_dump(trace: Trace) -> bool:
    """Whether a trace is a dump, or was joined with one."""
    return "flight_entries" in trace.side


def collect_dumps(traces: Mapping[str, Trace]) -> FlightDumps | None:
    """The dumps of all workers; None where there is none."""
    dumped = {worker: trace for worker, trace in traces.items() if has_dump(trace)}
    if not dumped:
        return None
    frames = {name: [trace.side[name].frame for trace in dumped.values()] for name in TABLES}
    tables = {name: _joined(name, parts, frames) for name, parts in frames.items()}
    has_ranks = tables["flight_dumps"]["rank"].null_count() == 0
    files = _with_ranks(tables["flight_dumps"], dumped, frames["flight_dumps"])
    earlier = earlier_attempts(tables, files["rank"]) if has_ranks else []
    earlier_files = tuple(files["file"].gather(earlier).to_list())
    if earlier:
        tables = without_dumps({**tables, "flight_dumps": files}, earlier)
        files = tables["flight_dumps"]
    calls, call_number, compared = distinct_calls(tables["flight_calls"])
    stacks, stack_number = _distinct(tables["flight_stacks"])
    channels, channel_number = channels_of(
        tables["flight_groups"],
        tables["flight_entries"],
        tables["flight_calls"],
        files,
        _last_rank(traces),
    )
    raw = tables["flight_entries"]
    call = raw["call"].to_numpy()
    stack = raw["stack"].to_numpy()
    entries = raw.with_columns(
        rank=files["rank"].gather(raw["dump"]),
        channel=pl.Series(channel_number, dtype=pl.Int32),
        call=pl.Series(np.where(call < 0, -1, call_number[call]), dtype=pl.Int32),
        compared=pl.Series(np.where(call < 0, 0, compared[call_number[call]])),
        stack=pl.Series(np.where(stack < 0, -1, stack_number[stack]), dtype=pl.Int32),
    ).drop("group", "thread")
    is_marker = calls["operation"].str.ends_with(":coalesced").to_numpy()
    entries = entries.with_columns(
        is_marker=pl.Series(is_marker[entries["call"].to_numpy()]) & (pl.col("call") >= 0),
        state=pl.max_horizontal(
            pl.col("state").fill_null(SCHEDULED),
            pl.when(pl.col("is_retired") | pl.col("completed_ns").is_not_null())
            .then(COMPLETED)
            .when(pl.col("started_ns").is_not_null())
            .then(STARTED)
            .otherwise(SCHEDULED),
        ).cast(pl.Int8),
    )
    return FlightDumps(
        files,
        _with_parts(_of_batches(_without_repeats(entries, files.height))),
        calls,
        stacks,
        channels,
        has_ranks,
        earlier=earlier_files,
    )


def _last_rank(traces: Mapping[str, Trace]) -> int:
    """The highest rank that any recording of the run knows of; 0 where none says one."""
    ranks = (own_rank(trace) or 0 for trace in traces.values())
    sizes = (world_size(trace) or 1 for trace in traces.values())
    return max(*ranks, *(size - 1 for size in sizes))


def _joined(
    name: str, parts: list[pl.DataFrame], frames: Mapping[str, list[pl.DataFrame]]
) -> pl.DataFrame:
    """The rows of all workers, with row numbers of other tables as of their joined ones."""
    height = np.array([part.height for part in parts])
    table = pl.concat(parts) if parts else pl.DataFrame(schema=SIDE_SCHEMAS[name])
    shifted = {}
    for column, other in _OFFSETS.items():
        if column in table.columns:
            sizes = np.array([part.height for part in frames[other]])
            offset = np.repeat(np.cumsum(sizes) - sizes, height)
            values = table[column].to_numpy()
            shifted[column] = pl.Series(
                np.where(values < 0, -1, values + offset), dtype=table.schema[column]
            )
    return table.with_columns(**shifted)


def _with_ranks(
    files: pl.DataFrame, traces: Mapping[str, Trace], parts: list[pl.DataFrame]
) -> pl.DataFrame:
    workers = np.repeat(np.array(list(traces), np.object_), [part.height for part in parts])
    rank = files["rank"]
    if rank.null_count() == files.height:  # nothing says a rank: their order must do
        rank = pl.int_range(files.height, eager=True)
    elif rank.null_count():
        start = (rank.max() or 0) + 1  # type: ignore[operator]
        rank = rank.fill_null(start + rank.is_null().cum_sum().cast(pl.Int64) - 1)
    return files.with_columns(
        worker=pl.Series(workers.tolist(), dtype=pl.String), rank=rank.cast(pl.Int64)
    )


def _distinct(
    table: pl.DataFrame,
) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The distinct rows of a table, and the number of each row among them."""
    if table.is_empty():
        return table, np.zeros(1, np.int64)
    distinct = table.unique(maintain_order=True).with_row_index("number")
    number = table.join(distinct, on=table.columns, how="left", maintain_order="left")["number"]
    return distinct.drop("number"), number.to_numpy().astype(np.int64)


def _without_repeats(entries: pl.DataFrame, dumps: int) -> pl.DataFrame:
    """The calls without those that another dump of the rank repeats; the furthest state stays."""
    if entries["rank"].n_unique() == dumps:
        return entries
    keys = ["rank", "channel", "is_transfer", "sequence", "operation_number", "record", "compared"]
    by_progress = entries.sort("state", pl.col("stack") >= 0, descending=True, maintain_order=True)
    return by_progress.unique(keys, keep="first", maintain_order=True).sort(
        "dump", "record", maintain_order=True
    )


_BATCH = ["rank", "channel", "is_transfer", "sequence"]


def _of_batches(entries: pl.DataFrame) -> pl.DataFrame:
    """The state of calls in a batch, which are recorded without one, is that of its end."""
    ends = entries.filter("is_marker").group_by(_BATCH).agg(batch_state=pl.col("state").max())
    if ends.is_empty():
        return entries
    return (
        entries.join(ends, on=_BATCH, how="left", maintain_order="left")
        .with_columns(state=pl.max_horizontal("state", "batch_state").cast(pl.Int8))
        .drop("batch_state")
    )


def _with_parts(entries: pl.DataFrame) -> pl.DataFrame:
    return entries.with_columns(part=pl.int_range(pl.len(), dtype=pl.Int32).over(_BATCH))


def last_time_ns(dumps: FlightDumps) -> int | None:
    """The latest time stamp of any call; None without one."""
    times = dumps.entries.select(
        pl.max_horizontal("created_ns", "started_ns", "completed_ns").max()
    ).item()
    return None if times is None else int(times)


def dump_time_ns(
    dumps: FlightDumps, after_timeout_s: float, default_timeout_s: float
) -> int | None:
    """When the dumps were written, by the time stamps of their files; None where these are those of
    copies, long after the timeout of every call."""
    last = last_time_ns(dumps)
    written = dumps.files["written_ns"].max()
    if last is None or not isinstance(written, int):
        return None
    timeout = dumps.entries["timeout_ms"].max()
    timeout_s = timeout / 1e3 if isinstance(timeout, int) and timeout > 0 else default_timeout_s
    most = last + math.ceil((timeout_s + after_timeout_s) * 1e9)
    return written if last <= written <= most else None
