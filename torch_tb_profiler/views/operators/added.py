"""The later columns of the table of operators: identity and times.

Definitions: ``docs/metrics.md#operator-identity``, ``docs/metrics.md#operator-times``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.operators.identity import (
    DIRECTIONS,
    NO_TYPE,
    operator_identity,
    operator_ids,
    operator_parents,
    operator_paths,
)
from torch_tb_profiler.analysis.operators.times import MEASURES, NO_RUNTIME, has_runtime
from torch_tb_profiler.knowledge.operator_types import TYPES
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.measured_columns import MEASURED_COLUMNS, measured_reasons
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.operators.columns import (
    NO_CALL,
    NO_DIRECTION,
    NO_FORWARD,
    NO_KNOWN_TYPE,
    NO_PARENT,
    NO_TYPES,
    OPERATORS,
    SEVERAL_OPERATORS,
)
from torch_tb_profiler.views.time_columns import time_keys, times_in_microseconds

_OVERHEAD = time_keys("cpu_overhead")
GPU_KEYS = (*time_keys("gpu")[1:], *time_keys("gpu_idle"), "kernel_calls")
"""Columns that need device work linked to the host; the GPU total is Device Total."""
_ADDED = OPERATORS.columns[[column.key for column in OPERATORS.columns].index("operator_id") :]
_SEVERAL = -1


def operators_of_calls(trace: Trace, calls: pl.DataFrame) -> Int64:
    """The number of the operator of each row of ``selected_operator_calls``."""
    operator = operator_identity(trace).operator
    of_calls: Int64 = operator[calls["call"].to_numpy()]
    return of_calls


def identity_of_groups(
    trace: Trace, calls: pl.DataFrame, operator: Int64, keys: Sequence[str]
) -> pl.DataFrame:
    """Values common to the calls of each group: the keys, ``operator_number``, ``direction``,
    ``type``, each -1 where they have several.

    Args:
        trace: The trace.
        calls: Rows of ``selected_operator_calls`` with the keys.
        operator: The operator of each.
        keys: What rows of a group have in common.
    """
    identity = operator_identity(trace)
    values = {
        "operator_number": pl.Series(operator),
        "direction": pl.Series(identity.direction[operator]),
        "type": pl.Series(identity.type[operator]),
    }
    rows = calls.select(keys).with_columns(**values)
    return rows.group_by(keys, maintain_order=True).agg(
        pl.when(pl.col(key).min() == pl.col(key).max())
        .then(pl.col(key).first())
        .otherwise(_SEVERAL)
        .alias(key)
        for key in values
    )


def names_of(trace: Trace, groups: pl.DataFrame) -> pl.Series:
    """Names of the rows: the path if they are grouped by path, else the name."""
    if "operator" in groups.columns:
        return operator_paths(trace).gather(groups["operator"]).alias("name")
    return codes.texts(trace, groups["name_code"]).alias("name")


def added_columns(trace: Trace, groups: pl.DataFrame, data_types: pl.Series) -> list[pl.Series]:
    """The columns from ``operator_id`` on; null for rows that are not operators.

    Args:
        trace: The trace.
        groups: Results of ``times_by_group`` and :func:`identity_of_groups`, with what counters
            measured; or rows without them.
        data_types: The element types of the inputs of each.
    """
    if "operator_number" not in groups.columns:
        types = {"string": pl.String, "number": pl.Float64, "integer": pl.Int64}
        return [pl.Series(c.key, [None] * groups.height, types[c.type]) for c in _ADDED]
    identity, number = operator_identity(trace), groups["operator_number"].to_numpy()
    one = number != _SEVERAL
    directions = [DIRECTIONS[max(code, 0)] for code in groups["direction"].to_list()]
    kinds = [None if code == NO_TYPE else TYPES[code] for code in groups["type"].to_list()]
    times = times_in_microseconds(groups)
    values = {
        "operator_id": _ids(trace, np.where(one, number, -1)),
        "direction": pl.Series(directions, dtype=pl.String),
        "type": pl.Series(kinds, dtype=pl.String),
        "dtype": data_types,
        **times,
        "kernel_calls": groups["kernel_calls"].cast(pl.Int64),
        "forward_operator_id": _ids(trace, np.where(one, identity.forward[number], -1)),
        "parent_operator_id": _ids(trace, np.where(one, operator_parents(trace)[number], -1)),
    }
    values |= {column.key: groups[column.key] for column in MEASURED_COLUMNS}
    if not has_runtime(trace):
        values |= {key: pl.Series([None] * groups.height, dtype=pl.Float64) for key in _OVERHEAD}
    return [values[column.key].alias(column.key) for column in _ADDED]


def _ids(trace: Trace, numbers: Int64) -> pl.Series:
    """The ids of operators, null for -1."""
    rows = pl.Series(numbers).set(pl.Series(numbers < 0), None)
    return operator_ids(trace).gather(rows)


def added_reasons(trace: Trace) -> dict[str, str]:
    """Why columns from ``operator_id`` on are null."""
    times = (key for measure in MEASURES for key in time_keys(measure))
    reasons = dict.fromkeys((*times, "kernel_calls"), NO_CALL)
    if not has_runtime(trace):
        reasons |= dict.fromkeys(_OVERHEAD, NO_RUNTIME)
    named = {column.key for column in _ADDED}
    reasons = {key: text for key, text in reasons.items() if key in named}
    return reasons | {
        **measured_reasons(trace),
        "operator_id": SEVERAL_OPERATORS,
        "direction": NO_DIRECTION,
        "type": NO_KNOWN_TYPE,
        "dtype": missing_reason(trace, "input_types", NO_TYPES),
        "forward_operator_id": NO_FORWARD,
        "parent_operator_id": NO_PARENT,
    }
