"""The passes of microbatches through the stages that one rank holds: forward, backward.

From ranges that schedules record around a pass (``[[passes]]`` of ``knowledge/parallel.toml``);
where there are none, from the order of launches: a pass is what one thread of the host launches
between two sends or receives (``docs/views-strategy.md#passes``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.communication.records import EXCHANGE, PAIRWISE, records
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.parallel import PassName, name_rule, parallel_file, pass_name
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

PASSES = pl.Schema(
    {
        "step": pl.Int32,  # row of `steps`, null outside
        "kind": pl.String,  # "forward", "backward", "input", "weight"
        "stage": pl.Int32,  # as a range names it, else null
        "microbatch": pl.Int32,  # as a range names it, else its order among those of a kind
        "start_ns": pl.Int64,  # of the device work of the pass; of a job without any, on the host
        "end_ns": pl.Int64,
        "is_named": pl.Boolean,  # from a range
    }
)
"""One row per pass, by start."""

_PHASES = (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER)


class _Work(NamedTuple):
    """Computation in order of its launches."""

    launch_ns: Int64
    start_ns: Int64
    end_ns: Int64
    track: Int64  # of the launch
    phase: Int64
    step: Int64  # -1 for none


@per_split
def microbatch_passes(trace: Trace) -> pl.DataFrame:
    """The passes of a rank as :data:`PASSES`; none where it has neither such ranges nor sends and
    receives."""
    ranges = _named_ranges(trace)
    transfers = _transfers(trace)
    if not ranges.height and not transfers.height:
        return pl.DataFrame(schema=PASSES)
    work = _work(trace)
    frame = _of_ranges(ranges, work) if ranges.height else _of_launches(transfers, work)
    number = pl.int_range(pl.len()).over("step", "kind")
    frame = frame.with_columns(
        pl.when(pl.col("step") >= 0).then("step"), pl.coalesce("microbatch", number)
    ).sort("start_ns")
    return frame.select(pl.col(name).cast(dtype) for name, dtype in PASSES.items())


def _named_ranges(trace: Trace) -> pl.DataFrame:
    """The ranges around passes: ``kind``, ``stage``, ``microbatch``, ``start_ns``, ``end_ns`` on
    the host, ``step``."""
    rows = np.flatnonzero(trace.slices["category"].to_numpy() == Category.ANNOTATION)
    rows = rows[~trace.tracks["is_device"].to_numpy()[trace.slices["track"].to_numpy()[rows]]]
    names = trace.slices["name_code"].to_numpy()[rows]
    chosen = codes.names_match(trace, names, lambda name: pass_name(name) is not None)
    rows = rows[chosen]
    known = {
        code: name
        for code in np.unique(names[chosen]).tolist()
        if (name := pass_name(trace.text(code) or "")) is not None
    }
    each: list[PassName] = [known[code] for code in names[chosen].tolist()]
    start = trace.slices["start_ns"].to_numpy()[rows]
    return pl.DataFrame(
        {
            "kind": [name.kind for name in each],
            "stage": [name.stage for name in each],
            "microbatch": [name.microbatch for name in each],
            "start_ns": start,
            "end_ns": start + trace.slices["dur_ns"].to_numpy()[rows],
            "step": slice_steps(trace)[rows],
        },
        schema_overrides={"kind": pl.String, "stage": pl.Int64, "microbatch": pl.Int64},
    ).sort("start_ns")


def _transfers(trace: Trace) -> pl.DataFrame:
    """The sends and receives of a pipeline by start on the host: ``start_ns``, ``step`` (-1 for
    none), ``direction`` of the data (1 to a higher rank, -1 to a lower one, null where unknown) and
    whether this rank ``sends``; an exchange of both counts as neither's direction."""
    frame = records(trace).frame.filter(pl.col("collective").is_in([*PAIRWISE, EXCHANGE]))
    labels = frame["group"].unique().drop_nulls().to_list()
    others = [label for label in labels if _is_of_another_dimension(label)]
    frame = frame.filter(~pl.col("group").is_in(others).fill_null(value=False))
    ends = pl.col("pair").str.split("->")
    source, target = (
        ends.list.get(side, null_on_oob=True).cast(pl.Int64, strict=False) for side in (0, 1)
    )
    return frame.select(
        "start_ns",
        step=pl.col("step").cast(pl.Int64).fill_null(-1),
        direction=(target - source).sign(),
        sends=pl.col("collective") == "send",
    ).sort("start_ns")


def _is_of_another_dimension(label: str) -> bool:
    """Whether the label of a group (``"3 (mesh_cp)"``) names a dimension that is no pipeline."""
    name, _, description = label.removesuffix(")").partition(" (")
    rules = [rule for text in (description, name) if (rule := name_rule(text)) is not None]
    return bool(rules) and rules[0].dimension not in ("pipeline", None)


