"""The line that says how a gate ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch_tb_profiler.views.scales import confidence_text

if TYPE_CHECKING:
    from torch_tb_profiler.views.compare.gate import GateRow, ParsedGate

_SHOWN_ROWS = 5


def sentence(gate: ParsedGate, failing: Sequence[GateRow], unit: str | None) -> str:
    """``"passed: …"``, or ``"failed: …"`` with the rows that make it fail, the largest first.

    Args:
        gate: The gate.
        failing: Those rows.
        unit: Of its measure.
    """
    if not failing:
        return f"passed: {gate.expression}"
    parts = [row_text(row, unit) for row in failing[:_SHOWN_ROWS]]
    more = f"; and {len(failing) - _SHOWN_ROWS} more" if len(failing) > _SHOWN_ROWS else ""
    return f"failed: {gate.expression}: {'; '.join(parts)}{more}"


def row_text(row: GateRow, unit: str | None) -> str:
    """``"Total: 150.000 → 160.000 µs (+10.000, +6.7 %, confidence 99 %)"``."""
    shown_unit = {"us": " µs", "bytes": " bytes"}.get(unit or "", "")
    text = f"{_number(row.candidate, unit)}{shown_unit}"
    if row.baseline is not None and row.delta is not None:
        sure = ""
        if row.confidence_pct is not None:
            sure = f", confidence {confidence_text(row.confidence_pct)}"
        change = f"{_number(row.delta, unit, '+')}, {row.delta_pct:+.1f} %{sure}"
        text = f"{_number(row.baseline, unit)} → {text} ({change})"
    return f"{row.label}: {text}"


def _number(value: float, unit: str | None, sign: str = "") -> str:
    decimals = 0 if unit == "count" and value % 1 == 0 else 3
    return f"{value:{sign},.{decimals}f}"
