"""Gates over a comparison: ``average_step.total_us>+5%`` says when a candidate is refused.

Grammar::

    table[filter].measure operator number unit @ confidence

    average_step.total_us>+5%                    the average step got more than 5 % longer
    average_step.dataloader_us>+200us            any category of the average step, by its key
    operators[name=aten::mm].device_self_us>+10% rows chosen as in the filter parameter
    kernels.calls>+0                             any row: one more call of any kernel
    phases[phase=Backward].host_total_us>2ms     without a sign: the candidate's own value
    average_step.total_us>+5%@95                 only if it is surer than 95 % (Welch's t-test)

``operator`` is ``>``, ``>=``, ``<`` or ``<=``. A number with a sign, or with ``%``, is compared
with the difference candidate − baseline, else with the candidate's value. Units: ``%``,
``ns us ms s``, ``B KiB MiB GiB`` (KB, MB and GB are the same); without one the measure's own. A
gate fails when a row satisfies it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import polars as pl
from msgspec import Struct

from torch_tb_profiler.views.compare.average import CATEGORIES
from torch_tb_profiler.views.compare.environment_table import NOT_KNOWN
from torch_tb_profiler.views.compare.gate_text import sentence
from torch_tb_profiler.views.compare.tables import FEW_STEPS
from torch_tb_profiler.views.compare.throughput import NOT_OF_TIMERS, THROUGHPUT
from torch_tb_profiler.views.querying import QueryError, query
from torch_tb_profiler.views.schema import Table, TableSpec, Unit, View

_GATE = re.compile(
    r"\s*(?P<table>\w+)\s*(?:\[(?P<filter>.*)\])?\s*\.\s*(?P<measure>\w+)"
    r"\s*(?P<operator>>=|<=|>|<)\s*(?P<sign>[+-])?\s*(?P<number>\d+(?:\.\d*)?|\.\d+)"
    r"\s*(?P<unit>%|[A-Za-z]+)?\s*(?:@\s*(?P<confidence>\d+(?:\.\d*)?)\s*%?)?\s*",
    re.DOTALL,
)
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_SCALES = {
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    "bytes": {
        "B": 1.0,
        **{
            f"{letter}{end}": 1024.0**power
            for power, letter in enumerate("KMG", 1)
            for end in ("iB", "B")
        },
    },
}
_SIDES_AND_DELTA = ("baseline", "candidate", "delta")


class GateError(ValueError):
    """A gate that cannot be understood, or that this comparison cannot answer."""


class GateRow(Struct, frozen=True):
    """One row that makes a gate fail.

    Attributes:
        label: Which row, ``"aten::mm"``.
        baseline: Value of the measure in the baseline, in its own unit; None where it has none,
            as have the differences then.
        candidate: Value in the candidate.
        delta: Candidate less baseline.
        delta_pct: The difference in percent of the baseline; infinite over a baseline of 0.
        confidence_pct: How sure the difference is, None where it is unknown.
    """

    label: str
    baseline: float | None
    candidate: float
    delta: float | None
    delta_pct: float | None
    confidence_pct: float | None


class GateResult(Struct, frozen=True):
    """The verdict of one gate.

    Attributes:
        expression: The gate as given.
        failed: True when at least one row satisfies it.
        rows: The rows that do, the largest difference first.
        checked: Number of checked rows.
        text: One line for people and logs.
    """

    expression: str
    failed: bool
    rows: tuple[GateRow, ...]
    checked: int
    text: str


class ParsedGate(Struct, frozen=True):
    """A gate taken apart.

    Attributes:
        expression: As given.
        table, filter, measure: Which rows, and which measure of them.
        holds: Its operator.
        limit: The number, with its sign, in ``unit``.
        unit: As written; None: the measure's own.
        is_change: Whether the difference is compared, not the candidate's value.
        confidence_pct: How sure the difference must be; None: however unsure.
    """

    expression: str
    table: str
    filter: str | None
    measure: str
    holds: Callable[[float, float], bool]
    limit: float
    unit: str | None
    is_change: bool
    confidence_pct: float | None


def check_gate(specs: Sequence[TableSpec], expression: str, *, of_steps: bool = True) -> None:
    """Refuse a gate that no comparison could answer, before there is one.

    Args:
        specs: The tables that a comparison has.
        expression: The gate as given.
        of_steps: Whether a confidence that it asks for is that between steps.

    Raises:
        GateError: it is malformed, or names a table, column, measure or unit that does not exist.
    """
    tables = {spec.name: Table(spec, pl.DataFrame(schema=spec.polars_schema())) for spec in specs}
    gate = _parse(expression)
    table, measure = _gated_table(tables, gate)
    unit = _unit(table, measure)
    _scale(gate, unit)
    if of_steps:
        _confidence_column(table, gate, measure, unit)


def forbidden(view: View, allowed: Collection[str] = ()) -> str | None:
    """Why differences of a comparison are not the code's doing alone; None where they may be.

    Args:
        view: The comparison.
        allowed: Kinds of surroundings that may differ.
    """
    rows = view.tables["surroundings"].frame.filter(pl.col("severity") == "warning")
    differing = [row for row in rows.iter_rows(named=True) if row["kind"] not in allowed]
    if not differing:
        return None
    texts = [
        f"{row['what']} ({row['baseline'] or NOT_KNOWN} against {row['candidate'] or NOT_KNOWN})"
        for row in differing
    ]
    kinds = " ".join(f"--allow-different {row['kind']}" for row in differing)
    return f"the recordings differ in {'; '.join(texts)} (if that is intended: {kinds})"


def evaluate(view: View, expression: str, allowed: Collection[str] = ()) -> GateResult:
    """Check one gate against a view of :mod:`torch_tb_profiler.views.compare.view`.

    Args:
        view: The comparison.
        expression: The gate as given.
        allowed: Kinds of surroundings that may differ and a difference still counts.

    Raises:
        GateError: the expression is malformed, names a table or measure that does not exist,
            chooses no row, or asks for what these recordings do not tell. Where times cannot be
            compared, the code does not answer for a difference of times; numbers of calls and the
            candidate's own values are still checked.
    """
    gate, unit = parsed(view, expression)
    rows = gate_rows(view, gate, allowed)
    failing = largest_first(row for row in rows if satisfies(row, gate, unit))
    text = sentence(gate, failing, unit)
    return GateResult(expression, bool(failing), tuple(failing), len(rows), text)


def parsed(view: View, expression: str) -> tuple[ParsedGate, Unit | None]:
    """A gate, and the unit of its measure.

    Raises:
        GateError: it is malformed, or names a table, measure or unit that does not exist.
    """
    gate = _parse(expression)
    unit = _unit(*_gated_table(view.tables, gate))
    _scale(gate, unit)
    return gate, unit


def gate_rows(
    view: View, gate: ParsedGate, allowed: Collection[str] = (), *, of_steps: bool = True
) -> list[GateRow]:
    """The rows that a gate is about.

    Args:
        view: The comparison.
        gate: The gate.
        allowed: Kinds of surroundings that may differ and a difference still counts.
        of_steps: Whether a confidence that the gate asks for is that between steps.

    Raises:
        GateError: there is none, or these recordings do not tell.
    """
    table, measure = _nonempty_gated_table(view, gate)
    unit = _unit(table, measure)
    rows = _rows(table, gate, measure, unit, of_steps)
    if gate.table == THROUGHPUT.name:
        allowed = {*allowed, *NOT_OF_TIMERS}
    if gate.is_change and unit != "count" and (reason := forbidden(view, allowed)) is not None:
        raise GateError(f"gate {gate.expression!r} cannot be evaluated: {reason}")
    return rows


def _parse(expression: str) -> ParsedGate:
    match = _GATE.fullmatch(expression)
    if match is None:
        raise GateError(
            f"gate {expression!r} is malformed; examples: average_step.total_us>+5%, "
            "operators[name=aten::mm].device_self_us>+10%"
        )
    sign, unit, confidence = match["sign"], match["unit"], match["confidence"]
    if confidence is not None and float(confidence) >= 100:
        raise GateError(
            f"gate {expression!r}: a confidence of 100 % is never reached; use @99.9 or less"
        )
    return ParsedGate(
        expression=expression,
        table=match["table"],
        filter=match["filter"],
        measure=match["measure"],
        holds=_OPERATORS[match["operator"]],
        limit=float(match["number"]) * (-1 if sign == "-" else 1),
        unit=unit,
        is_change=sign is not None or unit == "%",
        confidence_pct=None if confidence is None else float(confidence),
    )


def _unit(table: Table, measure: str) -> Unit | None:
    units = {column.key: column.unit for column in table.spec.columns}
    return units[f"candidate_{measure}"]


def _nonempty_gated_table(view: View, gate: ParsedGate) -> tuple[Table, str]:
    """The rows a gate is about and the key of its measure in them."""
    table, measure = _gated_table(view.tables, gate)
    if table.frame.is_empty():
        raise GateError(f"gate {gate.expression!r}: no row of {gate.table} matches")
    return table, measure


def _gated_table(tables: Mapping[str, Table], gate: ParsedGate) -> tuple[Table, str]:
    """As :func:`_nonempty_gated_table`, but the table may have no row."""
    if gate.table not in tables:
        known = ", ".join(tables)
        raise GateError(
            f"gate {gate.expression!r}: there is no table {gate.table!r}; tables: {known}"
        )
    table, measure = tables[gate.table], gate.measure
    if gate.table == "average_step" and measure in CATEGORIES:
        of_category = pl.col("category") == CATEGORIES[measure]
        table = Table(table.spec, table.frame.filter(of_category), table.null_reasons)
        measure = "duration_us"
    keys = [column.key for column in table.spec.columns]
    if f"candidate_{measure}" not in keys or f"delta_{measure}" not in keys:
        known_keys = [key.removeprefix("delta_") for key in keys if f"candidate_{key[6:]}" in keys]
        more = list(CATEGORIES) if gate.table == "average_step" else []
        raise GateError(
            f"gate {gate.expression!r}: {gate.table} has no measure {gate.measure!r}; measures: "
            f"{', '.join([*more, *known_keys])}"
        )
    if gate.filter:
        try:
            table = query(table, filter=gate.filter)
        except QueryError as error:
            raise GateError(f"gate {gate.expression!r}: {error}") from error
    return table, measure


def _scale(gate: ParsedGate, unit: str | None) -> float:
    """What a number of the gate is multiplied by to have the measure's unit."""
    if gate.unit is None or gate.unit == "%":
        return 1.0
    scales = _SCALES.get(unit or "", {})
    if gate.unit not in scales:
        known = ", ".join(["%", *scales])
        raise GateError(
            f"gate {gate.expression!r}: {gate.measure} has no unit {gate.unit!r}; use {known} or "
            "none"
        )
    return scales[gate.unit]