def _work(trace: Trace) -> _Work:
    """Kernels that compute and have a launch; of a job without any, operators of the host."""
    kinds, work = kernel_kinds(trace), trace.device_work
    launch = indices(work["launch"])
    rows = np.flatnonzero(kinds.is_kernel & ~kinds.is_communication & (launch >= 0))
    begins = trace.slices["start_ns"].to_numpy()
    lengths = trace.slices["dur_ns"].to_numpy()
    if len(rows):
        source, run = launch[rows], work["slice"].to_numpy()[rows]
    else:
        source = run = _operators(trace)
    order = np.argsort(begins[source], kind="stable")
    source, run = source[order], run[order]
    return _Work(
        begins[source],
        begins[run],
        begins[run] + lengths[run],
        trace.slices["track"].to_numpy()[source].astype(np.int64),
        slice_phases(trace)[source].astype(np.int64),
        slice_steps(trace)[source].astype(np.int64),
    )


def _operators(trace: Trace) -> Int64:
    """Operators of the host without those around or inside a transfer."""
    category = trace.slices["category"].to_numpy()
    rows = np.flatnonzero(category == Category.OPERATOR)
    names = trace.slices["name_code"].to_numpy()[rows]
    computes = ~codes.names_match(
        trace,
        names,
        lambda name: communication.is_wrapper(name) or communication.is_communication(name),
    )
    chosen: Int64 = rows[computes]
    return chosen


def _of_ranges(ranges: pl.DataFrame, work: _Work) -> pl.DataFrame:
    """Ranges with the time of the device work that was launched during them, of any thread; their
    own where there is none."""
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    inside = np.searchsorted(start, work.launch_ns, "right") - 1
    chosen = (inside >= 0) & (work.launch_ns < end[inside])
    first, last = start.copy(), end.copy()
    if chosen.any():
        first[:], last[:] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        np.minimum.at(first, inside[chosen], work.start_ns[chosen])
        np.maximum.at(last, inside[chosen], work.end_ns[chosen])
        empty = last < first
        first[empty], last[empty] = start[empty], end[empty]
    return ranges.with_columns(
        start_ns=first, end_ns=np.maximum(last, first), is_named=pl.lit(value=True)
    )


def _of_launches(transfers: pl.DataFrame, work: _Work) -> pl.DataFrame:
    """Passes between transfers, whose kind the phase or the transfers around them give."""
    before = np.searchsorted(transfers["start_ns"].to_numpy(), work.launch_ns, "right")
    frame = pl.DataFrame(
        {
            "before": before,
            "step": work.step,
            "track": work.track,
            "phase": work.phase,
            "start_ns": work.start_ns,
            "end_ns": work.end_ns,
        }
    )
    known = pl.when(pl.col("phase").is_in(_PHASES)).then("phase")
    # An operator around others begins before what is known of them.
    near = known.backward_fill().forward_fill().over("before", "step", "track")
    thread = pl.col("track") + len(Phase)
    parts = (
        frame.with_columns(phase=near)
        .with_columns(part=pl.struct("before", "step", pl.coalesce("phase", thread)).rle_id())
        .group_by("part", maintain_order=True)
        .agg(
            pl.col("before", "step", "phase").first(),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
        )
    )
    none = pl.lit(None, pl.Int64)
    passes = parts.with_columns(
        kind=_kinds(parts, transfers), stage=none, microbatch=none, is_named=pl.lit(value=False)
    ).filter(pl.col("kind").is_not_null())
    length = pl.col("end_ns") - pl.col("start_ns")
    least = parallel_file().smallest_pass_pct / 100 * length.median().over("kind")
    return passes.filter(length >= least)


def _kinds(parts: pl.DataFrame, transfers: pl.DataFrame) -> pl.Series:
    """``forward``, ``backward``, or null of each part.

    By its phase; where that is unknown, the first part after a receive, and the last one before a
    send, go the way of the data: forward from a lower rank and to a higher one.
    """
    came = transfers.with_row_index("before", 1).filter(~pl.col("sends"))
    went = transfers.with_row_index("before").filter("sends")
    key = ["before", "step"]
    joined = parts.join(
        came.select(pl.col("before").cast(pl.Int64), "step", came="direction"),
        on=key, how="left", maintain_order="left",
    ).join(
        went.select(pl.col("before").cast(pl.Int64), "step", went="direction"),
        on=key, how="left", maintain_order="left",
    )  # fmt: skip
    is_first = pl.col("part") == pl.col("part").min().over(key)
    is_last = pl.col("part") == pl.col("part").max().over(key)
    phase = pl.col("phase")
    by_phase = (
        pl.when(phase == Phase.FORWARD)
        .then(1)
        .when(phase == Phase.BACKWARD)
        .then(-1)
        .when(phase == Phase.OPTIMIZER)
        .then(0)
    )
    way = pl.coalesce(by_phase, pl.when(is_first).then("came"), pl.when(is_last).then("went"))
    kind = pl.when(way > 0).then(pl.lit("forward")).when(way < 0).then(pl.lit("backward"))
    return joined.select(kind=kind)["kind"]
