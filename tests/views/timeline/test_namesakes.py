"""The distribution of a slice's namesakes, against a count by hand of random durations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import annotation, kernel, op, trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.namesakes import namesakes


def of_durations(durations: list[int], *, others: bool = True) -> Trace:
    """Operators one after the other; another name, and the same name of another category beside."""
    events = []
    start = 0
    for dur in durations:
        events.append(op("f", start, dur / 1000))
        start += dur // 1000 + 10
    if others:
        events += [op("g", start, 50), annotation("f", start + 100, 70), kernel("f", 0, 3)]
    return trace(events)


@examples(60)
@given(st.lists(st.integers(0, 10**6) | st.integers(0, 60), min_size=1, max_size=60), st.data())
def test_against_a_count_by_hand(durations: list[int], data: st.DataObject) -> None:
    built = of_durations(durations)
    own = data.draw(st.sampled_from(range(len(durations))))
    (slice_id,) = [
        row
        for row, (name, start, category) in enumerate(
            built.slices.select("name_code", "start_ns", "category").iter_rows()
        )
        if built.text(name) == "f"
        and category == 0
        and start == sum(dur // 1000 + 10 for dur in durations[:own]) * 1000
    ]
    actual = namesakes(built, slice_id)
    ordered = sorted(durations)
    assert actual.count == len(durations)
    assert actual.total_us * 1000 == pytest.approx(sum(durations))
    assert round(actual.median_us * 1000) == ordered[math.ceil(len(ordered) / 2) - 1]
    assert round(actual.p95_us * 1000) == ordered[math.ceil(0.95 * len(ordered)) - 1]
    assert (round(actual.min_us * 1000), round(actual.max_us * 1000)) == (ordered[0], ordered[-1])
    assert actual.shorter == sum(dur < durations[own] for dur in durations)
    assert actual.longer == sum(dur > durations[own] for dur in durations)
    assert sum(actual.counts) == len(durations)
    assert len(actual.edges_us) == len(actual.counts) + 1
    last = len(actual.counts) - 1
    for bin_, count in enumerate(actual.counts):
        low, high = (edge * 1000 for edge in actual.edges_us[bin_ : bin_ + 2])
        inside = [d for d in durations if low <= d < high or (bin_ == last and d == ordered[-1])]
        assert len(inside) == pytest.approx(count, abs=1), "an edge between whole ns"
    assert actual.counts[actual.own_bin] > 0


def test_bins_of_equal_ratio_where_durations_span_decades() -> None:
    wide = namesakes(of_durations([1_000, 10_000, 1_000_000]), 0)
    assert wide.is_log
    ratios = [high / low for low, high in zip(wide.edges_us, wide.edges_us[1:], strict=False)]
    assert max(ratios) == pytest.approx(min(ratios))
    narrow = namesakes(of_durations([1_000, 2_000, 9_000]), 0)
    assert not narrow.is_log


def test_one_alone() -> None:
    alone = namesakes(of_durations([5_000], others=False), 0)
    assert (alone.count, alone.counts, alone.own_bin) == (1, [1], 0)
    assert (alone.shorter, alone.longer) == (0, 0)


def test_none_takes_time() -> None:
    actual = namesakes(of_durations([0, 0], others=False), 0)
    assert (actual.counts, actual.max_us) == ([2], 0)
