"""The slices in a range by name, as a table: how many, their time, how long they take.

Count, total and self time are of what lies in the range: a slice that its edges cut counts with
the part inside. How long slices take (mean, shortest, longest, deviation) is of those that lie in
the range whole: a cut one was longer than what is seen of it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.recording.arguments import argument_values
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds, microseconds
from torch_tb_profiler.views.argument_columns import with_arguments
from torch_tb_profiler.views.name_columns import OTHER_NAMES, other_names
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.lane_sums import NameTime
from torch_tb_profiler.views.timeline.range_parts import LanePart, parts_in_range

MAX_NAMES = 10_000
"""Names that are listed; what has least self time is left out, and counted."""

_AT_ONCE = 2_000_000
"""Slices that are summed at one time: so much more memory than the sums is needed."""

_FURTHEST = np.iinfo(np.int64).max

_GROUP = ("is_device", "category", "name_code")

_TIMES = ("self", "total", "mean", "min", "max", "std")

_DURATION = "of the slices that lie in the range whole."
_ALL_CUT = "The edges of the range cut every slice of this name: none lies in it whole."

COLUMNS = (
    Column("name", "Name", "string", None, "Name of the slices, as recorded."),
    *OTHER_NAMES,
    Column("kind", "Kind", "string", None, "What the slices are: kernels, operators, frames."),
    Column(
        "where",
        "Where",
        "string",
        None,
        "Whether they ran on the host or on a device.",
        hidden=True,
    ),
    Column(
        "count",
        "Count",
        "integer",
        "count",
        "Slices of this name and kind that overlap the range, also those cut by its edges.",
        additive=True,
    ),
    Column(
        "self_us",
        "Self Time",
        "number",
        "us",
        "Time inside the range that no slice one lane below covers.",
        family="time",
        additive=True,
    ),
    Column(
        "total_us",
        "Total Time",
        "number",
        "us",
        "Time inside the range, children included; nested slices of one name count twice.",
        family="time",
    ),
    Column("mean_us", "Mean", "number", "us", f"Mean duration {_DURATION}", family="duration"),
    Column("min_us", "Min", "number", "us", f"Shortest {_DURATION}", family="duration"),
    Column("max_us", "Max", "number", "us", f"Longest {_DURATION}", family="duration"),
    Column(
        "std_us",
        "Std. Dev.",
        "number",
        "us",
        f"Standard deviation (of the population) of the durations {_DURATION}",
        family="duration",
    ),
    Column(
        "cut",
        "Cut by the Range",
        "integer",
        "count",
        "Slices that begin before the range or end after it.",
        additive=True,
    ),
)

SPEC = TableSpec(
    "slices",
    "Slices by name",
    "One row per name and kind of slice in the range, over all tracks that were chosen. Slices "
    "that the edges of the range cut count with the part inside.",
    COLUMNS,
    sort="-self_us,name",
    when_empty="No thread or stream of these tracks has a slice in this range.",
)


class CategoryTime(Struct, frozen=True):
    """Time of one category in a range."""

    category: int
    is_device: bool
    count: int
    self_us: float


class RangeNames(Struct, frozen=True, eq=False):
    """Sums by name; in ``sums`` a row per device or host, category and name, in ``arguments`` one
    per argument of a slice in the range, with the same keys."""

    trace: Trace
    sums: pl.DataFrame
    arguments: pl.DataFrame

    def by_category(self) -> list[CategoryTime]:
        """Host before device, most time first."""
        sums = self.sums.group_by("is_device", "category").agg(pl.sum("count", "self_ns"))
        sums = sums.sort("is_device", -pl.col("self_ns"), "category")
        return [
            CategoryTime(category, is_device, count, exact_microseconds(self_ns))
            for is_device, category, count, self_ns in sums.iter_rows()
        ]

    def top(self, categories: tuple[int, ...], limit: int) -> list[NameTime]:
        """The names of some categories that have most self time."""
        sums = self.sums.filter(pl.col("category").is_in(categories)).group_by("name_code")
        most = sums.agg(pl.sum("count", "self_ns", "total_ns"))
        most = most.sort(-pl.col("self_ns"), "name_code").head(limit)
        others = kernel_names(self.trace)
        return [
            NameTime(
                self.trace.text(code) or "",
                count,
                exact_microseconds(self_ns),
                exact_microseconds(total_ns),
                others.short_text(code),
                others.demangled_text(code),
            )
            for code, count, self_ns, total_ns in most.iter_rows()
        ]

    def table(self) -> tuple[Table, int]:
        """The names with most self time (:data:`MAX_NAMES`), and how many others there are."""
        sums = self.sums.sort(-pl.col("self_ns"), "name_code", "category").head(MAX_NAMES)
        codes = sums["name_code"]
        names = codes.replace_strict(
            {code: self.trace.text(code) for code in codes.unique().to_list()},
            default=None,
            return_dtype=pl.String,
        )
        short, demangled = other_names(self.trace, codes)
        titles = {code: category.title for code, category in enumerate(CATEGORIES)}
        sums = sums.with_columns(
            std_ns=pl.when(pl.col("whole") > 0).then((pl.col("squares") / pl.col("whole")).sqrt())
        )
        frame = sums.select(
            names.fill_null("").alias("name"),
            short,
            demangled,
            kind=pl.col("category").replace_strict(titles, return_dtype=pl.String),
            where=pl.when("is_device").then(pl.lit("device")).otherwise(pl.lit("host")),
            count=pl.col("count").cast(pl.Int64),
            **{f"{key}_us": microseconds(sums[f"{key}_ns"]) for key in _TIMES},
            cut=pl.col("cut").cast(pl.Int64),
        )
        spoken = dict.fromkeys(("mean_us", "min_us", "max_us", "std_us"), _ALL_CUT)
        table = Table(SPEC, frame, needed(frame, spoken))
        table = with_arguments(self.trace, table, self.arguments, sums, _GROUP)
        table = replace(table, frame=table.frame.sort(-pl.col("self_us"), "name"))
        return table, self.sums.height - frame.height


def range_names(timeline: Timeline, chosen: Int64, start_ns: int, end_ns: int) -> RangeNames:
    """Sums by name of the slices of the lanes ``chosen`` in ``[start_ns, end_ns)``, from the
    origin."""
    trace = timeline.trace
    sums: list[pl.DataFrame] = []
    arguments: list[pl.DataFrame] = []
    pending: list[LanePart] = []
    held = 0
    low, high = start_ns + timeline.origin_ns, end_ns + timeline.origin_ns
    for part in parts_in_range(timeline, chosen, start_ns, end_ns):
        pending.append(part)
        held += len(part.slice)
        if held >= _AT_ONCE:
            sums.append(_summed(trace, pending, low, high))
            arguments.append(_arguments(trace, pending))
            pending, held = [], 0
    sums.append(_summed(trace, pending, low, high))
    arguments.append(_arguments(trace, pending))
    return RangeNames(trace, _joined(sums), pl.concat(arguments))


def _arguments(trace: Trace, parts: list[LanePart]) -> pl.DataFrame:
    """The arguments of the slices of some parts, with what the sums are grouped by."""
    none = np.empty(0, np.int64)
    has_arguments = bool(trace.arguments.height)
    parts = parts if has_arguments else []
    slices = np.concatenate([none, *(part.slice for part in parts)])
    frame = pl.DataFrame(
        {
            "is_device": np.repeat(
                np.array([part.is_device for part in parts], np.bool_),
                [len(part.slice) for part in parts],
            ),
            "category": np.concatenate([none, *(part.category for part in parts)]),
            "name_code": trace.slices["name_code"].to_numpy()[slices].astype(np.int64),
            "slice": slices,
        }
    )
    return argument_values(trace, frame)


def _summed(trace: Trace, parts: list[LanePart], low_ns: int, high_ns: int) -> pl.DataFrame:
    """The sums of some parts; ``squares`` are those of the distances from the mean."""
    none = np.empty(0, np.int64)
    ids = np.concatenate([none, *(part.slice for part in parts)])
    category = np.concatenate([none, *(part.category for part in parts)])
    is_device = np.repeat([part.is_device for part in parts], [len(part.slice) for part in parts])
    start = trace.slices["start_ns"].to_numpy()[ids]
    dur = trace.slices["dur_ns"].to_numpy()[ids]
    end = start + dur
    codes = len(CATEGORIES)
    name = trace.slices["name_code"].to_numpy()[ids].astype(np.int64)
    keys, row = factorize(((name + 1) * codes + category) * 2 + is_device.astype(np.int64))
    count = len(keys)
    is_whole = (start >= low_ns) & (end <= high_ns)
    inside = np.maximum(np.minimum(end, high_ns) - np.maximum(start, low_ns), 0)
    self_ns = np.concatenate([none, *(part.self_ns for part in parts)])
    at, dur = row[is_whole], dur[is_whole]
    whole = np.bincount(at, minlength=count)
    mean_ns = np.bincount(at, dur, count) / np.maximum(whole, 1)
    squares = np.bincount(at, (dur - mean_ns[at]) ** 2, count).astype(np.float64)
    shortest, longest = np.full(count, _FURTHEST), np.full(count, -1)
    np.minimum.at(shortest, at, dur)
    np.maximum.at(longest, at, dur)
    sums = pl.DataFrame(
        {
            "is_device": keys % 2 == 1,
            "category": keys // 2 % codes,
            "name_code": keys // (2 * codes) - 1,
            "count": np.bincount(row, minlength=count),
            "self_ns": np.bincount(row, self_ns, count).astype(np.int64),
            "total_ns": np.bincount(row, inside, count).astype(np.int64),
            "cut": np.bincount(row[~is_whole], minlength=count),
            "whole": whole,
            "mean_ns": mean_ns,
            "squares": squares,
            "min_ns": shortest,
            "max_ns": longest,
        }
    )
    known = pl.when(pl.col("whole") > 0)
    return sums.with_columns(known.then(key).alias(key) for key in ("mean_ns", "min_ns", "max_ns"))


def _joined(sums: list[pl.DataFrame]) -> pl.DataFrame:
    """The sums of all: squares of distances from the common mean (Chan et al.)."""
    if len(sums) == 1:
        return sums[0]
    rows = pl.concat(sums)
    weighed = (pl.col("mean_ns") * pl.col("whole")).sum() / pl.col("whole").sum()
    rows = rows.with_columns(common_ns=weighed.over(_GROUP))
    away = pl.col("whole") * (pl.col("mean_ns") - pl.col("common_ns")) ** 2
    return rows.group_by(_GROUP).agg(
        pl.sum("count", "self_ns", "total_ns", "cut", "whole"),
        pl.when(pl.col("whole").sum() > 0).then(pl.col("common_ns").first()).alias("mean_ns"),
        (pl.col("squares") + away.fill_null(0.0)).sum().alias("squares"),
        pl.min("min_ns"),
        pl.max("max_ns"),
    )
