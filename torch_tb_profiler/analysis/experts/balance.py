"""The balance of experts over the ranks of a run: loads per layer and rank, and what they cost.

Ranks are compared within the set of ranks that hold the experts of one layer together (their group,
where a collective names it), pass by pass: the same layer of the same step
(``docs/views-experts.md#imbalance``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.experts.facts import expert_kernel_facts, expert_pass_facts
from torch_tb_profiler.analysis.experts.sets import ExpertSets
from torch_tb_profiler.analysis.experts.shares import expert_share_facts
from torch_tb_profiler.analysis.experts.stages import TITLES, Stage
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import in_selection
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.model import Trace

PASS = ("window", "set", "layer", "direction")
"""What identifies a pass of a run: all ranks of a set compute it together."""

_SUMS = (
    "product_ns", "routing_ns", "other_ns",
    "dispatch_ns", "dispatch_exposed_ns", "combine_ns", "combine_exposed_ns",
)  # fmt: skip


class ExpertLoads(Struct, frozen=True, eq=False):
    """What the ranks of a run did for experts.

    Attributes:
        workers: Names, in the order of the ``worker`` columns.
        sets: Per worker, in order, ``set``, ``stage`` and ``index`` of
            :class:`~torch_tb_profiler.analysis.experts.sets.ExpertSets`.
        steps: Per worker the number of steps that means are over.
        step_ns: Per worker their summed duration.
        passes: One row per worker and :data:`PASS` (passes of one layer in a step are one row):
            ``worker``, ``stage``, ``passes``, ``tokens`` (null where that of any is unknown),
            ``token_source``, ``number`` (of the first in its step) and the times of
            :data:`~torch_tb_profiler.analysis.experts.facts.EXPERT_PASSES`.
        loose: Dispatch and combine of no pass, with the same columns.
        shares: :data:`~torch_tb_profiler.analysis.experts.shares.EXPERT_SHARES` with ``worker``.
        kernels: :data:`~torch_tb_profiler.analysis.experts.facts.EXPERT_KERNELS` with ``worker``.
        uneven: Workers whose passes are not compared: they have another number of them in a step
            than most of their set.
    """

    workers: list[str]
    sets: pl.DataFrame
    steps: list[int]
    step_ns: list[int]
    passes: pl.DataFrame
    loose: pl.DataFrame
    shares: pl.DataFrame
    kernels: pl.DataFrame
    uneven: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether no rank has work of experts."""
        return self.passes.is_empty() and self.loose.is_empty()


