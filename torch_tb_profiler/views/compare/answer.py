"""The verdict of a comparison in a sentence or two: faster or slower, whether that is real, and
what changed most.

Every number is one of the comparison's own tables and facts.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.compare.average import TOTAL
from torch_tb_profiler.views.compare.locations import OUTSIDE
from torch_tb_profiler.views.scales import (
    SIGNIFICANT_PCT,
    duration_text,
    percent_text,
    size_text,
)
from torch_tb_profiler.views.schema import View

BASELINE, CANDIDATE = "the baseline", "the candidate"
MOST_PARTS = 3
LEAST_SHARE = 0.05
"""A part that changed by less of the largest change is not named."""
LEAST_MEMORY_PCT = 1.0
LEAST_MEMORY_BYTES = 1 << 20
"""Peaks that differ by less are not mentioned."""

_TWICE = 2.0
_SAME_PCT = 0.05
"""A change that rounds to 0.0 % is none."""

_CATEGORY_WORDS = {
    "DataLoader": "data loading",
    "Kernel": "kernels",
    "Memcpy": "copies",
    "Memset": "memory sets",
    "Communication": "communication",
    "Runtime": "runtime calls",
    "CPU Exec": "CPU work",
    "Other": "time with nothing recorded",
}


def comparison_answer(
    view: View, baseline: str | None = None, candidate: str | None = None
) -> str | None:
    """The verdict of a comparison.

    Args:
        view: The comparison.
        baseline: What the baseline is called; None where the sides have no names of their own.
        candidate: The same of the candidate.
    """
    a = BASELINE if baseline is None else quoted(baseline)
    b = CANDIDATE if candidate is None else quoted(candidate)
    rows = rows_of(view, "average_step")
    total = rows.filter(pl.col("category") == TOTAL)
    memory = _memory(view, a, b)
    if total.is_empty() or total["delta_duration_us"][0] is None:
        return memory
    verdict, caveat = _verdict(total.row(0, named=True), a, b), _caveat(view)
    # What forbids to compare times stands before the verdict, which it limits.
    start = _capitalized(verdict) if caveat is None else f"{caveat}: {verdict}"
    if total["delta_duration_us"][0] == 0:
        return joined((f"{start}.", memory))
    parts = _parts(rows)
    if caveat is None:
        sentence = f"{start}: {parts}." if parts else f"{start}."
    else:
        sentence = f"{start}. Changes: {parts}." if parts else f"{start}."
    noise = _noise(view) if caveat is None else None
    return joined((sentence, noise, _largest(view), memory))


def _verdict(total: dict[str, Any], a: str, b: str) -> str:
    """``nw2 is 56.6 % faster than nw0 (77.3 ms instead of 178 ms per step; p < 0.001)``."""
    before, after = total["baseline_duration_us"], total["candidate_duration_us"]
    share = total["delta_duration_pct"]
    if share is None:
        return f"a step of {b} takes {duration_text(after)}, one of {a} {duration_text(before)}"
    sure = total["confidence_duration_pct"]
    if abs(share) < _SAME_PCT:
        return f"{b} takes as long as {a}, {duration_text(after)} per step"
    if after >= _TWICE * before:
        ratio = after / before
        digits = max(2 - int(math.log10(ratio)), 0)
        change = f"{b} takes {ratio:,.{digits}f} times as long as {a}"
    else:
        word = "slower" if share > 0 else "faster"
        change = f"{b} is {percent_text(abs(share))} {word} than {a}"
    inside = f"{duration_text(after)} instead of {duration_text(before)} per step"
    if sure is None:
        return f"{change} ({inside})"
    p = _p_text(sure)
    if sure >= SIGNIFICANT_PCT:
        return f"{change} ({inside}; {p})"
    return f"{change} ({inside}), which is not significant ({p})"


def _p_text(confidence_pct: float) -> str:
    p = 1 - confidence_pct / 100
    if p < 0.001:
        return "p < 0.001"
    if p < 0.01:
        return "p < 0.01"
    return f"p = {p:.2f}"


def _parts(rows: pl.DataFrame) -> str:
    """The categories of the step that changed most; all of them add up to the change."""
    parts = rows.filter(pl.col("category") != TOTAL).drop_nulls("delta_duration_us")
    size = pl.col("delta_duration_us").abs()
    largest = parts.filter(size > 0, size >= LEAST_SHARE * size.max())
    shown = largest.sort(size, descending=True, maintain_order=True).head(MOST_PARTS)
    return ", ".join(
        f"{_CATEGORY_WORDS[category]} {signed(delta)}"
        for category, delta in shown.select("category", "delta_duration_us").rows()
    )


def signed(delta_us: float) -> str:
    """A change of a time: ``"−59.3 ms"``, ``"+3.00 µs"``."""
    return f"{'−' if delta_us < 0 else '+'}{duration_text(abs(delta_us))}"


def _caveat(view: View) -> str | None:
    """Why the change may not be one of the code."""
    forbids = rows_of(view, "surroundings").filter(pl.col("severity") == "warning")
    if forbids.is_empty():
        return None
    texts = [
        _difference(what, before, after)
        for what, before, after in forbids.select("what", "baseline", "candidate").rows()
    ]
    return f"Not only the code may differ ({'; '.join(texts)})"


def _noise(view: View) -> str | None:
    """Why the change cannot be called significant."""
    steps = [value_of(view, f"{side}_steps") for side in ("baseline", "candidate")]
    if any(isinstance(count, int | float) and count < 2 for count in steps):
        return "A side has fewer than two whole steps, so this may be noise."
    return None


def _difference(what: str, before: str | None, after: str | None) -> str:
    """``device NVIDIA H100 against AMD MI300X``."""
    what = what if what[:2].isupper() else what[0].lower() + what[1:]
    if before == after:
        return f"{what}: {before} on both sides"
    return f"{what} {before or 'not known'} against {after or 'not known'}"


def _largest(view: View) -> str | None:
    """The operator whose time changed most, unless the category says it already."""
    row = _largest_change(rows_of(view, "explained"), "delta_time_us")
    if row is None or row["kind"] == "range":
        return None
    name = quoted(row["name"])
    if row["paired_with"] is not None:
        name += f" (now {quoted(row['paired_with'])})"
    where = "" if row["phase"] == OUTSIDE else f" in {row['phase'].lower()}"
    change = signed(row["delta_time_us"])
    return f"Largest change of {value_of(view, 'explained_by')}: {name}{where} {change}."


def _largest_change(rows: pl.DataFrame, key: str) -> dict[str, Any] | None:
    return top_row(rows.with_columns(size=pl.col(key).abs()), "size") if rows.height else None


def _memory(view: View, a: str, b: str) -> str | None:
    """The peak of memory that changed most, where it is worth a word."""
    rows = rows_of(view, "memory")
    if rows.height:
        rows = rows.filter(pl.col("measure") == "peak_allocated")
    row = _largest_change(rows, "delta_size_bytes")
    if row is None or row["size"] < LEAST_MEMORY_BYTES:
        return None
    if abs(row["delta_size_pct"] or 100) < LEAST_MEMORY_PCT:
        return None
    more = "more" if row["delta_size_bytes"] > 0 else "less"
    before, after = row["baseline_size_bytes"], row["candidate_size_bytes"]
    return _capitalized(
        f"{b} needs {size_text(row['size'])} {more} memory of {row['device']} at its peak than {a} "
        f"({size_text(after)} instead of {size_text(before)})."
    )


def _capitalized(text: str) -> str:
    """A sentence that starts with ``the candidate`` in upper case; names stay as they are."""
    for start in (CANDIDATE, "a step of"):
        if text.startswith(start):
            return text[0].upper() + text[1:]
    return text
