"""How the job is divided and which dimension costs most, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.parallel.costs import ALL_RANKS, UNKNOWN
from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View

_PHRASES = {
    "tensor": "{size}-way tensor",
    "pipeline": "{size}-stage pipeline",
    "context": "{size}-way context",
    "sharded": "{size} shards",
    "data": "{size} data replicas",
}
"""Dimension → how a sentence names it, the innermost first."""


def answer(view: View) -> str | None:
    """The strategy, the exposed communication of its most expensive dimension, and the row or
    column of the matrix that is slow."""
    strategy = _strategy(rows_of(view, "dimensions"))
    return joined((strategy, _bubble(rows_of(view, "bubbles")), _exposed(view), _slow_line(view)))


def _strategy(rows: pl.DataFrame) -> str | None:
    is_dimension = ~pl.col("dimension").is_in([UNKNOWN, ALL_RANKS])
    known = rows.filter(is_dimension & (pl.col("size") > 1)) if rows.height else rows
    if not known.height:
        return (
            "No recorded process group belongs to a known dimension of the job; --parallel states "
            "the strategy where members of groups are recorded."
        )
    sizes = dict(zip(known["dimension"], known["size"], strict=True))
    parts = [text.format(size=sizes[name]) for name, text in _PHRASES.items() if name in sizes]
    sources = sorted(set(", ".join(known["source"].drop_nulls()).split(", ")))
    origin = {"given": "as given", "name": "from names of groups", "traffic": "from traffic"}
    origin["members"] = "from members"
    known_from = ", ".join(origin.get(source, source) for source in sources)
    experts = f"experts divided among {sizes['expert']} ranks" if "expert" in sizes else None
    text = ", ".join(filter(None, (" × ".join(parts), experts)))
    return f"{text[0].upper()}{text[1:]} ({known_from})."


def _bubble(rows: pl.DataFrame) -> str | None:
    known = rows.drop_nulls("bubble_pct") if rows.height else rows
    if not known.height:
        return None
    first = known.row(0, named=True)
    mean = 100 * float(known["bubble_us"].sum()) / float(known["span_us"].sum())
    text = f"The pipeline's bubble is {percent_text(mean)} of its time"
    if first["minimum_pct"] is None:
        return f"{text}."
    least = percent_text(first["minimum_pct"])
    return f"{text}; its schedule ({first['schedule']}) cannot avoid {least}."


def _exposed(view: View) -> str | None:
    rows = rows_of(view, "dimensions")
    first = top_row(rows, "exposed_pct")
    if first is None:
        return None
    total = float(rows["exposed_pct"].sum())
    if first["dimension"] == UNKNOWN or total <= 0:
        return f"Exposed communication takes {percent_text(total)} of the step."
    if rows.drop_nulls("exposed_pct").height == 1:
        return f"Its exposed communication takes {percent_text(total)} of the step."
    share = percent_text(first["exposed_pct"])
    most = "of all ranks" if first["dimension"] == ALL_RANKS else first["dimension"]
    return (
        f"Exposed communication takes {percent_text(total)} of the step, most of it {most} "
        f"({share})."
    )


def _slow_line(view: View) -> str | None:
    rows = rows_of(view, "matrix_lines")
    if not rows.height:
        return None
    first = top_row(rows, "deviation_pct", pl.col("is_outlier"))
    if first is None:
        return None
    kind = "pipeline stage" if first["dimension"] == "pipeline" else first["dimension"]
    name = f"{kind} {quoted(first['index'])}"
    measure = first["measure"].lower()
    deviation = percent_text(first["deviation_pct"])
    return f"The ranks of {name} have {deviation} more {measure} than the others."
