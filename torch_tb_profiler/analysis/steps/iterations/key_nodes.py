"""What could cut a recording into iterations, best first.

Definitions: ``docs/metrics.md#key-nodes``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.steps.iterations.candidate_calls import (
    CandidateCalls,
    candidate_calls,
    intervals_of,
)
from torch_tb_profiler.analysis.steps.iterations.resplit import host_range
from torch_tb_profiler.knowledge.iterations import iterations_file
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NOTHING_REPEATS = "Nothing in the recording is called once per repetition: it is one interval."

_INSIDE = 0.75
"""What of the score is left to a candidate that runs inside another one called as often."""

_OPERATOR = 0.95
"""What is left to an operator: ranges, optimizers, data loaders and modules are there to tell parts
of a program, operators may be called for anything."""


_OPTIMIZER_STEP = "Optimizer.step#"


@per_trace
def key_nodes(trace: Trace) -> pl.DataFrame:
    """The candidates, best first, at most ``most-listed`` of ``knowledge/iterations.toml``.

    Columns: name, kind, calls, first_start_ns, interval_mean_ns and interval_stddev_ns (of the
    times between one end and the next; mean and stddev are null without two ends of one process),
    score (0 to 100), reason.
    """
    calls = candidate_calls(trace)
    first_ns, last_ns = host_range(trace)
    frame = _measured(calls, first_ns, max(last_ns - first_ns, 1))
    by_name = {entry.name: entry for entry in iterations_file().ranges}
    known = [by_name.get(name) for name in calls.names]
    is_known = np.array([entry is not None for entry in known], np.bool_)
    is_operator = np.array([kind == "operator" for kind in calls.kinds], np.bool_)
    score = _scores(frame, is_known) * np.where(is_operator, _OPERATOR, 1.0)
    order = np.lexsort((frame["first_start_ns"].to_numpy(), -np.round(score, 1)))
    order = order[: iterations_file().most_listed]
    shown = frame.with_columns(
        name=pl.Series(calls.names, dtype=pl.String),
        kind=pl.Series(calls.kinds, dtype=pl.String),
        score=pl.Series(np.round(score, 1)),
    )[order]
    whats = [None if (entry := known[row]) is None else entry.what for row in order.tolist()]
    reasons = [
        _reason(row, what) for row, what in zip(shown.iter_rows(named=True), whats, strict=True)
    ]
    return shown.select(
        "name",
        "kind",
        "calls",
        "first_start_ns",
        "interval_mean_ns",
        "interval_stddev_ns",
        "score",
        reason=pl.Series(reasons, dtype=pl.String),
    )


def best_key_node(trace: Trace) -> tuple[str | None, str]:
    """The best key node with the reason why it is, or None with the reason why there is none."""
    nodes = key_nodes(trace)
    if not nodes.height or nodes["score"][0] < iterations_file().least_score:
        return None, NOTHING_REPEATS
    return nodes["name"][0], nodes["reason"][0]


def clear_key_node(trace: Trace) -> tuple[str | None, str]:
    """The key node that is used where nobody asks for one, with the reason; None with the reason
    why none is clear. What is clear: ``knowledge/iterations.toml``.

    A training step ends with its optimizer, whatever else is recorded; several optimizers may take
    turns, so that none of them is clear.
    """
    limits = iterations_file()
    first_ns, last_ns = host_range(trace)
    covered_ns = pl.col("interval_mean_ns") * pl.col("calls")
    nodes = key_nodes(trace).filter(
        (pl.col("calls") >= limits.used_times)
        & (covered_ns >= limits.used_share * (last_ns - first_ns))
    )
    optimizers = nodes.filter(pl.col("name").str.starts_with(_OPTIMIZER_STEP))
    if optimizers.height == 1:
        return optimizers["name"][0], "a training step ends with the step of its optimizer"
    known = {entry.name for entry in limits.ranges}
    is_range = (pl.col("kind") == "range") & (pl.col("score") >= limits.used_score)
    clear = nodes.filter(pl.col("name").is_in(known) | is_range)
    if optimizers.is_empty() and clear.height:
        return clear["name"][0], clear["reason"][0]
    return None, NOTHING_REPEATS


def _measured(calls: CandidateCalls, first_ns: int, length_ns: int) -> pl.DataFrame:
    """Per candidate what its score is made of, with the columns of :func:`key_nodes` in ns."""
    count = len(calls.names)
    number = np.bincount(calls.group, minlength=count)
    start = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(start, calls.group, calls.start_ns)
    first_end = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first_end, calls.group, calls.end_ns)
    intervals = intervals_of(calls)
    mean = intervals.mean_ns
    # What has one interval only says nothing about how even they are.
    covered = mean * number / np.maximum(intervals.sequences, 1) / length_ns
    with np.errstate(divide="ignore", invalid="ignore"):  # calls that all end at one moment
        into = (start - first_ns) / mean
        ends = (first_end - first_ns) / mean
        off_edge = np.abs(ends - np.round(ends))
    return pl.DataFrame(
        {
            "calls": number,
            "first_start_ns": start,
            "interval_mean_ns": pl.Series(mean).fill_nan(None),
            "interval_stddev_ns": pl.Series(intervals.stddev_ns).fill_nan(None),
            "varies": intervals.varies,
            "covers": np.minimum(covered, 1 / np.maximum(covered, 1e-9)),
            "into": np.clip(into, 0, 1),
            "off_edge": off_edge,
            "inside": calls.inside,
            "sequences": intervals.sequences,
        }
    ).with_columns(pl.col("varies", "covers", "into", "off_edge").fill_nan(None))


def _scores(frame: pl.DataFrame, is_known: Bools) -> Float64:
    """0 to 100: the product of how often, how evenly, over how much of the recording and how early
    in the interval it is called, how many others are called as often, and whether one of those is
    around it."""
    columns = {key: frame[key].to_numpy() for key in ("varies", "covers", "into", "off_edge")}
    number = frame["calls"].to_numpy() / np.maximum(frame["sequences"].to_numpy(), 1)
    as_often = np.bincount(frame["calls"].to_numpy())[frame["calls"].to_numpy()]
    often = np.where(number >= 2, as_often, 0)
    even = np.where(is_known, 1.0, 1 / (1 + columns["varies"]))
    early = 0.8 * (1 - columns["into"]) + 0.2 * (1 - 2 * columns["off_edge"])
    score = (
        (1 - 1 / np.maximum(number, 1) ** 2)
        * even
        * columns["covers"]
        * (0.4 + 0.6 * np.where(is_known, 1.0, early))
        * (0.6 + 0.4 * np.where(is_known, 1.0, often / max(often.max(initial=1), 1)))
        * np.where(frame["inside"].to_numpy(), _INSIDE, 1.0)
    )
    score[is_known] **= 0.5
    scores: Float64 = np.nan_to_num(score) * 100
    return scores


def _reason(row: dict[str, object], what: str | None) -> str:
    """A candidate in words, the strongest evidence first; its calls are a column of their own."""
    mean, stddev = row["interval_mean_ns"], row["interval_stddev_ns"]
    parts = ["inside another candidate that is called as often"] if row["inside"] else []
    if isinstance(mean, float) and mean > 0 and isinstance(stddev, float):
        varies = f" (± {100 * stddev / mean:.0f} %)" if int(str(row["calls"])) > 2 else ""
        parts.append(f"called every {_length(mean)}{varies}")
        into = 100 * float(str(row["into"]))
        if into >= 1:
            parts.append(f"first {into:.0f} % of that time after the recording starts")
        covers = 100 * float(str(row["covers"]))
        if covers < 90:
            parts.append(f"over {covers:.0f} % of the recording")
    return ", ".join(parts if what is None else [what, *parts]) or f"called {row['calls']} times"


def _length(ns: float) -> str:
    """A length of time for people: three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
