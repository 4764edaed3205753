"""What is known of the experts of one rank: its passes and its kernels, as small tables.

Both are part of the summary of a rank. Every moment of a dispatch or combine counts once, for the
transfer that began first; it is exposed where no kernel of the rank computes
(``docs/views-experts.md#hidden-and-exposed``).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.experts.items import ExpertItems, expert_items
from torch_tb_profiler.analysis.experts.passes import ExpertPasses, expert_passes
from torch_tb_profiler.analysis.experts.stages import TITLES, Stage
from torch_tb_profiler.analysis.experts.tokens import pass_tokens
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge.experts import expert_file
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

EXPERT_PASSES = pl.Schema(
    {
        "step": pl.Int32,  # row of ``steps``; null outside steps
        "number": pl.Int32,  # within the step, from 1; 0 for work of no pass
        "layer": pl.String,  # path of its module, or name of its range; null where none is recorded
        "direction": pl.String,  # "forward", "backward"; null where unknown
        "start_ns": pl.Int64,  # of its products
        "tokens": pl.Int64,  # that its products compute; null where unknown
        "token_source": pl.String,
        "product_ns": pl.Int64,  # union
        "routing_ns": pl.Int64,  # union of gating and permutation
        "other_ns": pl.Int64,  # union of the kernels in its range that no rule names
        "dispatch_ns": pl.Int64,
        "dispatch_exposed_ns": pl.Int64,
        "combine_ns": pl.Int64,
        "combine_exposed_ns": pl.Int64,
    }
)
"""One row per pass through a layer of experts, by time; dispatch and combine that belong to no pass
in a row of number 0 per step."""
EXPERT_KERNELS = pl.Schema(
    {
        "step": pl.Int32,
        "kernel": pl.String,
        "stage": pl.String,
        "group_key": pl.String,  # of collectives; null for others
        "calls": pl.Int64,
        "total_ns": pl.Int64,
        "exposed_ns": pl.Int64,  # of transfers; null for others
    }
)
"""One row per step, kernel (or collective) and stage, those with most time first."""

MAX_KERNELS = 24
"""Kernels of a stage beyond these, by time, are one row per step: a summary stays small."""
FURTHER = "(further kernels)"
FORWARD = "forward pass of the layer"
"""Where the tokens of a backward pass are from that says nothing itself."""
_MAX_LAYER = 96
"""Characters of a layer's name, its end; paths of modules are long."""

_TRANSFERS = (Stage.DISPATCH, Stage.COMBINE, Stage.EXCHANGE, Stage.UNDECIDED)
_PARTS = {
    "product_ns": (Stage.PRODUCTS,),
    "routing_ns": (Stage.GATING, Stage.PERMUTATION),
    "other_ns": (Stage.OTHER,),
}
_SIDES = {"dispatch": (Stage.DISPATCH, Stage.EXCHANGE), "combine": (Stage.COMBINE,)}


@per_split
def expert_pass_facts(trace: Trace) -> pl.DataFrame:
    """The passes of a rank as :data:`EXPERT_PASSES`."""
    items, passes = expert_items(trace), expert_passes(trace)
    if not len(items):
        return pl.DataFrame(schema=EXPERT_PASSES)
    # Work of no pass counts in the step in which it begins.
    is_side = np.isin(passes.stage, (*_SIDES["dispatch"], *_SIDES["combine"]))
    loose = np.flatnonzero((passes.of_item < 0) & is_side)
    loose_steps, first_loose = np.unique(items.step[loose], return_index=True)
    group = passes.of_item.copy()
    group[loose] = passes.count + np.searchsorted(loose_steps, items.step[loose])
    step = items.step[passes.first_item]
    own = pl.DataFrame(
        {
            "step": step,
            "number": _numbers(step),
            "layer": pl.Series(_layers(trace, items, passes), dtype=pl.String),
            "direction": pl.Series(_directions(trace, items, passes), dtype=pl.String),
            "start_ns": items.start_ns[passes.first_item],
        }
    ).hstack(pass_tokens(trace))
    others = pl.DataFrame({"step": loose_steps, "start_ns": items.start_ns[loose[first_loose]]})
    own = _with_forward_tokens(own)
    frame = pl.concat([own, others.with_columns(number=pl.lit(0, pl.Int64))], how="diagonal")
    frame = frame.with_columns(
        pl.when(pl.col("step") >= 0).then("step"),
        **{
            key: pl.Series(values)
            for key, values in _times(trace, items, passes, group, frame.height).items()
        },
    )
    return _joined(frame.select(pl.col(key).cast(dtype) for key, dtype in EXPERT_PASSES.items()))


