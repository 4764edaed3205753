"""A range on some tracks: the sums of its slices moment by moment, the GPUs it touches."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import call, kernel, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.views.timeline.choice import choose
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline, timeline
from torch_tb_profiler.views.timeline.range_summary import RangeSummary, range_summary

TWO_GPUS = [
    op("aten::a", 0, 100),
    op("aten::b", 10, 50),
    call("cudaLaunchKernel", 20, 5, corr=1),
    op("aten::c", 0, 80, tid=2),
    kernel("k0", 30, 20, device=0, stream=7, corr=1),
    kernel("k1", 40, 30, device=1, stream=9),
]


def all_keys(shown: Timeline) -> str:
    return ",".join(track.key for track in shown.tracks)


def key_of(shown: Timeline, name: str) -> str:
    """The track of the slices of a name."""
    for lane, number in enumerate(shown.lanes.track.tolist()):
        for position in range(int(shown.lanes.first[lane]), int(shown.lanes.first[lane + 1])):
            slice_id = int(shown.lanes.slice[position])
            if slice_id == NO_SLICE:
                continue
            if shown.trace.text(shown.trace.slices["name_code"][slice_id]) == name:
                return str(shown.tracks[number].key)
    raise AssertionError(name)


def names_of(summary: RangeSummary) -> list[str]:
    return summary.slices.frame["name"].to_list()


def test_only_the_tracks_that_were_chosen() -> None:
    shown = timeline(trace(TWO_GPUS))
    host = range_summary(shown, 0, 100_000, choose(shown, key_of(shown, "aten::c")))
    assert names_of(host) == ["aten::c"]
    assert (host.gpus, host.gaps, host.gap_count) == ([], [], 0)
    second = range_summary(shown, 0, 100_000, choose(shown, key_of(shown, "k1")))
    assert names_of(second) == ["k1"]
    assert [gpu.device for gpu in second.gpus] == [1]
    assert {gap.device for gap in second.gaps} == {1}


def test_self_time_leaves_out_a_lane_that_was_not_chosen() -> None:
    shown = timeline(trace(TWO_GPUS))
    key = key_of(shown, "aten::a")
    outer = range_summary(shown, 0, 100_000, choose(shown, f"{key}:0"))
    rows = outer.slices.frame.select("name", "self_us", "total_us").rows()
    assert rows == [("aten::a", 50.0, 100.0)]


def test_all_tracks_are_the_whole() -> None:
    shown = timeline(trace(TWO_GPUS))
    whole = range_summary(shown, 5_000, 90_000)
    chosen = range_summary(shown, 5_000, 90_000, choose(shown, all_keys(shown)))
    assert chosen.slices.frame.equals(whole.slices.frame)
    assert (chosen.categories, chosen.gpus, chosen.gaps) == (
        whole.categories,
        whole.gpus,
        whole.gaps,
    )


@examples(60)
@given(recordings(), st.integers(-20, 150), st.integers(1, 200), st.data())
def test_sums_of_some_tracks_by_hand(
    recording: Recording, start: int, length: int, data: st.DataObject
) -> None:
    shown = timeline(trace(recording.events))
    assume(shown.tracks)
    chosen = data.draw(st.sets(st.sampled_from(range(len(shown.tracks))), min_size=1))
    keys = ",".join(shown.tracks[number].key for number in chosen)
    actual = range_summary(shown, start, start + length, choose(shown, keys))
    counts: Counter[tuple[int, bool]] = Counter()
    for lane, number in enumerate(shown.lanes.track.tolist()):
        if number not in chosen or shown.tracks[number].key not in shown.rows:
            continue
        positions = np.arange(shown.lanes.first[lane], shown.lanes.first[lane + 1])
        ends = shown.lanes.end_ns(positions)
        for position, end in zip(positions.tolist(), ends.tolist(), strict=True):
            begin = int(shown.lanes.start_ns[position])
            if begin < start + length and (end > start or start <= begin):
                device = shown.tracks[number].device is not None
                counts[int(shown.lanes.category[position]), device] += 1
    assert {(entry.category, entry.is_device): entry.count for entry in actual.categories} == counts
    devices = {shown.tracks[number].device for number in chosen} - {None}
    assert {gpu.device for gpu in actual.gpus} == devices & {
        gpu.device for gpu in range_summary(shown, start, start + length).gpus
    }
