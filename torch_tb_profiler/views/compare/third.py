"""A third side beside the other two: its values and their differences from the same baseline.

Definitions: ``docs/views-compare.md#a-third-side``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.views.answering import value_of
from torch_tb_profiler.views.schema import Column, Fact, Table, View

THIRD = "third_"
PER_STEP = "per_step"
_KEYS = {
    "average_step": ("category",),
    "steps": ("position",),
    "operators": ("name",),
    "kernels": ("name",),
    "modules": ("path",),
    "memory": ("device", "measure"),
    "memory_parts": ("device", "grouping", "name"),
}
"""Tables that have a third side, and what their rows are matched by."""

_LONE_IS_ZERO = frozenset({"operators", "kernels", "modules", "memory_parts"})
_COMPARED = re.compile(r"candidate_\w+|delta_\w+|confidence_\w+|paired_with")
_FACTS = ("delta_total_us", "delta_total_pct", "confidence_total_pct", "candidate_steps")


def with_third(view: View, other: View) -> View:
    """A comparison with the third side in columns ``…third_…`` behind those of the candidate.

    Args:
        view: Baseline and candidate.
        other: The same baseline and the third side.
    """
    tables = {
        name: _joined(table, other.tables[name], _KEYS[name]) if name in _KEYS else table
        for name, table in view.tables.items()
    }
    facts = [
        replace(fact, key=_key(fact.key), title=f"Third side: {_lower(fact)}")
        for fact in other.facts
        if fact.key in _FACTS
    ]
    known = {note.text for note in view.notes}
    notes = tuple(note for note in other.notes if note.text not in known)
    answer = " ".join(filter(None, (view.answer, other.answer))) or None
    return replace(
        view,
        tables=tables,
        facts=(*view.facts, *facts),
        notes=(*view.notes, *notes),
        answer=answer,
    )


def third_group_by(view: View, other: View) -> str | None:
    """Values per step where only one of the two comparisons has them."""
    per_step = [value_of(each, "values_per_step") for each in (view, other)]
    return None if per_step[0] == per_step[1] else PER_STEP


def _lower(fact: Fact) -> str:
    return fact.title[0].lower() + fact.title[1:]


def _joined(table: Table, other: Table, keys: Sequence[str]) -> Table:
    """Rows of both by their keys; what only the third side has comes last."""
    compared = [column for column in other.spec.columns if _COMPARED.fullmatch(column.key)]
    third = other.frame.select(
        *keys,
        *(pl.col(column.key).alias(_key(column.key)) for column in compared),
        pl.lit(True).alias("is_third"),
    )
    frame = table.frame.with_columns(pl.lit(True).alias("is_own")).join(
        third,
        on=list(keys),
        how="full",
        coalesce=True,
        maintain_order="left_right",
        nulls_equal=True,
    )
    if table.spec.name in _LONE_IS_ZERO:
        frame = _with_zeros(frame, table)
    columns: list[Column] = []
    for column in table.spec.columns:
        columns.append(column)
        match = next((each for each in compared if each.key == column.key), None)
        if match is not None:
            columns.append(_third_column(match))
    spec = replace(table.spec, columns=tuple(columns))
    schema = spec.polars_schema()
    frame = frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    reasons = {
        _key(key): reason for key, reason in other.null_reasons.items() if _key(key) in schema
    }
    return replace(table, spec=spec, frame=frame, null_reasons={**table.null_reasons, **reasons})


def _with_zeros(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """What a side did not run is 0 there; means and percentages of nothing stay null."""
    for column in table.spec.columns:
        key = column.key
        if not key.startswith(("baseline_", "candidate_", "delta_")) or "mean" in key:
            continue
        if column.unit == "pct" or key.startswith("baseline_names"):
            continue
        is_known = frame[key].null_count() < frame.height
        own = pl.when(pl.col("is_own").is_null() & is_known).then(0).otherwise(pl.col(key))
        frame = frame.with_columns(own.alias(key))
        other = _key(key)
        if other in frame.columns:
            is_known = frame[other].null_count() < frame.height
            lone = pl.col("is_third").is_null() & is_known
            frame = frame.with_columns(pl.when(lone).then(0).otherwise(pl.col(other)).alias(other))
    return frame


def _key(key: str) -> str:
    """``candidate_calls`` → ``third_calls``, ``delta_calls`` → ``delta_third_calls``."""
    for kind in ("delta_", "confidence_"):
        if key.startswith(kind):
            return f"{kind}{THIRD}{key.removeprefix(kind)}"
    return THIRD + key.removeprefix("candidate_")


def _third_column(column: Column) -> Column:
    title = column.title.replace("Candidate", "Third")
    if title == column.title:
        title = f"Third {title}"
    text = column.help.replace("candidate", "third side").replace("Candidate", "Third side")
    return replace(column, key=_key(column.key), title=title, help=text)
