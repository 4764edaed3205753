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

PASS = "pass"
"""The number of a pass of a run, which all ranks of a set compute together: a layer and direction
of one step. Grouping by one integer takes a tenth of the time of grouping by names."""
_PASS_OF = ("window", "set", "layer", "direction")

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
            ``worker``, ``window``, ``set``, ``layer`` and ``direction`` (codes and categories),
            ``compared``, ``wait_ns`` (how long the worker waits for the longest products of the
            pass, at most the exposed time of its own dispatch and combine where these are
            recorded; null where it is not compared), ``stage``, ``passes``, ``tokens`` (null where
            that of any is unknown), ``token_source``, ``number`` (of the first in its step) and the
            times of :data:`~torch_tb_profiler.analysis.experts.facts.EXPERT_PASSES`.
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
    of_worker = own_sets.select(
        "stage",
        set=pl.col("set").rank("dense").cast(pl.Int64),
        worker=pl.int_range(pl.len(), dtype=pl.Int64),
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
        _with_waits(merged.with_columns(compared=~pl.col("worker").is_in(uneven))),
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
        layer=pl.coalesce("layer", pl.format("pass {}", "number")).cast(pl.Categorical),
        has_no_name=pl.col("layer").is_null(),
        direction=pl.col("direction").fill_null("").cast(pl.Categorical),
        window=pl.col("window").cast(pl.Categorical),
    )
    with_numbers = named.with_columns(_pass_number(named).alias(PASS))
    summed = with_numbers.group_by("worker", PASS, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("passes"),
        pl.col("tokens").sum(),
        pl.col("tokens").null_count().alias("unknown"),
        pl.col("token_source", "number", "has_no_name", "stage", *_PASS_OF).first(),
        pl.col(_SUMS).sum(),
    )
    return summed.with_columns(tokens=pl.when(pl.col("unknown") == 0).then("tokens"))


def _pass_number(passes: pl.DataFrame) -> pl.Series:
    """A number per combination of what identifies a pass."""
    number = np.zeros(passes.height, np.int64)
    for key in _PASS_OF:
        codes = passes[key].to_physical().cast(pl.Int64).to_numpy()
        number = number * (int(codes.max(initial=0)) + 1) + codes
    return pl.Series(number)


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
    """Per pass of the run, with what identifies it: ``ranks``, ``tokens_max``, ``tokens_mean``,
    ``busiest_tokens`` (worker), ``product_max_ns``, ``product_mean_ns``, ``busiest`` (worker), and
    ``cost_ns``: how long its ranks wait on average (est.)."""
    tokens = ("tokens_max", "tokens_mean", "busiest_tokens")
    return (
        loads.passes.filter("compared")
        .group_by(PASS, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("ranks"),
            pl.col("number", "stage", *_PASS_OF).first(),
            pl.col("passes").max(),
            pl.col("tokens").null_count().alias("unknown"),
            pl.col("tokens").max().alias("tokens_max"),
            pl.col("tokens").mean().alias("tokens_mean"),
            pl.col("worker").sort_by("tokens", descending=True).first().alias("busiest_tokens"),
            pl.col("product_ns").max().alias("product_max_ns"),
            pl.col("product_ns").mean().alias("product_mean_ns"),
            pl.col("worker").sort_by("product_ns", descending=True).first().alias("busiest"),
            pl.col("wait_ns").mean().alias("cost_ns"),
            *(pl.col(key).mean() for key in _SUMS[1:]),
        )
        .with_columns(pl.when(pl.col("unknown") == 0).then(pl.col(tokens)))
    )


def rank_waits(loads: ExpertLoads) -> pl.DataFrame:
    """Per worker ``wait_ns`` over all steps: how long it waits for products of others (est.)."""
    compared = loads.passes.filter("compared")
    return compared.group_by("worker", maintain_order=True).agg(pl.col("wait_ns").sum())


def _with_waits(passes: pl.DataFrame) -> pl.DataFrame:
    """The passes with ``wait_ns``."""
    exposed = pl.col("dispatch_exposed_ns") + pl.col("combine_exposed_ns")
    compared = pl.col("compared")
    products = pl.when(compared).then("product_ns")
    wait = products.max().over(PASS) - pl.col("product_ns")
    exchange = pl.when(compared).then(pl.col("dispatch_ns") + pl.col("combine_ns"))
    exchanged = exchange.sum().over(PASS) > 0
    bounded = pl.when(exchanged).then(pl.min_horizontal(wait, exposed)).otherwise(wait)
    return passes.with_columns(wait_ns=pl.when(compared).then(bounded))
