"""Cases by hand: busy time without double counting, self time, depth, cuts at the edges, the short
slices by name, and every sample against a slow count of its slices."""

from __future__ import annotations

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.views.timeline.excerpt import TrackExcerpt, excerpt
from torch_tb_profiler.views.timeline.index import timeline

US = 1000

EVENTS = [
    step(1, 0, 1000),
    op("aten::linear", 100, 400, ext=1),
    op("aten::addmm", 150, 300, ext=2),
    call("cudaLaunchKernel", 200, 50, corr=7, ext=2),
    op("aten::relu", 600, 100, ext=3),
    *(op("aten::empty", 800 + 2 * at, 1, ext=10 + at) for at in range(3)),
    kernel("gemm", 300, 500, corr=7, ext=2),
    kernel("copy", 900, 50, corr=8),
]


def track_of(start_us: int, end_us: int, title: str, limit: int = 10) -> TrackExcerpt:
    shown = timeline(trace(EVENTS))
    start_ns, end_ns = (each * US for each in (start_us, end_us))
    numbers = [at for at, each in enumerate(shown.tracks) if each.key in shown.rows]
    every = excerpt(shown, start_ns, end_ns, numbers, limit)
    (one,) = (each for each in every if title in f"{each.track.kind} {each.track.title}")
    return one


def test_a_thread() -> None:
    host = track_of(0, 1000, "operators")
    assert host.busy_ns == (400 + 100 + 3) * US
    assert host.count == 7
    assert [(s.name, s.depth, s.start_ns // US, s.dur_ns // US, s.self_ns // US)
            for s in host.largest] == [
        ("aten::linear", 0, 100, 400, 100),
        ("aten::addmm", 1, 150, 300, 250),
        ("cudaLaunchKernel", 2, 200, 50, 50),
        ("aten::relu", 0, 600, 100, 100),
        ("aten::empty", 0, 800, 1, 1),
        ("aten::empty", 0, 802, 1, 1),
        ("aten::empty", 0, 804, 1, 1),
    ]  # fmt: skip
    assert host.others == []


def test_what_is_short_or_beyond_the_limit_is_summed_by_name() -> None:
    host = track_of(0, 1000, "operators", limit=3)
    assert [one.name for one in host.largest] == ["aten::linear", "aten::addmm", "aten::relu"]
    assert [(each.name, each.count, each.self_us) for each in host.others] == [
        ("cudaLaunchKernel", 1, 50.0),
        ("aten::empty", 3, 3.0),
    ]


def test_edges_cut() -> None:
    host = track_of(400, 650, "operators")
    assert host.busy_ns == 150 * US
    assert [(s.name, s.self_ns // US) for s in host.largest] == [
        ("aten::linear", 50),
        ("aten::addmm", 50),
        ("aten::relu", 50),
    ]
    stream = track_of(400, 650, "device_stream")
    assert (stream.busy_ns, stream.count) == (250 * US, 1)
    assert stream.largest[0].start_ns == 300 * US


def test_nothing_in_the_range() -> None:
    assert track_of(960, 990, "device_stream").count == 0
