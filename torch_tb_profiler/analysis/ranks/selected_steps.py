"""The steps of all ranks of a run that a selection means, in one table.

Everything is done for all ranks in one batch: a call of polars per rank of thousands would take
longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.rank_steps import RANK_STEPS, rank_steps
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import time_range
from torch_tb_profiler.analysis.steps.step_text import parse_steps
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace

STEPS = ("worker", "name", "is_whole", *RANK_STEPS, "exposed_communication_ns")
"""Columns of the steps of all ranks: ``worker``, the position of the rank, ``name`` of the step,
``is_whole`` where the recording ended after it, those of ``rank_steps.RANK_STEPS``, and
``exposed_communication_ns``, in which communication ran and no computation did. One row per rank
and step, in time order."""


def facts_of_ranks(
    traces: Mapping[str, Trace], fact: PerTrace[pl.DataFrame], schema: pl.Schema
) -> pl.DataFrame:
    """The rows of a fact of all ranks, with ``worker``, the position of the rank."""
    frames = [fact(trace) for trace in traces.values()]
    rows = pl.concat([pl.DataFrame(schema=schema), *frames], rechunk=True)
    heights = [frame.height for frame in frames]
    worker = pl.Series("worker", np.repeat(np.arange(len(frames), dtype=np.int32), heights))
    return rows.with_columns(worker)


def steps_of_ranks(traces: Mapping[str, Trace], selection: Selection) -> pl.DataFrame:
    """The selected steps of all ranks as :data:`STEPS`. A time range selects the steps that begin
    in it; steps that the recording ended in are left out, unless they are asked for.

    Raises:
        SelectionError: steps are malformed, or no rank has them.
    """
    rows = facts_of_ranks(traces, rank_steps, RANK_STEPS)
    steps = [trace.steps for trace in traces.values()]
    columns = ("name", "start_ns", "kept")
    declared = pl.concat([each.select(columns) for each in steps], rechunk=True)
    chosen = _chosen(list(traces.values()), selection)
    in_time = np.concatenate([np.empty(0, np.bool_), *_in_time(traces, selection)])
    return (
        rows.with_columns(
            declared["name"],
            is_whole=declared["kept"],
            exposed_communication_ns=pl.col("duration_ns")
            - pl.col("idle_ns")
            - pl.col("computation_ns"),
        )
        .filter(pl.Series(chosen & in_time, dtype=pl.Boolean))
        .select(STEPS)
    )


def _chosen(traces: list[Trace], selection: Selection) -> Bools:
    """Mask over the steps of all ranks. Ranks with steps of the same names, as most are, are asked
    once."""
    known: dict[tuple[object, ...], Bools | SelectionError] = {}
    masks = []
    for trace in traces:
        complete = trace.steps["kept"]
        if selection.steps is None:
            masks.append(complete.to_numpy())
            continue
        order = trace.steps["host_start_ns"].arg_sort()
        names = tuple(trace.steps["name"].gather(order))
        key = (names, tuple(complete.gather(order)))
        if key not in known:
            known[key] = _parsed(selection.steps, *key)
        result = known[key]
        mask = np.zeros(len(complete), np.bool_)
        if not isinstance(result, SelectionError):
            mask[order.to_numpy()] = result
        masks.append(mask)
    errors = [each for each in known.values() if isinstance(each, SelectionError)]
    if errors and len(errors) == len(known):
        raise errors[0]
    return np.concatenate([np.empty(0, np.bool_), *masks])


def _parsed(
    text: str, names: tuple[object, ...], complete: tuple[object, ...]
) -> Bools | SelectionError:
    try:
        return parse_steps(text, [str(name) for name in names], np.array(complete, np.bool_))
    except SelectionError as error:
        return error


def _in_time(traces: Mapping[str, Trace], selection: Selection) -> list[Bools]:
    masks = []
    for trace in traces.values():
        first_ns, last_ns = time_range(trace, selection)
        start_ns = trace.steps["start_ns"].to_numpy()
        mask = np.ones(len(start_ns), np.bool_)
        if first_ns is not None:
            mask &= start_ns >= first_ns
        if last_ns is not None:
            mask &= start_ns < last_ns
        masks.append(mask)
    return masks