def _numbers(step: Int64) -> Int64:
    """The number of each pass within its step, from 1."""
    numbers: Int64 = (
        pl.DataFrame({"step": step})
        .select(pl.int_range(1, pl.len() + 1).over("step").cast(pl.Int64))
        .to_series()
        .to_numpy()
    )
    return numbers


def _times(
    trace: Trace, items: ExpertItems, passes: ExpertPasses, group: Int64, count: int
) -> dict[str, Int64]:
    """The times of each group of items, in ns."""
    times = {}
    for key, stages in _PARTS.items():
        rows = np.flatnonzero(np.isin(passes.stage, stages) & (group >= 0))
        times[key] = union_lengths(group[rows], items.start_ns[rows], items.end_ns[rows], count)
    rows, start, end, exposed = _transfers(trace, items, passes)
    for side, stages in _SIDES.items():
        chosen = np.isin(passes.stage[rows], stages) & (group[rows] >= 0)
        of_group = group[rows][chosen]
        times[f"{side}_ns"] = _summed(of_group, (end - start)[chosen], count)
        times[f"{side}_exposed_ns"] = _summed(of_group, exposed[chosen], count)
    return times


def _transfers(
    trace: Trace, items: ExpertItems, passes: ExpertPasses
) -> tuple[Int64, Int64, Int64, Int64]:
    """Items that are transfers with the time that counts for each, disjoint, and how much of it is
    exposed, in ns."""
    rows = np.flatnonzero(np.isin(passes.stage, _TRANSFERS))
    rows = rows[np.lexsort((items.end_ns[rows], items.start_ns[rows]))]
    start, end = items.start_ns[rows].copy(), items.end_ns[rows]
    if len(rows) > 1:
        start[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
    end = np.maximum(end, start)
    hidden = total_within(computation(trace), start, end)
    return rows, start, end, (end - start) - hidden


def _summed(group: Int64, values: Int64, count: int) -> Int64:
    total = np.zeros(count, np.int64)
    np.add.at(total, group, values)
    return total


def _layers(trace: Trace, items: ExpertItems, passes: ExpertPasses) -> list[str | None]:
    """Per pass the path of the module, or the name of the range, that is its layer."""
    layer = items.layer_slices(trace)[passes.first_item].tolist()
    if not any(each >= 0 for each in layer):
        return [None] * len(layer)
    tree = module_tree(trace)
    is_module = trace.slices["category"].to_numpy() == Category.MODULE
    names = trace.slices["name_code"].to_numpy()
    labels: list[str | None] = []
    for each in layer:
        if each < 0:
            labels.append(None)
        elif is_module[each] and tree.around[each] >= 0:
            labels.append(tree.nodes.path[int(tree.node[tree.around[each]])][-_MAX_LAYER:])
        else:
            labels.append((trace.text(int(names[each])) or "")[-_MAX_LAYER:])
    # A range that has one name for all layers says nothing of the layer.
    ranges = [number for number, each in enumerate(layer) if each >= 0 and not is_module[each]]
    if len(ranges) > 1 and len({labels[number] for number in ranges}) == 1:
        for number in ranges:
            labels[number] = None
    return labels


def _directions(trace: Trace, items: ExpertItems, passes: ExpertPasses) -> list[str | None]:
    names = {int(Phase.FORWARD): "forward", int(Phase.BACKWARD): "backward"}
    phases = np.append(slice_phases(trace), -1)
    return [names.get(int(phases[host])) for host in items.host[passes.first_item].tolist()]


def _with_forward_tokens(passes: pl.DataFrame) -> pl.DataFrame:
    """The passes, backward ones with the tokens of the forward pass of their layer where they say
    nothing themselves: of several microbatches in order, if there are as many of both."""
    if not passes["tokens"].null_count() or not passes["layer"].count():
        return passes
    keys = ("step", "layer")
    of_direction = (*keys, "direction")
    counted = passes.with_columns(
        turn=pl.int_range(pl.len()).over(of_direction), count=pl.len().over(of_direction)
    )
    forward = counted.filter(pl.col("direction") == "forward", pl.col("layer").is_not_null())
    known = forward.select(
        *keys, "turn", "count", forward_tokens="tokens", direction=pl.lit("backward")
    )
    joined = counted.join(
        known, on=(*of_direction, "turn", "count"), how="left", maintain_order="left"
    )
    filled = pl.col("tokens").is_null() & pl.col("forward_tokens").is_not_null()
    return joined.with_columns(
        tokens=pl.coalesce("tokens", "forward_tokens"),
        token_source=pl.when(filled).then(pl.lit(FORWARD)).otherwise("token_source"),
    ).select(passes.columns)


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """The passes of a step beyond the most of :func:`expert_file` as one."""
    most = expert_file().max_passes
    if not (frame["number"] > most).any():
        return frame
    sums = [key for key in EXPERT_PASSES if key.endswith("_ns") and key != "start_ns"]
    return (
        frame.with_columns(pl.col("number").clip(upper_bound=most))
        .group_by("step", "number", maintain_order=True)
        .agg(
            pl.col("layer", "direction", "start_ns").first(),
            # A sum of what is known alone would be too small.
            pl.when(pl.col("tokens").null_count() == 0).then(pl.col("tokens").sum()),
            pl.col("token_source").first(),
            pl.col(sums).sum(),
        )
        .select(*EXPERT_PASSES)
    )


@per_split
def expert_kernel_facts(trace: Trace) -> pl.DataFrame:
    """The kernels of a rank that are about experts as :data:`EXPERT_KERNELS`."""
    items, passes = expert_items(trace), expert_passes(trace)
    if not len(items):
        return pl.DataFrame(schema=EXPERT_KERNELS)
    exposed = np.full(len(items), -1, np.int64)
    rows, _, _, of_rows = _transfers(trace, items, passes)
    exposed[rows] = of_rows
    shorts = kernel_names(trace).shorts
    texts = codes.texts(trace, pl.Series(items.name))
    names = [
        shorts.get(code, text)
        for code, text in zip(items.name.tolist(), texts.to_list(), strict=True)
    ]
    keys = _group_keys(trace, items)
    frame = pl.DataFrame(
        {
            "step": items.step,
            "kernel": pl.Series(names, dtype=pl.String),
            "stage": pl.Series([TITLES[Stage(each)] for each in passes.stage.tolist()]),
            "group_key": keys,
            "total_ns": items.end_ns - items.start_ns,
            "exposed_ns": exposed,
        }
    ).with_columns(
        pl.when(pl.col("step") >= 0).then("step"),
        pl.when(pl.col("exposed_ns") >= 0).then("exposed_ns"),
    )
    most = pl.col("total_ns").sum().over("stage", "kernel").rank("dense", descending=True)
    named = frame.with_columns(
        kernel=pl.when(most.over("stage") <= MAX_KERNELS).then("kernel").otherwise(pl.lit(FURTHER))
    )
    return (
        named.group_by("step", "kernel", "stage", "group_key", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("total_ns").sum(),
            pl.when(pl.col("exposed_ns").count() > 0).then(pl.col("exposed_ns").sum()),
        )
        .sort("total_ns", descending=True, maintain_order=True)
        .select(pl.col(key).cast(dtype) for key, dtype in EXPERT_KERNELS.items())
    )


def _group_keys(trace: Trace, items: ExpertItems) -> pl.Series:
    of_record = records(trace).frame["group_key"]
    if not len(of_record):
        return pl.Series([None] * len(items), dtype=pl.String)
    keys = of_record.gather(np.maximum(items.record, 0))
    return pl.select(pl.when(pl.Series(items.record >= 0)).then(keys)).to_series()
