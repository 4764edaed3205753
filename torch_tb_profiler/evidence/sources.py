"""Which rows of which table show what a piece of advice speaks of."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.trace.columns import Int64

LONGEST_NAME = 500
"""Characters of a name a filter repeats; a server refuses filters of several thousand."""

_SPECIAL = re.compile(r"[;\\]")


def clause(key: str, text: str) -> str:
    """The filter clause (grammar: ``views.querying``) for rows whose ``key`` is ``text``.

    What equality cannot say, the name ``-``, space at an end, a very long name, is searched for.
    """
    exact = text == text.strip() and text != "-" and len(text) <= LONGEST_NAME
    literal = _SPECIAL.sub(r"\\\g<0>", text[:LONGEST_NAME])
    return f"{key}{'=' if exact else '~'}{literal}"


def operator_rows(context: Context, name_code: int) -> dict[str, str] | None:
    """The row of the operator of a name; None where no operator has it (-1: no name)."""
    codes = context.trace.slices["name_code"].filter(pl.Series(operator_mask(context.trace)))
    name = context.trace.text(name_code)
    if name is None or not (codes == name_code).any():
        return None
    return {"view": "operators", "table": "operators", "filter": clause("name", name)}


def heaviest_operator_rows(context: Context, owner: Int64, weight: Int64) -> dict[str, str] | None:
    """The row of the operator with the largest sum of weights.

    Args:
        context: Whose trace the slices belong to.
        owner: Ids of slices, -1 for none; what is no operator is passed over.
        weight: Of each.
    """
    is_operator = np.append(operator_mask(context.trace), False)[owner]
    if not is_operator.any():
        return None
    codes = context.trace.slices["name_code"].to_numpy()[owner[is_operator]]
    return operator_rows(context, int(np.bincount(codes, weight[is_operator]).argmax()))
