"""A still picture of the timeline: what is in it, and that it stays small."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.traces import subject_trace
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.views.timeline.picture import Picture, picture


def _names(shown: Picture) -> set[str | None]:
    return {box.name for track in shown.tracks for lane in track.lanes for box in lane}


def _small() -> Picture:
    events = [
        step(1, 0, 1000),
        op("aten::mm", 100, 200),
        call("cudaLaunchKernel", 120, 10, corr=1),
        kernel("gemm", 400, 300, corr=1),
        op("aten::late", 900, 50),
    ]
    return picture(trace(events), "A gap", 100_000, 500_000, None)


def test_it_shows_the_stretch_with_a_quarter_before_and_after() -> None:
    shown = _small()
    assert (shown.start_ns, shown.end_ns, shown.mark_ns) == (0, 600_000, (100_000, 500_000))
    names = _names(shown)
    assert {"ProfilerStep#1", "aten::mm", "cudaLaunchKernel", "gemm"} <= names
    assert "aten::late" not in names


def test_slices_have_their_own_times_and_categories() -> None:
    boxes = [box for track in _small().tracks for lane in track.lanes for box in lane]
    (gemm,) = [box for box in boxes if box.name == "gemm"]
    assert (gemm.start_ns, gemm.end_ns, gemm.category) == (400_000, 700_000, "kernel")


def test_a_whole_recording_is_a_few_thousand_boxes(samples: Path) -> None:
    catalog = Catalog([TraceRoot(str(samples / "kineto_resnet50_nw0"))], cache=None)
    _, loaded = subject_trace(catalog, Subject(), None)
    shown = picture(loaded, "All", 0, loaded.meta.end_ns - loaded.meta.start_ns, None)
    boxes = [box for track in shown.tracks for lane in track.lanes for box in lane]
    assert 500 < len(boxes) < 5000
    drawn = sum(box.count for box in boxes)
    assert drawn > 10_000
    assert all(box.start_ns <= box.end_ns for box in boxes)
