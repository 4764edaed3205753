"""The table of iterations: new shapes and compilations."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.kernels.compiled.recompilations_by_step import recompilations
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shapes.calls import Calls
from torch_tb_profiler.views.shapes.columns import ITERATIONS, NO_COMPILATION, NO_TIME
from torch_tb_profiler.views.shapes.sums import first_of, sum_known

_SHOWN = 40


def iterations_table(trace: Trace, calls: Calls, *, of_steps: bool) -> Table:
    """A row per iteration that has calls, in their order.

    Args:
        trace: The trace.
        calls: The calls.
        of_steps: Whether iterations are numbered as the rows of ``trace.steps``.
    """
    present, index = factorize(calls.iteration.of_calls)
    width = max(len(calls.shape.texts), 1)
    _, kind = factorize(calls.type.of_calls * width + calls.shape.of_calls)
    pairs, _ = factorize(kind * max(len(present), 1) + index)
    of_kind, of_index = pairs // max(len(present), 1), pairs % max(len(present), 1)
    # Pairs are in order of kind and then of place: the first of a kind is its first iteration.
    first = of_index[first_of(of_kind, int(of_kind.max(initial=-1)) + 1)]
    frame = pl.DataFrame(
        {
            "iteration": calls.iteration.texts.gather(present),
            "calls": np.bincount(index, minlength=len(present)),
            "time_us": pl.Series(sum_known(index, len(present), calls.time_us), nan_to_null=True),
            "distinct_shapes": np.bincount(of_index, minlength=len(present)),
            "new_shapes": np.bincount(first, minlength=len(present)),
            **_compiled(trace, present if of_steps else None),
        },
        schema=ITERATIONS.polars_schema(),
    )
    compiled = ("compilations", "recompilations", "compiling_us")
    reasons = {"time_us": NO_TIME, **dict.fromkeys(compiled, NO_COMPILATION)}
    return Table(ITERATIONS, frame, needed(frame, reasons))


def _compiled(
    trace: Trace, steps: np.ndarray[tuple[int], np.dtype[np.int64]] | None
) -> dict[str, object]:
    """What was compiled in steps; null if no compilation was recorded."""
    recompiled = recompilations(trace) if steps is not None else None
    if recompiled is None or not recompiled.compilations.any():
        return dict.fromkeys(("compilations", "recompilations", "compiling_us"))
    return {
        "compilations": recompiled.compilations[steps],
        "recompilations": recompiled.again[steps],
        "compiling_us": recompiled.compiling_ns[steps] / 1e3,
    }


def of_iteration(frame: pl.DataFrame, calls: Calls, name: str | None) -> pl.DataFrame:
    """The rows of one iteration; all where none is named.

    Raises:
        SelectionError: no calls with shapes are in an iteration of that name.
    """
    if name is None:
        return frame
    present = calls.iteration.texts.gather(distinct_values(calls.iteration.of_calls)).to_list()
    if name not in present:
        have = ", ".join(str(one)[:_SHOWN] for one in present[:5]) or "none"
        more = " …" if len(present) > 5 else ""
        text = f"iteration: no iteration {name[:_SHOWN]!r} with shapes; there are {have}{more}"
        raise SelectionError(text)
    return frame.filter(pl.col("iteration") == name)
