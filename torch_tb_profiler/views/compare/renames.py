"""Operators and kernels that are only *renamed*: what only one side has, paired with what only the
other side has, by where their calls stand.

Levels of evidence (``knowledge/renames.toml``) are tried from the strongest. At a position where
the baseline has ``a`` calls and the candidate ``b``, each name of one side meets each name of the
other by its part, ``min(a, b)`` in all; calls that met do not count at weaker levels.

Definitions: ``docs/views-compare.md#renamed-operators-and-kernels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.renames import RenameRules, rename_rules
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.positions import (
    CallsOf,
    Modules,
    kernel_positions,
    lone_positions,
    mixed,
    operator_positions,
    runtime_call_positions,
    text_hash,
)
from torch_tb_profiler.views.compare.steps import StepBasis

MAX_ROUNDS = 4
"""A pair of operators may be the neighbor or the parent by which others are paired."""
_ALL_CALLS = 0.995
_LEAST_WEIGHT = 1e-9
_SPLIT = ("module", "operator", "name")

Sides = tuple[StepBasis, StepBasis]


class RenamedPair(Struct, frozen=True):
    """One pair.

    Attributes:
        baseline: Name on that side.
        candidate: Name on the other.
        confidence_pct: Part of the calls of both that meet, each by the weight of its evidence.
        reason: Why they meet, for people.
    """

    baseline: str
    candidate: str
    confidence_pct: float
    reason: str


Pairs = dict[str, RenamedPair]
"""By the name of the candidate."""


class Renames(Struct, frozen=True):
    """What is called differently on the two sides.

    Attributes:
        operators, kernels, runtime_calls: Names that only one side has.
        local: In one module and operator (hashes) names that only one side has there.
    """

    operators: Pairs
    kernels: Pairs
    runtime_calls: Pairs
    local: dict[tuple[int, int, int], RenamedPair]

    def local_pair(self, module: str, operator: str, name: str) -> RenamedPair | None:
        """The pair of a candidate's name in an operator of a module, all named as in the
        baseline."""
        return self.local.get((text_hash(module), text_hash(operator), text_hash(name)))


class PairsByBaseline:
    """Pairs by the names of the baseline, under which parts of a difference stand."""

    def __init__(self, renames: Renames) -> None:
        operators, kernels, calls = (
            {pair.baseline: pair for pair in pairs.values()}
            for pairs in (renames.operators, renames.kernels, renames.runtime_calls)
        )
        self._of_kinds = {"operator": operators, "kernel": kernels, "call": calls, "launch": calls}
        self._local = {
            (module, operator, text_hash(pair.baseline)): pair
            for (module, operator, _), pair in renames.local.items()
        }

    def part(self, kind: str, row: Mapping[str, str]) -> RenamedPair | None:
        """The pair of a part: ``row`` has its names by level, ``module`` … ``kernel``."""
        if row.get("kernel"):
            key = (text_hash(row["module"]), text_hash(row["operator"]), text_hash(row["kernel"]))
            if key in self._local:
                return self._local[key]
        name = row.get("kernel") or row.get("operator") or ""
        return self._of_kinds.get(kind, {}).get(name)


class _Match(Struct, frozen=True):
    """A pair of hashes."""

    baseline: int
    candidate: int
    confidence_pct: float
    reason: str


def renames_of(bases: Sides, modules: tuple[Modules, Modules]) -> Renames:
    """Operators that are called differently, and kernels and calls of the device runtime, in
    operators of which some may be.

    Args:
        bases: Both sides.
        modules: Names of the modules of each side by node, the same for those that meet.
    """
    nodes = modules if None not in modules else (None, None)
    texts = _Texts(basis.trace for basis in bases)
    steps = len(bases[0].rows), len(bases[1].rows)
    operators = _renamed(operator_positions, bases, nodes, {}, texts)
    local: dict[tuple[int, int, int], RenamedPair] = {}
    renamed: list[Pairs] = []
    known = baseline_names(operators)
    for calls_of in (kernel_positions, runtime_call_positions):
        pairs = _renamed(calls_of, bases, nodes, known, texts)
        renamed.append(pairs)
        known |= baseline_names(pairs)
        sides = calls_of(bases[0], nodes[0], {}), calls_of(bases[1], nodes[1], known)
        local |= _local_pairs(sides, steps, texts, pairs)
    return Renames(operators, renamed[0], renamed[1], local)


def baseline_names(pairs: Pairs) -> dict[str, str]:
    """Name of the candidate → name of the baseline."""
    return {name: pair.baseline for name, pair in pairs.items()}


def pair_values(names: Sequence[str], pairs: Pairs) -> dict[str, list[Any]]:
    """The values of :data:`PAIRED_WITH` for rows with these names; null where a row is no pair."""
    by_baseline = {pair.baseline: pair for pair in pairs.values()}
    rows = [pair_row(by_baseline.get(name)) for name in names]
    return {key: [row[key] for row in rows] for key in pair_row(None)}


def pair_row(pair: RenamedPair | None) -> dict[str, Any]:
    """The values of :data:`PAIRED_WITH` for one row."""
    return {
        "paired_with": pair and pair.candidate,
        "pair_confidence_pct": pair and pair.confidence_pct,
        "pair_reason": pair and pair.reason,
    }


class _Texts:
    """The texts of both traces by their hash, looked up when needed."""

    def __init__(self, traces: Iterable[Trace]) -> None:
        self._traces = tuple(traces)
        self._texts: dict[int, str] = {}

    def __getitem__(self, value: int) -> str:
        if not self._texts:
            self._texts = {
                text_hash(t): t for trace in self._traces for t in map(str, trace.strings)
            }
        return self._texts[value]


def _renamed(
    calls_of: CallsOf,
    bases: Sides,
    modules: tuple[Modules, Modules],
    operators: Mapping[str, str],
    texts: _Texts,
) -> Pairs:
    renames: Pairs = {}
    baseline = calls_of(bases[0], modules[0], {})
    for _ in range(MAX_ROUNDS):
        known = {**operators, **baseline_names(renames)}
        candidate = calls_of(bases[1], modules[1], known)
        matches = _matches(baseline, candidate, (len(bases[0].rows), len(bases[1].rows)))
        if not matches:
            break
        for match in matches:
            names = texts[match.baseline], texts[match.candidate]
            renames[names[1]] = RenamedPair(*names, match.confidence_pct, match.reason)
    return renames


def _local_pairs(
    sides: tuple[pl.DataFrame, pl.DataFrame], steps: tuple[int, int], texts: _Texts, pairs: Pairs
) -> dict[tuple[int, int, int], RenamedPair]:
    """Pairs of names within one module and operator, apart from ``pairs`` of the whole step."""
    own_names = {pair.baseline: pair.candidate for pair in pairs.values()}
    split = [
        calls.with_columns(name=_mixed_columns(calls)).with_columns(own=calls["name"])
        for calls in sides
    ]
    matches = _matches(split[0], split[1], steps)
    if not matches:
        return {}
    keys = {
        row["name"]: (row["module"], row["operator"], row["own"])
        for calls in split
        for row in calls.unique("name").rows(named=True)
    }
    local = {}
    for match in matches:
        left, right = keys[match.baseline], keys[match.candidate]
        if left[:2] == right[:2]:
            name = texts[right[2]]
            candidate = own_names.get(name, name)
            local[right] = RenamedPair(
                texts[left[2]], candidate, match.confidence_pct, match.reason
            )
    return local


def _mixed_columns(calls: pl.DataFrame) -> pl.Series:
    module, operator, name = (calls[key].to_numpy() for key in _SPLIT)
    return pl.Series(mixed(mixed(module, operator), name))


def _matches(
    baseline: pl.DataFrame, candidate: pl.DataFrame, steps: tuple[int, int]
) -> list[_Match]:
    """The matches of what only one side has."""
    names = baseline["name"].unique(), candidate["name"].unique()
    if names[0].is_in(names[1].implode()).all() or names[1].is_in(names[0].implode()).all():
        return []
    return match_names(
        lone_positions(baseline, names[1], steps[0]),
        lone_positions(candidate, names[0], steps[1]),
        rename_rules(),
    )


def match_names(
    baseline: pl.DataFrame, candidate: pl.DataFrame, rules: RenameRules
) -> list[_Match]:
    """The matches of names, each name in one at most.

    Args:
        baseline: Calls of what only this side has: ``name``, ``weight`` and their positions.
        candidate: The same of the other side.
        rules: The levels of evidence.
    """
    totals = [
        dict(side.group_by("name").agg(pl.col("weight").sum()).rows())
        for side in (baseline, candidate)
    ]
    votes: dict[tuple[int, int], list[float]] = {}
    left, right = baseline, candidate
    for number, level in enumerate(rules.levels):
        met, left, right = _meet(left, right, list(level.columns), rules.most_names)
        for name, other, weight in met.rows():
            votes.setdefault((name, other), [0.0] * len(rules.levels))[number] += weight
    scored = [
        _match(names, by_level, totals[0][names[0]] + totals[1][names[1]], rules)
        for names, by_level in votes.items()
    ]
    scored.sort(key=lambda match: (-match.confidence_pct, match.baseline, match.candidate))
    used: tuple[set[int], set[int]] = (set(), set())
    matches = []
    for match in scored:
        is_free = match.baseline not in used[0] and match.candidate not in used[1]
        if match.confidence_pct >= rules.least_confidence_pct and is_free:
            used[0].add(match.baseline)
            used[1].add(match.candidate)
            matches.append(match)
    return matches


def _match(
    names: tuple[int, int], by_level: list[float], calls: float, rules: RenameRules
) -> _Match:
    """Two names by the calls of theirs that met at each level, of ``calls`` of both."""
    strength = sum(level.weight * met for level, met in zip(rules.levels, by_level, strict=True))
    reason = rules.levels[max(range(len(by_level)), key=by_level.__getitem__)].text
    share = 2 * sum(by_level) / calls
    if share < _ALL_CALLS:
        reason += f", for {100 * share:.0f} % of the calls"
    return _Match(*names, min(round(200 * strength / calls, 1), 100.0), reason)


def _meet(
    left: pl.DataFrame, right: pl.DataFrame, keys: list[str], most_names: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Pairs of names with the calls of theirs that meet at equal ``keys``, and what remains of
    both sides."""
    by_name = [
        side.group_by(*keys, "name", maintain_order=True).agg(pl.col("weight").sum())
        for side in (left, right)
    ]
    all_calls = [
        side.group_by(keys)
        .agg(pl.col("weight").sum().alias("all"), pl.len().alias("names"))
        .filter(pl.col("names") <= most_names)
        .drop("names")
        for side in by_name
    ]
    both = all_calls[0].join(all_calls[1], on=keys, suffix="_right")
    both = both.with_columns(most=pl.max_horizontal("all", "all_right"))
    met = (
        by_name[0]
        .join(both.select(*keys, "most"), on=keys)
        .join(by_name[1], on=keys, suffix="_right")
        .with_columns(met=pl.col("weight") * pl.col("weight_right") / pl.col("most"))
        .group_by("name", "name_right")
        .agg(pl.col("met").sum())
        .sort("name", "name_right")
    )
    remaining = [
        side.join(
            both.select(*keys, part=1 - pl.col(other) / pl.col("most")),
            on=keys,
            how="left",
            maintain_order="left",
        )
        .with_columns(weight=pl.col("weight") * pl.col("part").fill_null(1.0))
        .filter(pl.col("weight") > _LEAST_WEIGHT)
        .drop("part")
        for side, other in ((left, "all_right"), (right, "all"))
    ]
    return met, remaining[0], remaining[1]
