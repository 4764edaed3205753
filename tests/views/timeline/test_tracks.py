"""Cases: one row of the trace becomes tracks for operators, python and the rest; runtime calls lie
below what made them; steps on top, out of their thread; groups per process and device; what
overlaps has lanes of its own, counted and marked; communication streams; merged lanes per GPU;
lanes chosen by text; places of slices; deep stacks.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.traces import Event, call, frame, kernel, memcpy, op, step, trace
from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.choice import ChoiceError, choose
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline, timeline
from torch_tb_profiler.views.timeline.placed_slices import placed
from torch_tb_profiler.views.timeline.rows import lane_order
from torch_tb_profiler.views.timeline.tracks import assign_tracks, track_of_slices


def placed_by_name(built: Timeline) -> dict[str, tuple[str, int]]:
    result = placed(built, np.arange(built.trace.slices.height))
    return {slice_.name: (slice_.track, slice_.lane) for slice_ in result}


def kinds(built: Timeline) -> list[tuple[str, str]]:
    return [(track.group, track.kind) for track in built.tracks]


TRAINING: list[Event] = [
    step(1, 0, 100),
    op("aten::linear", 10, 50),
    op("aten::mm", 20, 30),
    call("cudaLaunchKernel", 25, 5, corr=1),
    frame("train.py(3): main", 0, 100, python_id=1),
    frame("nn.Module: Linear_0", 5, 60, python_id=2, parent=1, module=0),
    kernel("gemm", 40, 20, corr=1),
    {**kernel("range", 35, 40), "cat": "gpu_user_annotation"},
]


def test_a_training_step() -> None:
    built = timeline(trace(TRAINING))
    assert kinds(built) == [
        ("trace", "steps"),
        ("p1000", "operators"),
        ("p1000", "python"),
        ("d0", "merged"),
        ("d0", "counter"),
        ("d0", "counter"),
        ("d0", "annotations"),
        ("d0", "device_stream"),
    ]
    positions = placed_by_name(built)
    assert positions["ProfilerStep#1"] == ("steps", 0)
    assert positions["aten::linear"] == ("t0.operators", 0)
    assert positions["aten::mm"] == ("t0.operators", 1)
    assert positions["cudaLaunchKernel"] == ("t0.operators", 2)
    assert positions["train.py(3): main"] == ("t0.python", 0)
    assert positions["nn.Module: Linear_0"] == ("t0.python", 1)
    assert positions["gemm"] == ("t1.work", 0)
    assert positions["range"] == ("t1.annotations", 0)
    assert [track.title for track in built.tracks if track.kind == "counter"] == [
        "GPU utilization",
        "Launch queue length",
    ]
    assert [track.key for track in built.tracks if track.collapsed] == ["t0.python"]
    assert built.overlapping == 0


def test_a_thread_that_only_calls_the_runtime() -> None:
    built = timeline(trace([call("cudaStreamSynchronize", 0, 10, tid=9)]))
    assert kinds(built) == [("p1000", "runtime")]


def test_steps_of_two_threads_share_the_top_in_order_of_time() -> None:
    built = timeline(trace([step(2, 100, 50, tid=2), step(1, 0, 50), step(3, 200, 50)]))
    assert kinds(built) == [("trace", "steps")]
    assert built.lanes.start_ns.tolist() == [0, 100_000, 200_000]


def test_overlapping_kernels_are_all_there_on_marked_lanes() -> None:
    built = timeline(trace([kernel(f"k{i}", 10 * i, 25) for i in range(4)]))
    (stream,) = (track for track in built.tracks if track.kind == "device_stream")
    assert (stream.slices, stream.lanes, stream.overlap_from) == (4, 3, 1)
    assert placed_by_name(built) == {
        "k0": ("t0.work", 0),
        "k1": ("t0.work", 1),
        "k2": ("t0.work", 2),
        "k3": ("t0.work", 0),
    }
    assert built.overlapping == 2


def test_an_operator_that_begins_inside_a_runtime_call_gets_a_lane() -> None:
    events = [op("outer", 0, 100), call("cudaFree", 10, 50, corr=3), op("hook", 20, 10)]
    built = timeline(trace(events))
    (track,) = built.tracks
    assert (track.slices, track.lanes, track.overlap_from) == (3, 3, 2)


def test_communication_streams_are_marked() -> None:
    events = [kernel("gemm", 0, 50), kernel("ncclKernel_AllReduce", 20, 60, stream=9)]
    built = timeline(trace(events))
    marked = {track.title: track.communication for track in built.tracks if track.key in built.rows}
    assert marked == {"stream 7": False, "stream 9": True}


def test_merged_lanes_are_what_the_streams_did_together() -> None:
    events = [kernel("gemm", 10, 50), kernel("ncclKernel_AllReduce", 40, 60, stream=9)]
    built = timeline(trace([op("x", 0, 120), *events, memcpy(50, 55, stream=11)]))
    number = next(i for i, track in enumerate(built.tracks) if track.kind == "merged")
    result = {}
    for lane in np.flatnonzero(built.lanes.track == number):
        positions = np.arange(built.lanes.first[lane], built.lanes.first[lane + 1])
        assert (built.lanes.slice[positions] == NO_SLICE).all()
        edges = zip(built.lanes.start_ns[positions], built.lanes.end_ns(positions), strict=True)
        titles = built.tracks[number].lane_titles
        assert titles is not None
        title = titles[built.lanes.row[lane]]
        result[title] = [(int(a) // 1000, int(b) // 1000) for a, b in edges]
    assert result == {
        "Computation": [(10, 60)],
        "Communication": [(40, 100)],
        "Overlap": [(40, 60)],
        "Exposed": [(60, 100)],
        "Idle": [(0, 10), (105, 120)],
        "Copies": [(50, 105)],
    }


def test_a_stack_of_ten_thousand_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "levels=20000,nested=1e9")
    events = [frame(f"f{i}", i, 20_001 - 2 * i) for i in range(10_000)]
    (track,) = timeline(trace(events)).tracks
    assert track.lanes == 10_000
    assert track.overlap_from is None


def other(name: str, start: float, dur: float) -> Event:
    return {**op(name, start, dur), "cat": "part_of_an_operator"}


def test_slices_of_no_tree_that_lie_in_one_another_do_not_overlap() -> None:
    nested = [other("a", 0, 50), other("b", 10, 30), other("c", 10, 5), other("d", 60, 5)]
    built = timeline(trace(nested))
    assert {name: lane for name, (_, lane) in placed_by_name(built).items()} == {
        "a": 0, "b": 1, "c": 2, "d": 0,
    }  # fmt: skip
    assert [track.overlap_from for track in built.tracks] == [None]

    crossing = timeline(trace([*nested, other("crosses", 40, 30)]))
    assert [(track.lanes, track.overlap_from) for track in crossing.tracks] == [(3, 1)]


def test_what_overlaps_is_counted_as_in_the_note() -> None:
    """Not what lies inside such a slice, though it is on a lane below it."""
    crossing = [op("a", 0, 50), op("b", 30, 50), op("inside b", 35, 10), op("also", 50, 10)]
    built = timeline(trace(crossing))
    assert built.overlapping == built.trace.quality.counts["overlapping_slices"] == 1


def test_tracks_are_chosen_by_key_and_lane() -> None:
    built = timeline(trace(TRAINING))

    def rows(text: str | None) -> list[tuple[str, int]]:
        lanes = choose(built, text).lanes
        return [
            (built.tracks[built.lanes.track[lane]].key, int(built.lanes.row[lane]))
            for lane in lanes
        ]

    assert rows("t0.operators:1") == [("t0.operators", 1)]
    assert rows("t0.python,steps") == [("steps", 0), ("t0.python", 0), ("t0.python", 1)]
    assert rows("t0.operators:1-9") == [("t0.operators", 1), ("t0.operators", 2)]
    assert ("t0.python", 0) in rows(None)
    assert ("t0.python", 1) not in rows(None)
    assert choose(built, "d0.utilization").counters == [4]
    for wrong in ("", "nothing", "steps:x", "steps:1-", "<b>", "steps,,steps"):
        with pytest.raises(ChoiceError):
            choose(built, wrong)


def test_every_slice_of_the_samples_has_one_place(sample_traces: list[Trace]) -> None:
    for result in sample_traces:
        built = timeline(result)
        real = built.lanes.slice[built.lanes.slice != NO_SLICE]
        assert np.array_equal(np.sort(real), np.arange(result.slices.height))
        drawn = [t for t in built.tracks if t.key in built.rows or t.kind == "steps"]
        assert sum(track.slices for track in drawn) == len(real)
        for slice_ in placed(built, np.arange(min(500, result.slices.height))):
            assert result.slices["start_ns"][slice_.id] == slice_.start_ns + built.origin_ns


def test_the_layers_of_paddle_are_rows_of_their_own() -> None:
    """Paddle's JSON writes a thread's layers as two rows; our rows hold the same events, of the
    protobuf, too."""
    folder = Path(__file__).parents[2] / "data" / "paddle"
    files = {
        ending: gzip.decompress((folder / f"nested.paddle_trace.{ending}.gz").read_bytes())
        for ending in ("json", "pb")
    }
    expected: Counter[tuple[str, str, str]] = Counter()
    for event in json.loads(files["json"])["traceEvents"]:
        if event.get("ph") == "X" and event["cat"] != "ProfileStep":
            thread, _, layer = event["tid"].partition("(")
            expected[thread, layer.rstrip(")"), event["name"].partition("[")[0]] += 1
    assert len({(thread, layer) for thread, layer, _ in expected}) == 4
    for data in files.values():
        recorded = build_trace(read_bytes(data))
        placement = assign_tracks(recorded)
        numbers = track_of_slices(recorded, placement)
        rows = {f"t{row['track']}": row["tid"] for row in recorded.tracks.to_dicts()}
        drawn: Counter[tuple[str, str, str]] = Counter()
        for code, number in zip(recorded.slices["name_code"], numbers.tolist(), strict=True):
            track = placement.tracks[number]
            if track.kind != "steps":
                tid = rows[track.key.partition(".")[0]]
                drawn[tid, track.title.partition(" · ")[0], str(recorded.text(code))] += 1
        assert drawn == expected
        lanes = lane_order(recorded, placement)
        assert (lanes.overlap_from == -1).all()
