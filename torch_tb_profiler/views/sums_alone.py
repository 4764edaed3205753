"""Views of recordings that hold sums: how often and how long a kernel ran, not when.

Totals, calls and means of kernels stay. What follows from single calls or from their order is null
with the reason; views that are about nothing else are not available (``ViewSpec.needs_moments``).
"""

from __future__ import annotations

import re

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.missing_reasons import recorded_reason
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

_OF_CALLS = re.compile(
    r"(?:^|_)(?:min|max|median|p95|std|idle|gaps?|overhead|member|step|utilization|wall|"
    r"deviation|busy|sm|throughput|event)(?:_|$)|^(?:cpu|host)_|^mfu"
)
"""Keys of values that follow from single calls or from when they ran."""

_OF_SCOPES = re.compile(r"(?:^|_)(?:calls|iterations?|mean|steps?|operators)(?:_|$)")
"""Keys that count or divide by calls of scopes, of which there are none."""

_KERNEL_TABLES = re.compile(r"^(?:top_)?kernel|^tensor_core|^unrecognized")
"""Tables whose calls are those of kernels."""

_TOP, _NO_STEPS = "top_kernels", "no_steps"
_OF_STEPS = re.compile(
    r"^(?:average_step|longest_gap|steps|top_operators|operator_classes|throughput|resource)"
)
"""Tables of the overview that are about steps, idle time or operators."""

_KERNEL_FACTS = re.compile(r"^kernel_")


def no_moments(trace: Trace) -> str | None:
    """Why the recording does not say when something ran; None where it does."""
    return recorded_reason(trace, "moments")


def unavailable(spec: ViewSpec, trace: Trace) -> str | None:
    """Why a view has nothing to show of a recording without single calls; None for others."""
    return no_moments(trace) if spec.needs_moments else None


def sums_alone(trace: Trace, view: View) -> View:
    """``view`` without what no sum says, where the recording has nothing else; else unchanged."""
    reason = no_moments(trace)
    if reason is None:
        return view
    top = view.tables.get(_TOP)
    return replace(
        view,
        answer=view.answer if top is None else _answer(top, reason),
        tables={name: _table(table, reason) for name, table in view.tables.items()},
        series={} if top is not None else view.series,
        facts=tuple(_fact(fact, reason) for fact in view.facts),
        notes=tuple(note for note in view.notes if note.code != _NO_STEPS),
    )


def _answer(top: Table, reason: str) -> str:
    """The answer of the overview: the kernel with the most time."""
    first = top.frame.head(1).to_dicts()
    if not first:
        return reason
    name, share = first[0]["name"], first[0]["total_pct"]
    return f"{name} takes the most kernel time ({share:.1f} %). {reason}"


def _is_unknown(key: str, *, is_of_kernels: bool) -> bool:
    if _OF_CALLS.search(key) is not None:
        return True
    return not is_of_kernels and _OF_SCOPES.search(key) is not None


def _table(table: Table, reason: str) -> Table:
    if _OF_STEPS.match(table.spec.name):
        spec = replace(table.spec, when_empty=reason)
        return replace(table, spec=spec, frame=table.frame.clear(), null_reasons={})
    is_of_kernels = _KERNEL_TABLES.match(table.spec.name) is not None
    unknown = [
        column.key
        for column in table.spec.columns
        if column.key in table.frame.columns
        and column.type != "string"
        and _is_unknown(column.key, is_of_kernels=is_of_kernels)
    ]
    frame = table.frame.with_columns(
        pl.lit(None, table.frame.schema[key]).alias(key) for key in unknown
    )
    reasons = dict(table.null_reasons) | dict.fromkeys(unknown if frame.height else (), reason)
    return replace(table, frame=frame, null_reasons=reasons)


def _fact(fact: Fact, reason: str) -> Fact:
    is_of_kernels = _KERNEL_FACTS.search(fact.key) is not None
    if fact.value is None or not _is_unknown(fact.key, is_of_kernels=is_of_kernels):
        return fact
    return replace(fact, value=None, reason=reason)
