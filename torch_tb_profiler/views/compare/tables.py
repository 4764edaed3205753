"""Tables of a comparison: each measure as baseline, candidate, difference, and how sure it is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.views.compare.student import SampleMoments, confidence_pct, interval
from torch_tb_profiler.views.schema import Column, Table, TableSpec, Unit

SHARE = Column(
    "share_of_delta_pct",
    "Share of Δ",
    "number",
    "pct",
    "Share of the total change; negative: changed in the opposite direction.",
)
"""Part of a row in the change that a table explains."""

PAIRED_WITH = (
    Column(
        "paired_with",
        "Paired With",
        "string",
        None,
        "Name in the candidate, where it differs: the two stand at the same positions of the step.",
    ),
    Column(
        "pair_confidence_pct",
        "Pair Confidence",
        "number",
        "pct",
        "Part of the calls of both names that meet at equal positions, each weighted by its "
        "evidence: 1 for the same operator, shapes and position, down to 0.6 for the same operator "
        "only. Below 50 % names stay unpaired.",
    ),
    Column("pair_reason", "Paired By", "string", None, "Evidence of the pair."),
)
"""Columns of rows whose names differ between the sides."""

NO_CHANGE = "The step time is the same on both sides, so there are no shares."
NO_BASE = "The baseline is 0, so there is no percentage."
NO_CALLS = "One side has no calls and so no mean."
_INFERENCE = re.compile(r"confidence_.*_pct|delta_.*_(low|high)_us")
_DECIMALS_OF_US = 6
"""Differences are given to the picosecond: that keeps averages of whole ns and drops the noise
that the difference of two doubles has."""
FEW_STEPS = "At least two steps on both sides are needed to tell a difference from noise."


class Measure(Struct, frozen=True):
    """A number that is compared.

    Attributes:
        key: Its key in the view it comes from, ``host_self_us``.
        title: For people.
        unit: Its unit.
        sampled: Whether its variation from step to step is known.
        bounded: Whether the bounds of its difference are columns too.
        is_mean: Whether it is the mean of a call: not divided by steps, and not 0 without calls.
    """

    key: str
    title: str
    unit: Unit
    sampled: bool = False
    bounded: bool = False
    is_mean: bool = False

    @property
    def stem(self) -> str:
        """The key without its unit, ``host_self``."""
        suffix = f"_{self.unit}"
        return self.key.removesuffix(suffix)

    @property
    def family(self) -> str:
        """What is read beside it: its own other side, and self beside total of one place."""
        sides = ("host", "device")
        return next((side for side in sides if f"{side}_" in self.key), self.key)


def measure_columns(measure: Measure) -> tuple[Column, ...]:
    """The columns that compare one measure."""
    key, title, unit, stem = measure.key, measure.title, measure.unit, measure.stem

    def in_unit(key: str, title: str, text: str) -> Column:
        return Column(key, title, "number", unit, text, family=measure.family)

    columns = [
        in_unit(f"baseline_{key}", f"Baseline {title}", f"{title} in the baseline."),
        in_unit(f"candidate_{key}", f"Candidate {title}", f"{title} in the candidate."),
        in_unit(f"delta_{key}", f"Δ {title}", "Candidate minus baseline."),
        Column(
            f"delta_{stem}_pct",
            f"Δ {title}",
            "number",
            "pct",
            "Difference in percent of the baseline.",
        ),
    ]
    if measure.bounded:
        text = "bound of the difference of the means per step, at 95 % confidence (Welch)."
        columns += [
            in_unit(f"delta_{stem}_low_{unit}", "Δ at least", f"Lower {text}"),
            in_unit(f"delta_{stem}_high_{unit}", "Δ at most", f"Upper {text}"),
        ]
    if measure.sampled:
        columns.append(
            Column(
                f"confidence_{stem}_pct",
                f"Confidence {title}",
                "number",
                "pct",
                "Confidence that the means per step differ: 100 × (1 − p) of Welch's t-test over "
                "the per-step sums of both sides, never 100. Noise alone gives 95 or more in one "
                "row of twenty.",
            )
        )
    return tuple(columns)


def pair_spec(
    name: str,
    title: str,
    text: str,
    *,
    keys: tuple[Column, ...],
    measures: tuple[Measure, ...],
    more: tuple[Column, ...] = (),
    tree: tuple[str, str] | None = None,
) -> TableSpec:
    """The declaration of a table that compares ``measures`` of rows with the columns ``keys``;
    columns ``more``, at the end, are filled later."""
    compared = tuple(column for measure in measures for column in measure_columns(measure))
    return TableSpec(name, title, text, keys + compared + more, tree=tree)


class Side(Struct, frozen=True, eq=False):
    """What one trace says, one element per row.

    Attributes:
        rows: How many rows it has.
        values: Measure key → values; NaN where the trace says nothing.
        samples: Measure key → per-step samples of the sampled measures.
        reasons: Measure key → why its values are NaN.
    """

    rows: int
    values: dict[str, Float64]
    samples: dict[str, SampleMoments] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


class Pairing(Struct, frozen=True, eq=False):
    """Which row of the baseline meets which of the candidate; -1 where one side has none.

    Attributes:
        baseline: Row of the baseline per row of the comparison.
        candidate: Row of the candidate.
        lone_is_zero: What only one side has is 0 on the other (it did not run), else unknown.
    """

    baseline: Int64
    candidate: Int64
    lone_is_zero: bool = True


def pair_by_key(baseline: list[Any], candidate: list[Any]) -> Pairing:
    """Rows with equal keys meet; keys are unique on each side. Baseline order, then the rest."""
    rows = {key: row for row, key in enumerate(candidate)}
    met = [rows.pop(key, -1) for key in baseline]
    rest = list(rows.values())
    return Pairing(
        np.array([*range(len(baseline)), *[-1] * len(rest)], np.int64),
        np.array([*met, *rest], np.int64),
    )


def compared_table(
    spec: TableSpec,
    keys: dict[str, list[Any]],
    measures: tuple[Measure, ...],
    *,
    sides: tuple[Side, Side],
    pairing: Pairing,
) -> Table:
    """Fill a table of :func:`pair_spec`.

    Args:
        spec: Its declaration.
        keys: Values of the key columns, one per row of ``pairing``.
        measures: What is compared.
        sides: Baseline and candidate.
        pairing: Which rows meet.
    """
    columns: dict[str, Any] = dict(keys)
    reasons: dict[str, str] = {}
    for measure in measures:
        compared = _compared(measure, sides, pairing)
        columns |= compared
        unmeasured = np.isnan(compared[f"delta_{measure.key}"])
        unknown = {side.reasons[measure.key] for side in sides if measure.key in side.reasons}
        for key, values in compared.items():
            texts = sorted(unknown) if (np.isnan(values) & unmeasured).any() else []
            if measure.is_mean and unmeasured.any():
                texts.append(NO_CALLS)
            if (np.isnan(values) & ~unmeasured).any():
                texts.append(NO_BASE if key == f"delta_{measure.stem}_pct" else FEW_STEPS)
            if texts:
                reasons[key] = " ".join(texts)
    schema = spec.polars_schema()
    later = dict.fromkeys(schema.keys() - columns.keys())
    frame = pl.DataFrame({**columns, **later}, schema=schema, nan_to_null=True)
    return with_whole_counts(Table(spec, frame, reasons))


def with_whole_counts(table: Table) -> Table:
    """``table`` with counts as integers: only those per step have fractions."""
    whole = {
        column.key
        for column in table.spec.columns
        if column.unit == "count" and (table.frame[column.key].drop_nulls() % 1 == 0).all()
    }
    columns = tuple(
        replace(column, type="integer") if column.key in whole else column
        for column in table.spec.columns
    )
    frame = table.frame.with_columns(pl.col(key).cast(pl.Int64) for key in sorted(whole))
    return replace(table, spec=replace(table.spec, columns=columns), frame=frame)


def _compared(measure: Measure, sides: tuple[Side, Side], pairing: Pairing) -> dict[str, Float64]:
    rows = (pairing.baseline, pairing.candidate)
    baseline, candidate = (
        _taken(side, measure.key, row, pairing.lone_is_zero and not measure.is_mean)
        for side, row in zip(sides, rows, strict=True)
    )
    delta = candidate - baseline
    if measure.unit == "us":
        delta = np.round(delta, _DECIMALS_OF_US)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(baseline != 0, 100.0 * delta / baseline, np.nan)
    columns = {
        f"baseline_{measure.key}": baseline,
        f"candidate_{measure.key}": candidate,
        f"delta_{measure.key}": delta,
        f"delta_{measure.stem}_pct": share,
    }
    if not measure.sampled:
        return columns
    a, b = (
        _taken_samples(side.samples[measure.key], row)
        for side, row in zip(sides, rows, strict=True)
    )
    unknown = np.isnan(delta)
    if measure.bounded:
        low, high = interval(a, b)
        columns[f"delta_{measure.stem}_low_{measure.unit}"] = np.where(unknown, np.nan, low)
        columns[f"delta_{measure.stem}_high_{measure.unit}"] = np.where(unknown, np.nan, high)
    sure = np.where(unknown, np.nan, confidence_pct(a, b))
    columns[f"confidence_{measure.stem}_pct"] = sure
    return columns


def _taken(side: Side, key: str, rows: Int64, lone_is_zero: bool) -> Float64:
    """The values of ``rows``; a missing row is 0, or NaN where the trace says nothing."""
    known = lone_is_zero and key not in side.reasons
    taken: Float64 = np.append(side.values[key], 0.0 if known else np.nan)[rows]
    return taken


def _taken_samples(samples: SampleMoments, rows: Int64) -> SampleMoments:
    """The samples of ``rows``; a missing row has 0 in every step."""
    present: Bools = rows >= 0
    blank = 0.0 if samples.size > 1 else np.nan
    variance = np.where(present, np.append(samples.variance, blank)[rows], blank)
    return SampleMoments(
        samples.size, np.where(present, np.append(samples.mean, 0.0)[rows], 0.0), variance
    )


def by_size_of_change(table: Table, key: str) -> Table:
    """``table`` with the largest difference in column ``key`` first, whichever way it goes."""
    frame = table.frame.sort(
        pl.col(key).abs(), descending=True, nulls_last=True, maintain_order=True
    )
    return Table(table.spec, frame, table.null_reasons)


def without_confidence(table: Table, reason: str) -> Table:
    """``table`` without what rests on how sure a difference is: ``confidence_…_pct`` and the bounds
    of differences are null, for ``reason``."""
    keys = [column.key for column in table.spec.columns if _INFERENCE.match(column.key)]
    frame = table.frame.with_columns(
        pl.lit(None, table.frame.schema[key]).alias(key) for key in keys
    )
    return replace(
        table, frame=frame, null_reasons=table.null_reasons | dict.fromkeys(keys, reason)
    )
