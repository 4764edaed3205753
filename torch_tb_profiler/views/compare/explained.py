"""What explains a difference: the time of a step by phase, module, operator and kernel, what came
of other numbers of calls apart from what came of other times per call.

Definitions: ``docs/views-compare.md#what-explains-the-difference``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.compare.leaves import KEYS, Leaves
from torch_tb_profiler.views.compare.renames import (
    PairsByBaseline,
    RenamedPair,
    Renames,
    pair_row,
)
from torch_tb_profiler.views.compare.tables import NO_CHANGE, PAIRED_WITH, with_whole_counts
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, Table, TableSpec

_WHOLE = {"kernel": "Device time of a step", "call": "Host time of a step"}
"""Innermost parts → the whole that they add up to. It is not the length of the step."""
MOST_PARTS = 20
"""Rows inside a row of the tree: those that changed most; the others are summed in one."""

NOT_CALLED = "Steps, phases and rows that sum several others have no calls."
NO_CALL = "The row has no calls."
_DECIMALS = 6

_TIME, _MEAN = "time", "mean"
_MEASURES = (
    Column(
        "baseline_time_us", "Baseline", "number", "us", "Time per step, baseline.", family=_TIME
    ),
    Column(
        "candidate_time_us", "Candidate", "number", "us", "Time per step, candidate.", family=_TIME
    ),
    Column("delta_time_us", "Δ", "number", "us", "Candidate minus baseline.", family=_TIME),
    Column(
        "share_of_delta_pct",
        "Share of Δ",
        "number",
        "pct",
        "Share of the total change; the rows of one level add up to 100 %. Negative: changed in "
        "the opposite direction.",
    ),
    Column(
        "delta_of_calls_us",
        "Δ of Calls",
        "number",
        "us",
        "Part of Δ due to more or fewer calls: difference of the calls × mean of the baseline; "
        "for new rows all of Δ.",
        family=_TIME,
    ),
    Column(
        "delta_of_time_per_call_us",
        "Δ of Time per Call",
        "number",
        "us",
        "Part of Δ due to slower or faster calls: calls of the candidate × difference of the "
        "means.",
        family=_TIME,
    ),
    Column("baseline_calls", "Baseline Calls", "number", "count", "Calls per step, baseline."),
    Column("candidate_calls", "Candidate Calls", "number", "count", "Calls per step, candidate."),
    Column("baseline_mean_us", "Baseline per Call", "number", "us", "Baseline.", family=_MEAN),
    Column("candidate_mean_us", "Candidate per Call", "number", "us", "Candidate.", family=_MEAN),
    Column(
        "change",
        "Change",
        "string",
        None,
        "new: only in the candidate; gone: only in the baseline.",
    ),
)
_KIND = Column(
    "kind",
    "Kind",
    "string",
    None,
    "step, phase, module, operator, range, launch, kernel, call or others.",
)

EXPLAINED = TableSpec(
    "explained",
    "What explains the difference",
    "One row per phase and operator (or host call that launched work outside operators), the "
    "largest change per step first. The fact 'Explained by' names the time that is compared.",
    (
        Column("name", "Name", "string", None, "Operator or host call."),
        Column("phase", "Phase", "string", None, "Phase of the step in which it ran."),
        _KIND,
        *_MEASURES,
        *PAIRED_WITH,
    ),
)
DRILL_DOWN = TableSpec(
    "drill_down",
    "From the step to its kernels",
    "The same time as a tree: step, phases, modules (if recorded on both sides), operators, "
    "kernels. It is not the length of the step: what runs at once counts several times, and what "
    "is in no operator, call or kernel does not count. "
    f"At most the {MOST_PARTS} children that changed most are listed.",
    (
        Column("id", "Id", "string", None, "Number of the row.", hidden=True),
        Column("parent", "Parent", "string", None, "Id of the row above.", hidden=True),
        Column("name", "Name", "string", None, "Phase, module, operator or kernel."),
        _KIND,
        *_MEASURES,
        *PAIRED_WITH,
        *OTHER_NAMES,
    ),
    tree=("id", "parent"),
)
_SUMS = ("a_ns", "b_ns")
_COUNTS = ("a_calls", "b_calls")
_LEVELS = ("phase", "module", "operator", "kernel")


class _Part(Struct, frozen=True):
    """One row: what it is, its time per step in µs and calls per step on both sides, and the pair
    that it is where the sides name it differently."""

    name: str
    kind: str
    times: tuple[float, float]
    calls: tuple[float, float] | None = None
    pair: RenamedPair | None = None

    @property
    def delta_us(self) -> float:
        """Candidate less baseline."""
        return round(self.times[1] - self.times[0], _DECIMALS)


def explained(
    baseline: Leaves, candidate: Leaves, inner: str, shorts: Mapping[str, str], renames: Renames
) -> tuple[Table, Table]:
    """The ranked table and the tree.

    Args:
        baseline: Parts of the baseline.
        candidate: Parts of the candidate, under the names of the baseline.
        inner: What the innermost parts are: ``kernel`` or ``call``.
        shorts: Short names of the kernels of both.
        renames: What is called differently.
    """
    joined = _Joined(baseline, candidate, inner, renames)
    total = joined.step().delta_us
    return _ranked(joined, total), _tree(joined, total, shorts)


class _Joined:
    """Both sides by :data:`KEYS`."""

    def __init__(self, baseline: Leaves, candidate: Leaves, inner: str, renames: Renames) -> None:
        self.inner = inner
        self._pairs_of = PairsByBaseline(renames)
        self.divisors = baseline.divisor, candidate.divisor
        self.times = _both(baseline.times, candidate.times, [*KEYS, "is_launch"], ("ns", "calls"))
        keys = ["phase", "module", "operator", "is_launch"]
        sides = baseline.operator_calls, candidate.operator_calls
        self.operator_calls = _both(*sides, keys, ("calls",))
        modules = _both(baseline.module_calls, candidate.module_calls, ["module"], ("calls",))
        self.module_calls = {row[0]: (row[1], row[2]) for row in modules.rows()}

    def per_step(self, sums: tuple[float, float], unit: float = 1) -> tuple[float, float]:
        """Sums of both sides per step, in multiples of ``unit``."""
        return sums[0] / (self.divisors[0] * unit), sums[1] / (self.divisors[1] * unit)

    def step(self) -> _Part:
        """The whole."""
        a, b = (int(self.times[key].sum()) for key in _SUMS)
        return _Part(_WHOLE[self.inner], "step", self.per_step((a, b), NS_PER_US))

    def groups(self, *keys: str) -> pl.DataFrame:
        """Sums by ``keys`` (with ``operator`` among them: and whether that is a launch), with
        calls: those of operators where they are operators, else of what is summed."""
        by = [*keys, *(["is_launch"] if "operator" in keys else [])]
        sums = self.times.group_by(by, maintain_order=True).agg(pl.col(*_SUMS, *_COUNTS).sum())
        if "operator" not in keys or "kernel" in keys:
            return sums
        calls = self.operator_calls.group_by(by).agg(pl.col(_COUNTS).sum())
        joined = sums.drop(_COUNTS).join(calls, on=by, how="left", maintain_order="left")
        return joined.with_columns(pl.col(_COUNTS).fill_null(0))

    def part(self, row: dict[str, Any], level: str) -> _Part:
        """A row of :meth:`groups` as the part at ``level``."""
        times = self.per_step((row["a_ns"], row["b_ns"]), NS_PER_US)
        calls: tuple[float, float] | None = (row["a_calls"], row["b_calls"])
        kind = level
        if level == "phase":
            calls = None
        elif level == "module":
            calls = self.module_calls.get(row["module"])
        elif level == "operator":
            kind = "range" if row["operator"] == row["phase"] else level
            if row["is_launch"]:
                kind = "launch" if self.inner == "kernel" else "call"
        else:
            kind = self.inner
        counts = None if calls is None else self.per_step(calls)
        pair, name = self._pairs_of.part(kind, row), row[level]
        is_there = [any(side) for side in zip(times, counts or (0, 0), strict=True)]
        if pair is not None and not is_there[0]:
            name = pair.candidate
        return _Part(name, kind, times, counts, pair if all(is_there) else None)


def _both(a: pl.DataFrame, b: pl.DataFrame, keys: list[str], sums: tuple[str, ...]) -> pl.DataFrame:
    """Two frames by their keys, 0 where one has none: ``a_…`` and ``b_…`` of each sum."""
    sides = (
        frame.select(
            *keys,
            *(
                (pl.col(key) if side == own else pl.lit(0, pl.Int64)).alias(f"{side}_{key}")
                for key in sums
                for side in ("a", "b")
            ),
        )
        for own, frame in (("a", a), ("b", b))
    )
    return pl.concat(sides).group_by(keys, maintain_order=True).agg(pl.all().sum())


def _ranked(joined: _Joined, total_us: float) -> Table:
    frame = joined.groups("phase", "operator")
    rows = [(joined.part(row, "operator"), row["phase"]) for row in frame.iter_rows(named=True)]
    rows = [row for row in rows if any(row[0].times)]
    rows.sort(key=lambda row: -abs(row[0].delta_us))
    values = [
        {
            "name": part.name,
            "phase": phase,
            "kind": part.kind,
            **_measures(part, total_us),
            **pair_row(part.pair),
        }
        for part, phase in rows
    ]
    return _table(EXPLAINED, values, total_us, NO_CALL)


def _tree(joined: _Joined, total_us: float, shorts: Mapping[str, str]) -> Table:
    """Depth first, in each row the parts that changed most first."""
    children = _children(joined)
    values: list[dict[str, Any]] = []
    waiting: list[tuple[tuple[str, ...], _Part, int | None]] = [((), joined.step(), None)]
    while waiting:
        path, part, parent = waiting.pop()
        number = len(values)
        values.append(
            {
                "id": str(number),
                "parent": None if parent is None else str(parent),
                "name": part.name,
                "kind": part.kind,
                **_measures(part, total_us),
                **pair_row(part.pair),
            }
        )
        inside = sorted(children.get(path, []), key=lambda child: -abs(child[1].delta_us))
        shown = [(key, child, number) for key, child in inside[:MOST_PARTS]]
        if len(inside) > MOST_PARTS:
            shown.append((("", *path, ""), _others([p for _, p in inside[MOST_PARTS:]]), number))
        waiting += reversed(shown)
    return _table(DRILL_DOWN, _with_names(values, shorts), total_us, NOT_CALLED)


def _children(joined: _Joined) -> dict[tuple[str, ...], list[tuple[tuple[str, ...], _Part]]]:
    """Place → its parts with their places: what is of no module stands in its phase directly."""
    children: defaultdict[tuple[str, ...], list[tuple[tuple[str, ...], _Part]]] = defaultdict(list)
    for depth, level in enumerate(_LEVELS):
        keys = _LEVELS[: depth + 1]
        for row in joined.groups(*keys).iter_rows(named=True):
            part = joined.part(row, level)
            if row[level] and any(part.times):
                launch = ("launch",) if row.get("is_launch") else ()
                path = tuple(f"{key} {row[key]}" for key in keys if row[key])
                above = path[:-1]
                if level == "operator":
                    path = (*path, *launch)
                elif level == "kernel":
                    above = (*above, *launch)
                children[above].append((path, part))
    return dict(children)


def _others(parts: list[_Part]) -> _Part:
    times = sum(part.times[0] for part in parts), sum(part.times[1] for part in parts)
    return _Part(f"{len(parts):,} others", "others", times)


def _measures(part: _Part, total_us: float) -> dict[str, Any]:
    """The values of :data:`_MEASURES`; the two parts of a difference add up to it."""
    (a, b), delta = part.times, part.delta_us
    values: dict[str, Any] = dict.fromkeys((column.key for column in _MEASURES), None)
    values |= {
        "baseline_time_us": a,
        "candidate_time_us": b,
        "delta_time_us": delta,
        "share_of_delta_pct": 100 * delta / total_us + 0.0 if total_us else None,
    }
    if part.calls is not None:
        calls_a, calls_b = part.calls
        mean_a, mean_b = a / calls_a if calls_a else None, b / calls_b if calls_b else None
        values |= {
            "baseline_calls": calls_a,
            "candidate_calls": calls_b,
            "baseline_mean_us": mean_a,
            "candidate_mean_us": mean_b,
        }
        if calls_a or calls_b:
            of_calls = delta if mean_a is None else (calls_b - calls_a) * mean_a
            values["delta_of_calls_us"] = round(of_calls, _DECIMALS)
            values["delta_of_time_per_call_us"] = round(delta - of_calls, _DECIMALS)
    calls_a, calls_b = part.calls or (0, 0)
    is_there = bool(a or calls_a), bool(b or calls_b)
    values["change"] = {(False, True): "new", (True, False): "gone"}.get(is_there)
    return values


def _with_names(values: list[dict[str, Any]], shorts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows with the other names of kernels."""
    for row in values:
        name, is_kernel = row["name"], row["kind"] == "kernel"
        row["short_name"] = shorts.get(name) if is_kernel else None
        row["demangled_name"] = demangled(name) if is_kernel and demangled(name) != name else None
    return values


def _table(spec: TableSpec, values: list[dict[str, Any]], total_us: float, no_calls: str) -> Table:
    columns = {key: [row[key] for row in values] for key in spec.polars_schema()}
    frame = pl.DataFrame(columns, schema=spec.polars_schema())
    of_calls = [key for key in frame.columns if "_calls" in key or "_mean_" in key]
    reasons = dict.fromkeys([*of_calls, "delta_of_time_per_call_us"], no_calls)
    if not total_us:
        reasons["share_of_delta_pct"] = NO_CHANGE
    return with_whole_counts(
        Table(spec, frame, {key: text for key, text in reasons.items() if frame[key].null_count()})
    )
