"""The rows of a view that show what a finding is about."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.idle.attribution import gpu_idle
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES, IdleCause
from torch_tb_profiler.analysis.idle.long_gaps import long_gaps
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.knowledge.idle import idle_file
from torch_tb_profiler.trace.columns import Int64

LONGEST_NAME = 500
"""Characters of a name in a filter; a server refuses filters of several thousand."""

_SPECIAL = re.compile(r"[;\\]")


def filter_clause(key: str, text: str) -> str:
    """The filter clause (grammar: ``views.querying``) for rows whose ``key`` is ``text``.

    Names that equality cannot express (``-``, space at an end, very long ones) are searched for.
    """
    is_exact = text == text.strip() and text != "-" and len(text) <= LONGEST_NAME
    literal = _SPECIAL.sub(r"\\\g<0>", text[:LONGEST_NAME])
    return f"{key}{'=' if is_exact else '~'}{literal}"


def operator_source(context: Context, name_code: int) -> dict[str, str] | None:
    """The row of the operator with a name; None if no operator has it (-1: no name)."""
    codes = context.trace.slices["name_code"].filter(pl.Series(operator_mask(context.trace)))
    name = context.trace.text(name_code)
    if name is None or not (codes == name_code).any():
        return None
    return {
        "view": "operators",
        "table": "operators",
        "filter": filter_clause("name", name),
        "sort": "-host_self_us",
    }


def heaviest_operator_source(
    context: Context, owner: Int64, weight: Int64
) -> dict[str, str] | None:
    """The row of the operator with the largest sum of weights; None without operators.

    Args:
        context: The context of the slices.
        owner: Ids of slices, -1 for none; slices that are no operators are skipped.
        weight: Weight of each.
    """
    is_operator = np.append(operator_mask(context.trace), False)[owner]
    if not is_operator.any():
        return None
    codes = context.trace.slices["name_code"].to_numpy()[owner[is_operator]]
    return operator_source(context, int(np.bincount(codes, weight[is_operator]).argmax()))


def gap_source(context: Context, cause: IdleCause) -> dict[str, str]:
    """The longest gaps of GPUs with a cause; its share of their idle time where longer gaps of
    other causes fill that table."""
    key = next(key for key, causes in GPU_CAUSES.items() if cause in causes)
    windows = step_windows(context.trace, context.selection)
    longest = long_gaps(gpu_idle(context.trace), windows)
    if not any(key in gaps.causes for gaps in longest.values()):
        return {"view": "idle", "table": "causes", "sort": "-total_us"}
    title = next(each.title for each in idle_file().causes if each.key == key)
    return {
        "view": "idle",
        "table": "gaps",
        "filter": filter_clause("title", title),
        "sort": "-duration_us",
    }
