"""Modules and ranges by level: the calls of each thread and what they launched on each GPU."""

from __future__ import annotations

import numpy as np

from tests.helpers import traces as t
from tests.views.groups.test_view import model
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.index import Timeline, timeline
from torch_tb_profiler.views.timeline.levels import with_levels

Bars = list[list[tuple[str, int, int]]]


def bars(trace: Trace, shown: Timeline, key: str) -> Bars:
    """Per lane of the track ``key`` its calls: name, start and end in µs from the origin."""
    lanes = shown.lanes
    number = [track.key for track in shown.tracks].index(key)
    result: Bars = []
    for lane in range(len(lanes.track)):
        if lanes.track[lane] == number:
            positions = np.arange(lanes.first[lane], lanes.first[lane + 1])
            codes = trace.slices["name_code"].gather(lanes.slice[positions]).to_list()
            names = [str(trace.text(code)).removeprefix("nn.Module: ") for code in codes]
            start, end = lanes.start_ns[positions] // 1000, lanes.end_ns(positions) // 1000
            result.append(list(zip(names, start.tolist(), end.tolist(), strict=True)))
    return result


def test_calls_on_the_host_and_what_they_launched() -> None:
    trace = model()
    shown = with_levels(trace, {"modules": 2})
    assert bars(trace, shown, "levels.modules.t0")[0] == [("Net_0", 10, 710), ("Net_0", 1010, 1710)]
    layers = [(f"Layer_{i}", 20 + 100 * i, 80 + 100 * i) for i in range(4)]
    assert bars(trace, shown, "levels.modules.t0")[1][:4] == layers
    net, work = bars(trace, shown, "levels.modules.d0")
    assert net == [("Net_0", 40, 350), ("Net_0", 1040, 1350)]
    assert work[:4] == [
        ("Layer_0", 40, 50),
        ("Layer_1", 140, 150),
        ("Layer_2", 240, 255),
        ("Layer_3", 340, 350),
    ]
    (steps,) = bars(trace, shown, "levels.ranges.1.d0")
    name = "Optimizer.step#SGD.step"
    assert steps == [(name, 790, 795), (name, 1790, 1800)]


def test_tracks_keep_their_numbers_whatever_is_shown() -> None:
    trace = model()
    plain, some = timeline(trace), with_levels(trace, {"modules": 1})
    count = len(plain.tracks)
    assert some.tracks[:count] == plain.tracks
    lanes = {track.key: track.lanes for track in some.tracks[count:]}
    assert lanes["levels.modules.t0"] == lanes["levels.modules.d0"] == 1
    assert {lanes[key] for key in lanes if ".ranges." in key} == {0}
    every = with_levels(trace, {"modules": 8, "ranges": 8})
    assert [track.key for track in every.tracks] == [track.key for track in some.tracks]
    assert [group.key for group in some.groups][:2] == ["trace", "levels"]


def test_calls_of_one_level_that_overlap_on_a_gpu_stand_one_behind_the_other() -> None:
    trace = t.trace(
        [
            t.annotation("a", 0, 10),
            t.annotation("b", 20, 10),
            t.call("cudaLaunchKernel", 1, 2, corr=1),
            t.call("cudaLaunchKernel", 21, 2, corr=2),
            t.kernel("k", 10, 50, corr=1),
            t.kernel("k", 40, 50, corr=2, stream=8),
        ]
    )
    shown = with_levels(trace, {"ranges": 1})
    assert bars(trace, shown, "levels.ranges.0.d0") == [[("a", 10, 60), ("b", 60, 90)]]
    assert set(shown.lanes.category[-4:].tolist()) == {categories.GROUP}


def test_without_groups_nothing_is_added() -> None:
    trace = t.trace([t.op("aten::mm", 0, 5)])
    assert with_levels(trace, {"modules": 3}).tracks == timeline(trace).tracks