def _rows(
    table: Table, gate: ParsedGate, measure: str, unit: str | None, of_steps: bool
) -> list[GateRow]:
    confidence = _confidence_column(table, gate, measure, unit) if of_steps else None
    frame = table.frame
    sure: list[float | None] = [None] * frame.height
    if confidence is not None:
        sure = frame[confidence].to_list()
    label = next(column.key for column in table.spec.columns if column.type == "string")
    rows = []
    values = frame.select(label, *(f"{side}_{measure}" for side in _SIDES_AND_DELTA)).rows()
    for (name, baseline, candidate, delta), confidence_pct in zip(values, sure, strict=True):
        if candidate is None or (delta is None and gate.is_change):
            continue
        if of_steps and gate.confidence_pct is not None and confidence_pct is None:
            reason = table.null_reasons.get(str(confidence), FEW_STEPS)
            raise GateError(f"gate {gate.expression!r} cannot be evaluated: {reason}")
        share = change_pct(baseline, delta)
        rows.append(GateRow(str(name), baseline, candidate, delta, share, confidence_pct))
    if not rows:
        reason = table.null_reasons.get(f"candidate_{measure}") or table.null_reasons.get(
            f"baseline_{measure}", "The measure is null in every matching row."
        )
        raise GateError(f"gate {gate.expression!r} cannot be evaluated: {reason}")
    return rows


