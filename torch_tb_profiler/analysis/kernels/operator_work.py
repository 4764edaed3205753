"""The device work that calls of an operator launched, and calls inside them.

Definitions: ``docs/metrics.md#device-work-of-an-operator``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.identity import operator_identity
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace

_MAX_QUOTED = 40
"""At most so many characters of a user's text are repeated in an error."""


class OperatorChoice(Struct, frozen=True, eq=False):
    """The calls of operators that a request names.

    Attributes:
        calls: Mask over the calls of the call tree: those of the operator itself.
        own: Mask over ``trace.device_work``: launched by one of these calls itself.
        inside: Mask over ``trace.device_work``: launched by them or by a call inside them.
    """

    calls: Bools
    own: Bools
    inside: Bools


def choose_operator(trace: Trace, operator_id: str | None, name: str | None) -> OperatorChoice:
    """The calls of the operator of an id, of a name, or of both where both are given.

    Raises:
        SelectionError: the trace has no operator of this id or name.
    """
    tree = call_tree(trace)
    calls = np.ones(len(tree.slice), np.bool_)
    if operator_id is not None:
        identity = operator_identity(trace)
        operator = identity.find(operator_id)
        if operator is None:
            raise SelectionError(
                f"operator_id: no operator {operator_id[:_MAX_QUOTED]!r} in this trace; "
                "group_by=path of the view operators lists them"
            )
        calls &= identity.operator == operator
    if name is not None:
        codes = indices(trace.slices["name_code"])[tree.slice]
        known = {str(trace.strings[code]): code for code in distinct_values(codes).tolist()}
        if name not in known:
            raise SelectionError(
                f"operator: no operator is called {name[:_MAX_QUOTED]!r} in this trace; "
                "the view operators lists them"
            )
        calls &= codes == known[name]
    inside = nearest_marked(tree.parent, calls) >= 0
    return OperatorChoice(
        calls, np.append(calls, False)[tree.owner], np.append(inside, False)[tree.owner]
    )


def operator_work(trace: Trace, choice: OperatorChoice, selected: Bools) -> pl.DataFrame:
    """The device work of the operator by what launched it and by name, longest total time first.

    Args:
        trace: The trace.
        choice: The operator.
        selected: Mask over ``trace.device_work`` of what counts.

    Returns:
        inner_code (name of the inner operator that launched it, null for the operator itself),
        name_code, category, tensor_core (verdict), calls, total_ns, min_ns, max_ns.
    """
    tree, rows = call_tree(trace), np.flatnonzero(choice.inside & selected)
    names = indices(trace.slices["name_code"])
    launching = names[tree.slice[tree.owner[rows]]]
    work = trace.device_work[rows].select(
        "name_code",
        "category",
        "dur_ns",
        inner_code=pl.when(pl.Series(~choice.own[rows])).then(pl.Series(launching)),
        tensor_core=pl.Series(kernel_kinds(trace).tensor_core[rows]),
    )
    duration = pl.col("dur_ns")
    return (
        work.group_by("inner_code", "name_code", "category", maintain_order=True)
        .agg(
            pl.col("tensor_core").first(),
            pl.len().cast(pl.Int64).alias("calls"),
            duration.sum().alias("total_ns"),
            duration.min().alias("min_ns"),
            duration.max().alias("max_ns"),
        )
        .sort("total_ns", descending=True, maintain_order=True)
    )
