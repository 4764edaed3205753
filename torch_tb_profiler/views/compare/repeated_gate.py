"""Gates over several recordings of each side: a difference counts if it is beyond their noise.

Steps of one recording agree better than two recordings of the same program do: clocks, neighbours
on the machine and the memory layout are those of the whole run. So the unit of the test is the
recording: Welch's t-test over one value of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.knowledge.surroundings import kinds_of_times
from torch_tb_profiler.views.compare.gate import (
    GateError,
    GateResult,
    GateRow,
    ParsedGate,
    change_pct,
    gate_rows,
    largest_first,
    parsed,
    satisfies,
)
from torch_tb_profiler.views.compare.gate_text import row_text, sentence
from torch_tb_profiler.views.compare.student import confidence_pct, moments
from torch_tb_profiler.views.schema import View

USUAL_CONFIDENCE_PCT = 95.0
"""How sure a difference must be where the gate does not say."""

LEAST_RECORDINGS = 2
"""Of each side; one alone says nothing of the noise."""

_Row = tuple[str, int]


class Repeats(Struct, frozen=True):
    """The comparisons of several recordings of two programs.

    Attributes:
        views: Comparison ``i`` is of baseline ``i % baselines`` and candidate ``i % candidates``;
            as many as there are recordings of the side with more.
        baselines, candidates: How many recordings each side has.
    """

    views: Sequence[View]
    baselines: int
    candidates: int

    @property
    def text(self) -> str:
        """``"5 and 5 recordings"``."""
        return f"{self.baselines} and {self.candidates} recordings"


def pairs(baselines: int, candidates: int) -> list[tuple[int, int]]:
    """Which recordings are compared for :class:`Repeats`."""
    return [(each % baselines, each % candidates) for each in range(max(baselines, candidates))]


def evaluate_repeated(
    repeats: Repeats, expression: str, allowed: Collection[str] = ()
) -> GateResult:
    """Check one gate against the means of both sides.

    A gate on a difference holds only if that is surer than the gate says, else than
    :data:`USUAL_CONFIDENCE_PCT`.

    Args:
        repeats: The comparisons.
        expression: The gate as given.
        allowed: Kinds of surroundings that may differ and a difference still counts.

    Raises:
        GateError: as :func:`~torch_tb_profiler.views.compare.gate.evaluate`, of any comparison;
            or a side has only one recording with the rows of the gate.
    """
    gate, unit = parsed(repeats.views[0], expression)
    if gate.is_change and gate.confidence_pct is None:
        gate = replace(gate, confidence_pct=USUAL_CONFIDENCE_PCT)
    rows = _mean_rows(repeats, gate, allowed)
    failing = largest_first(row for row in rows if satisfies(row, gate, unit))
    text = sentence(gate, failing, unit)
    if failing:
        text = f"{text} ({repeats.text})"
    elif gate.is_change:
        most = row_text(largest_first(rows)[0], unit)
        text = f"{text} ({repeats.text}; most changed: {most})"
    return GateResult(expression, bool(failing), tuple(failing), len(rows), text)


def repeated_text(repeats: Repeats) -> str | None:
    """How much the average step differs over all recordings, in a sentence; None where its length
    is not recorded."""
    gate, unit = parsed(repeats.views[0], "average_step.total_us>+0%")
    try:
        rows = _mean_rows(repeats, gate, kinds_of_times())
    except GateError:
        return None
    return (
        f"over {repeats.text} of the program the average step is {row_text(rows[0], unit)}; "
        "the comparison is that of the first of each side"
    )


def _mean_rows(repeats: Repeats, gate: ParsedGate, allowed: Collection[str]) -> list[GateRow]:
    """The rows of a gate, with the means over recordings and how sure their difference is."""
    baselines: defaultdict[_Row, list[float]] = defaultdict(list)
    candidates: defaultdict[_Row, list[float]] = defaultdict(list)
    for number, view in enumerate(repeats.views):
        for key, row in _with_ordinals(gate_rows(view, gate, allowed, of_steps=False)):
            if number < repeats.baselines and row.baseline is not None:
                baselines[key].append(row.baseline)
            if number < repeats.candidates:
                candidates[key].append(row.candidate)
    rows = [
        _mean_row(label, baselines[label, number], values)
        for (label, number), values in candidates.items()
        if not gate.is_change or min(len(baselines[label, number]), len(values)) >= LEAST_RECORDINGS
    ]
    if not rows:
        raise GateError(
            f"gate {gate.expression!r} cannot be evaluated: no row of it is in "
            f"{LEAST_RECORDINGS} recordings of each side ({repeats.text})"
        )
    return rows


def _with_ordinals(rows: Sequence[GateRow]) -> list[tuple[_Row, GateRow]]:
    """Rows with their label and how many of the same label come before."""
    seen: defaultdict[str, int] = defaultdict(int)
    labelled = []
    for row in rows:
        labelled.append(((row.label, seen[row.label]), row))
        seen[row.label] += 1
    return labelled


def _mean_row(label: str, baselines: list[float], candidates: list[float]) -> GateRow:
    candidate = float(np.mean(candidates))
    if not baselines:
        return GateRow(label, None, candidate, None, None, None)
    baseline = float(np.mean(baselines))
    sure = float(confidence_pct(moments(np.array([baselines])), moments(np.array([candidates])))[0])
    delta = candidate - baseline
    return GateRow(
        label, baseline, candidate, delta, change_pct(baseline, delta),
        None if np.isnan(sure) else sure,
    )  # fmt: skip