def _confidence_column(
    table: Table, gate: ParsedGate, measure: str, unit: str | None
) -> str | None:
    """Key of the confidence column of ``measure``, None where there is none."""
    key = f"confidence_{measure.removesuffix(f'_{unit}')}_pct"
    if key in (column.key for column in table.spec.columns):
        return key
    if gate.confidence_pct is not None:
        raise GateError(
            f"gate {gate.expression!r}: {measure} has no confidence; remove the part after @"
        )
    return None


def change_pct(baseline: float | None, delta: float | None) -> float | None:
    """A difference in percent of the baseline; infinite over 0."""
    if baseline is None or delta is None:
        return None
    if delta == 0:
        return 0.0
    return 100 * delta / baseline if baseline else math.copysign(math.inf, delta)


def largest_first(rows: Iterable[GateRow]) -> list[GateRow]:
    """Rows by their difference; where there is none, by the value of the candidate."""
    return sorted(rows, key=lambda row: -abs(row.candidate if row.delta is None else row.delta))


def satisfies(row: GateRow, gate: ParsedGate, unit: Unit | None) -> bool:
    """Whether a row makes a gate fail; ``unit``: of its measure."""
    change = row.delta_pct if gate.unit == "%" else row.delta
    if gate.confidence_pct is not None and (row.confidence_pct or 0.0) < gate.confidence_pct:
        return False
    value = change if gate.is_change else row.candidate
    return value is not None and gate.holds(value, gate.limit * _scale(gate, unit))
