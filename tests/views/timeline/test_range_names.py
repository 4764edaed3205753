"""The table of a range against every slice of random recordings, one after the other; sums in
several pieces are those of one."""

from __future__ import annotations

import statistics
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import kernel, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.views.timeline import range_names as module
from torch_tb_profiler.views.timeline.index import Timeline, timeline
from torch_tb_profiler.views.timeline.range_names import MAX_NAMES, RangeNames, range_names

HOST = (Category.OPERATOR, Category.ANNOTATION, Category.RUNTIME)


def names_in(shown: Timeline, start: int, end: int) -> RangeNames:
    drawn = [n for n, track in enumerate(shown.tracks) if track.key in shown.rows]
    return range_names(shown, np.flatnonzero(np.isin(shown.lanes.track, drawn)), start, end)


def self_moments(shown: Timeline) -> dict[int, set[int]]:
    """The moments of every host slice in which no other slice of its thread is deeper."""
    slices = shown.trace.slices
    rows = list(slices.select("track", "category", "start_ns", "dur_ns").iter_rows())
    moments: dict[int, set[int]] = {number: set() for number in range(len(rows))}
    for track in {row[0] for row in rows}:
        own = [n for n, row in enumerate(rows) if row[0] == track and row[1] in HOST]
        for moment in range(600):
            over = [n for n in own if rows[n][2] <= moment < rows[n][2] + rows[n][3]]
            if over:
                # Of equal ones the later is inside; so is a call in an operator of the same time.
                deepest = max(
                    over, key=lambda n: (rows[n][2], -rows[n][3], slices["depth"][n] or 0, n)
                )
                moments[deepest].add(moment)
    return moments


@examples(60)
@given(recordings(), st.integers(-20, 300), st.integers(1, 300))
def test_every_name_by_hand(recording: Recording, start: int, length: int) -> None:
    shown = timeline(trace(recording.events))
    end = start + length
    table, left_out = names_in(shown, start, end).table()
    assert left_out == 0
    slices = shown.trace.slices
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    alone = self_moments(shown)
    self_ns: dict[tuple[str, str], int] = defaultdict(int)
    columns = slices.select("name_code", "category", "start_ns", "dur_ns")
    for number, (code, category, begin, dur) in enumerate(columns.iter_rows()):
        first, last = begin - shown.origin_ns, begin - shown.origin_ns + dur
        if category == Category.STEP or first >= end or last <= start:
            continue
        key = (shown.trace.text(code) or "", "host" if category in HOST else "device")
        counts[key][0] += 1
        counts[key][1] += max(0, min(last, end) - max(first, start))
        low, high = start + shown.origin_ns, end + shown.origin_ns
        self_ns[key] += sum(low <= moment < high for moment in alone[number])
        if start <= first and last <= end:
            durations[key].append(dur)
        else:
            counts[key][2] += 1
    frame = table.frame.group_by("name", "where").agg(pl.sum("count", "total_us", "cut", "self_us"))
    actual = {
        (name, where): [count, round(total * 1000), cut]
        for name, where, count, total, cut, _ in frame.iter_rows()
    }
    assert actual == counts
    for name, where, *_, own in frame.filter(pl.col("where") == "host").iter_rows():
        assert round(own * 1000) == self_ns[name, where]
    single = table.frame.filter(pl.struct("name", "where").is_unique())
    for row in single.iter_rows(named=True):
        taken = durations[row["name"], row["where"]]
        if not taken:
            assert row["mean_us"] is row["min_us"] is row["std_us"] is None
            assert "std_us" in table.null_reasons
            continue
        assert row["mean_us"] * 1000 == pytest.approx(statistics.fmean(taken))
        assert row["std_us"] * 1000 == pytest.approx(statistics.pstdev(taken), abs=1e-6)
        assert (row["min_us"], row["max_us"]) == (min(taken) / 1000, max(taken) / 1000)


def test_a_slice_cut_by_the_range_counts_with_its_part() -> None:
    shown = timeline(trace([op("a", 0, 10), op("a", 20, 10), op("a", 40, 10)]))
    table, _ = names_in(shown, 5_000, 45_000).table()
    columns = ("count", "cut", "total_us", "mean_us", "min_us", "max_us", "std_us")
    assert table.frame.select(columns).rows() == [(3, 2, 20.0, 10.0, 10.0, 10.0, 0.0)]


def test_sums_in_pieces_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    events = [
        kernel(f"k{random.integers(4)}", 100 * at, float(random.integers(1, 90)), stream=at % 7)
        for at in range(300)
    ]
    shown = timeline(trace(events))
    whole, _ = names_in(shown, 50_000, 29_000_000).table()
    monkeypatch.setattr(module, "_AT_ONCE", 40)
    pieces, _ = names_in(shown, 50_000, 29_000_000).table()
    assert whole.frame.height == 4
    for key in whole.frame.columns:
        if key in ("std_us", "mean_us"):
            assert pieces.frame[key].to_list() == pytest.approx(whole.frame[key].to_list())
        else:
            assert pieces.frame[key].equals(whole.frame[key], check_dtypes=True)


def test_names_beyond_the_limit_are_counted() -> None:
    events = [op(f"n{at}", at, 0.5 if at else 0.9) for at in range(MAX_NAMES + 3)]
    table, left_out = names_in(timeline(trace(events)), 0, 1_000_000_000).table()
    assert (table.frame.height, left_out) == (MAX_NAMES, 3)
    assert table.frame["name"][0] == "n0"


def test_an_empty_range_has_a_reason() -> None:
    table, _ = names_in(timeline(trace([op("a", 0, 10)])), 20_000, 30_000).table()
    assert table.frame.is_empty()
    assert table.why_empty is not None