def expert_loads(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    selection: Selection,
    sets: ExpertSets,
) -> ExpertLoads:
    """The loads of the selected steps; means are over the whole ones.

    Args:
        traces: All workers of the run, in the order of their ranks.
        windows: The selected steps of each worker that has any.
        selection: What is selected, for its time range.
        sets: Of these workers.
    """
    workers = [worker for worker in traces if worker in windows]
    averaged = [windows[worker].of_averages for worker in workers]
    chosen = [traces[worker] for worker in workers]
    order = pl.DataFrame({"worker": workers}, schema={"worker": pl.String})
    own_sets = order.join(sets.workers, on="worker", how="left", maintain_order="left")
    of_worker = own_sets.select("set", "stage").with_columns(
        worker=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    frames = [_selected(trace, selection, expert_pass_facts(trace)) for trace in chosen]
    kernels = _decided(
        _in_windows([expert_kernel_facts(trace) for trace in chosen], averaged),
        sets.exchange_groups,
    )
    passes = pl.concat(
        [_in_windows(frames, averaged), _loose_exchanges(kernels)], how="diagonal_relaxed"
    ).join(of_worker, on="worker", how="left", maintain_order="left")
    of_pass = passes.filter(pl.col("number") > 0)
    merged = _merged(of_pass)
    uneven = _uneven(merged)
    return ExpertLoads(
        workers,
        own_sets.drop("worker"),
        [len(window.names) for window in averaged],
        [int((window.end_ns - window.start_ns).sum()) for window in averaged],
        merged.with_columns(compared=~pl.col("worker").is_in(uneven)),
        passes.filter(pl.col("number") == 0),
        _in_windows([expert_share_facts(trace) for trace in chosen], averaged),
        kernels,
        [workers[number] for number in uneven],
    )


def _selected(trace: Trace, selection: Selection, frame: pl.DataFrame) -> pl.DataFrame:
    """The passes that begin in the time range; steps are chosen by their windows."""
    if selection.start_ns is None and selection.end_ns is None:
        return frame
    return frame.filter(
        pl.Series(
            in_selection(trace, selection, frame["step"], frame["start_ns"]), dtype=pl.Boolean
        )
    )


def _in_windows(frames: list[pl.DataFrame], windows: list[StepWindows]) -> pl.DataFrame:
    """The rows of all workers that lie in their windows, with ``worker`` and ``window`` (its name);
    in one batch, as there may be thousands of workers."""
    rows = pl.concat(frames, rechunk=True)
    heights = [frame.height for frame in frames]
    worker = np.repeat(np.arange(len(frames)), heights)
    step_counts = [len(window.of_step) for window in windows]
    name_counts = [len(window.names) for window in windows]
    first_step = np.cumsum([0, *step_counts])[:-1]
    first_name = np.cumsum([0, *name_counts])[:-1]
    of_step = np.concatenate(
        [
            np.empty(0, np.int64),
            *(
                np.where(window.of_step >= 0, window.of_step + first, -1)
                for window, first in zip(windows, first_name.tolist(), strict=True)
            ),
        ]
    )
    names = pl.Series([name for window in windows for name in window.names], dtype=pl.String)
    step = rows["step"].cast(pl.Int64) + pl.Series(np.repeat(first_step, heights), dtype=pl.Int64)
    known = step.is_not_null()
    window_row = (
        pl.Series(of_step, dtype=pl.Int64).gather(step.fill_null(0)) if len(of_step) else step
    )
    inside = (known & (window_row >= 0)).fill_null(value=False)
    return (
        rows.with_columns(worker=pl.Series(worker, dtype=pl.Int64), window_row=window_row)
        .filter(inside)
        .with_columns(window=names.gather(window_row.filter(inside)))
        .drop("window_row")
    )


def _merged(passes: pl.DataFrame) -> pl.DataFrame:
    """One row per worker and pass; passes without a layer are named by their number in the step."""
    named = passes.with_columns(
        layer=pl.coalesce("layer", pl.format("pass {}", "number")),
        has_no_name=pl.col("layer").is_null(),
        direction=pl.col("direction").fill_null(""),
    )
    return named.group_by("worker", *PASS, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("passes"),
        pl.when(pl.col("tokens").null_count() == 0).then(pl.col("tokens").sum()),
        pl.col("token_source").first(),
        pl.col("number", "has_no_name", "stage").first(),
        pl.col(_SUMS).sum(),
    )


def _uneven(merged: pl.DataFrame) -> list[int]:
    """Workers that have another number of passes in a step than most of their set; only passes
    without a name need that, as they are compared by their number."""
    nameless = merged.filter("has_no_name")
    counts = nameless.group_by("worker", "window", "set").agg(pl.len().alias("count"))
    usual = pl.col("count").mode().sort().last().over("window", "set")
    workers: list[int] = counts.filter(pl.col("count") != usual)["worker"].unique().sort().to_list()
    return workers


def _decided(kernels: pl.DataFrame, groups: frozenset[str]) -> pl.DataFrame:
    """The kernels, calls of these groups as exchanges where nothing else says what they are."""
    decided = (pl.col("stage") == TITLES[Stage.UNDECIDED]) & pl.col("group_key").is_in(list(groups))
    return kernels.with_columns(
        is_decided=decided,
        stage=pl.when(decided).then(pl.lit(TITLES[Stage.EXCHANGE])).otherwise("stage"),
    )


def _loose_exchanges(kernels: pl.DataFrame) -> pl.DataFrame:
    """Those exchanges as work of no pass: as dispatch, for which of both they are is unknown."""
    return (
        kernels.filter("is_decided")
        .group_by("worker", "window", "step", maintain_order=True)
        .agg(
            pl.col("total_ns").sum().alias("dispatch_ns"),
            pl.col("exposed_ns").sum().alias("dispatch_exposed_ns"),
        )
        .with_columns(number=pl.lit(0, pl.Int32))
    )


def pass_costs(loads: ExpertLoads) -> pl.DataFrame:
    """Per pass of the run (:data:`PASS`): ``ranks``, ``tokens_max``, ``tokens_mean``,
    ``busiest_tokens`` (worker), ``product_max_ns``, ``product_mean_ns``, ``busiest`` (worker), and
    ``cost_ns``: how long its ranks wait on average for the one whose products take the longest, at
    most the exposed time of their own dispatch and combine where these are recorded (est.)."""
    known = pl.col("tokens").null_count() == 0
    return (
        _with_waits(loads)
        .group_by(*PASS, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            pl.col("number", "stage").first(),
            pl.col("passes").max(),
            pl.when(known).then(pl.col("tokens").max()).alias("tokens_max"),
            pl.when(known).then(pl.col("tokens").mean()).alias("tokens_mean"),
            pl.when(known)
            .then(pl.col("worker").get(pl.col("tokens").fill_null(-1).arg_max()))
            .alias("busiest_tokens"),
            pl.col("product_ns").max().alias("product_max_ns"),
            pl.col("product_ns").mean().alias("product_mean_ns"),
            pl.col("worker").get(pl.col("product_ns").arg_max()).alias("busiest"),
            pl.col("wait_ns").mean().alias("cost_ns"),
            *(pl.col(key).mean() for key in _SUMS[1:]),
        )
    )


def rank_waits(loads: ExpertLoads) -> pl.DataFrame:
    """Per worker ``wait_ns`` over all steps: how long it waits for the products of others, as in
    :func:`pass_costs` (est.)."""
    return _with_waits(loads).group_by("worker", maintain_order=True).agg(pl.col("wait_ns").sum())


def _with_waits(loads: ExpertLoads) -> pl.DataFrame:
    """The compared passes with how long the worker of each waits for the longest products."""
    exposed = pl.col("dispatch_exposed_ns") + pl.col("combine_exposed_ns")
    exchanged = (pl.col("dispatch_ns") + pl.col("combine_ns")).sum().over(PASS) > 0
    wait = pl.col("product_ns").max().over(PASS) - pl.col("product_ns")
    return loads.passes.filter("compared").with_columns(
        wait_ns=pl.when(exchanged).then(pl.min_horizontal(wait, exposed)).otherwise(wait)
    )
