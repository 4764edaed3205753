"""How long the sequences of a step of an inference engine are, told by the name of its range.

vLLM, SGLang and ATOM name the range of a step by sums over its requests: Σq of new tokens, Σk of
tokens to attend to, Σq² and Σq·k. Those are all that attention needs
(``docs/flops.md#inference-engines``).
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.model import Trace

MAX_NAME_CHARS = 1024

_VLLM = re.compile(
    r"execute_\d+_context_\d+\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)"
    r"_generation_\d+\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)"
)
_MARKED = re.compile(r"(?:step|prefill|decode)\[([^\]]*\bsqsk=\d[^\]]*|[^\]]*_sqsk=\d[^\]]*)\]")
_VALUE = re.compile(r"(?:^|[\s\[])(\w+)=(\d+)(?![\d.])")


class StepSums(Struct, frozen=True):
    """Sums over the requests of one step.

    Attributes:
        queries: Σq, new tokens; None where the range does not tell.
        keys: Σk, tokens they attend to.
        squares: Σq².
        pairs: Σq·k.
    """

    queries: int | None
    keys: int
    squares: int
    pairs: int

    @property
    def masked_pairs(self) -> int:
        """Pairs that the causal mask leaves out. A request's q new tokens are the last of its k:
        the first of them does not see the q - 1 behind it, the last sees all, so that
        q · (q - 1) / 2 pairs are left out."""
        return 0 if self.queries is None else max(self.squares - self.queries, 0) // 2


def step_sums(name: str) -> StepSums | None:
    """The sums that the name of a range tells; None where it tells none."""
    text = name[:MAX_NAME_CHARS]
    if (match := _VLLM.fullmatch(text)) is not None:
        q, k, qq, qk, *more = (int(each) for each in match.groups())
        return StepSums(q + more[0], k + more[1], qq + more[2], qk + more[3])
    if (marked := _MARKED.match(text)) is None:
        return None
    values = {key: int(value) for key, value in _VALUE.findall(marked[1])}
    sums = {key: _sum(values, key) for key in ("sk", "sqsq", "sqsk")}
    if any(value is None for value in sums.values()):
        return None
    queries = _sum(values, "sq")
    if queries is None:
        queries = values.get("toks", values.get("tok"))
    if queries is None and text.startswith("step[DECODE"):
        queries = values.get("bs")
    return StepSums(queries, sums["sk"] or 0, sums["sqsq"] or 0, sums["sqsk"] or 0)


def _sum(values: dict[str, int], key: str) -> int | None:
    """A sum of context and generation together; None where neither is told."""
    present = [values[each] for each in (f"c_{key}", f"g_{key}", key) if each in values]
    return sum(present) if present else None


class CallSums(Struct, frozen=True, eq=False):
    """Per call of :func:`call_tree` the sums of the step around it, NaN where none is told."""

    queries: Float64
    keys: Float64
    pairs: Float64
    masked_pairs: Float64


def sums_around(trace: Trace) -> CallSums:
    """The sums of the steps that the calls of a trace ran in."""
    names = indices(trace.slices["name_code"])
    sums_by_name: dict[str, StepSums] = {}

    def has_sums(range_name: str) -> bool:
        sums = step_sums(range_name) if range_name.startswith(_BEGINNINGS) else None
        if sums is not None:
            sums_by_name[range_name] = sums
        return sums is not None

    is_step = map_names(trace, names, has_sums, np.bool_)
    step = gather(nearest_marked(indices(trace.slices["parent"]), is_step), call_tree(trace).slice)
    columns = np.full((4, len(step)), np.nan)
    inside = np.flatnonzero(step >= 0)
    codes, inverse = factorize(names[step[inside]])
    of_codes = [sums_by_name[str(trace.strings[code])] for code in codes.tolist()]
    rows = [
        [
            np.nan if each.queries is None else each.queries,
            each.keys,
            each.pairs,
            each.masked_pairs,
        ]
        for each in of_codes
    ]
    if rows:
        columns[:, inside] = np.array(rows, np.float64).T[:, inverse]
    return CallSums(*columns)


_BEGINNINGS = ("execute_", "step[", "prefill[", "decode[")
