"""What a report is made of: small tables whose columns have DLProf's titles."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import View

STATISTICS = (("Total", "total"), ("Avg.", "mean"), ("Min", "min"), ("Max", "max"))
"""DLProf's words for the four figures of a time, and those in the keys of our columns."""

MEASURES = (
    ("CPU Time", "cpu"),
    ("GPU Time", "gpu"),
    ("CPU Overhead Time", "cpu_overhead"),
    ("GPU Idle Time", "gpu_idle"),
)
"""DLProf's words for the four times of an operator, and those in the keys of our columns."""


class ReportTable(Struct, frozen=True):
    """One table of a report.

    Attributes:
        title: What it is about; None where the report is this table alone.
        frame: Its rows; the names of the columns are DLProf's titles.
    """

    title: str | None
    frame: pl.DataFrame


class Report(Struct, frozen=True):
    """A report.

    Attributes:
        name: DLProf's name of it, ``"detail"``.
        tables: Its tables.
    """

    name: str
    tables: tuple[ReportTable, ...]


OPERATORS = ("operators", "operators")
"""View and table of the operators at their places."""

Views = Mapping[str, View]
"""The views that reports are made of, by name."""


class NoTableError(LookupError):
    """A view of this recording lacks the table that a report is built from: it shows other ones."""


def frame_of(views: Views, source: tuple[str, str]) -> pl.DataFrame:
    """A table by the names of its view and of itself.

    Raises:
        NoTableError: the view has no such table.
    """
    name, table = source
    view = views[name]
    if table not in view.tables:
        shown = ", ".join(view.tables) or "no tables"
        raise NoTableError(f"The view {name} of this recording has {shown} instead of {table}.")
    return view.tables[table].frame


def sixteen_times() -> dict[str, str]:
    """DLProf's titles of the sixteen times, with the keys of our columns."""
    return {
        f"{word} {measure} (ns)": f"{stem}_{statistic}_us"
        for measure, stem in MEASURES
        for word, statistic in STATISTICS
    }


def renamed(frame: pl.DataFrame, titles: Mapping[str, str]) -> pl.DataFrame:
    """Columns of ``frame`` under other titles: times in whole ns, booleans as yes and no.

    Args:
        frame: The rows; a column that it lacks is null.
        titles: Title → key; a key that ends in ``_us`` is a time.
    """
    return frame.select(_cell(frame, key).alias(title) for title, key in titles.items())


def _cell(frame: pl.DataFrame, key: str) -> pl.Expr:
    if key not in frame.columns:
        return pl.lit(None, pl.String)
    if key.endswith("_us"):
        return in_ns(pl.col(key))
    if key == "direction":
        return direction(pl.col(key))
    if frame.schema[key] == pl.Boolean:
        return yes_no(pl.col(key))
    return pl.col(key)


def in_ns(time_us: pl.Expr) -> pl.Expr:
    """A time in whole ns."""
    return (time_us * NS_PER_US).round(0).cast(pl.Int64)


def yes_no(flag: pl.Expr) -> pl.Expr:
    """DLProf's words for a boolean."""
    return pl.when(flag).then(pl.lit("yes")).when(~flag).then(pl.lit("no"))


def direction(text: pl.Expr) -> pl.Expr:
    """DLProf's words for the direction of an operator."""
    return text.replace({"forward": "fprop", "backward": "bprop"})


def with_operator_paths(views: Views, calls: pl.DataFrame) -> pl.DataFrame:
    """``calls`` with ``operator`` as the path it has in the report ``detail``; as they are where
    the recording holds no operators.

    Args:
        views: The views, among them that of operators at their places if there is one.
        calls: Rows with ``operator_id`` and ``operator``.
    """
    if OPERATORS[0] not in views:
        return calls
    operators = frame_of(views, OPERATORS)
    paths = operators.select("operator_id", path="name").drop_nulls().unique("operator_id")
    joined = calls.join(paths, on="operator_id", how="left", maintain_order="left")
    return joined.with_columns(operator=pl.coalesce("path", "operator")).drop("path")


def with_callers(calls: pl.DataFrame, operators: pl.DataFrame) -> pl.DataFrame:
    """``calls`` once for the operator that launched each, and for each one around that."""
    parents = operators.select("operator_id", "parent_operator_id").drop_nulls()
    level = calls.select("operator_id", "kernel", "tensor_core_used").unique(maintain_order=True)
    levels = [level]
    while level.height:
        level = level.join(parents, on="operator_id", maintain_order="left").select(
            pl.col("parent_operator_id").alias("operator_id"), "kernel", "tensor_core_used"
        )
        level = level.unique(maintain_order=True)
        levels.append(level)
    return pl.concat(levels)


def unassociated(name: pl.Expr) -> pl.Expr:
    """DLProf's name of the operator that work outside every operator belongs to."""
    return pl.lit(UNASSOCIATED) + name
