"""The memory view against FX9 and FX10 (where the predecessor mixed devices up, corrected) and
by hand; random and real traces are in ``test_truth.py``."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.memory.view import NO_TOTALS, SPEC, memory
from torch_tb_profiler.views.schema import View

UNKNOWN = "<unknown>"
CPU_RECORDS = [
    (90, 90, 4),
    (150, 150, 4),
    (200, 200, 4),
    (450, 450, 1000000),
    (729, 729, 50),
    (746, 746, 100),
    (749, 690, -100),
]
GPU_RECORDS = [
    (210, 210, 4),
    (265, 265, 4),
    (300, 300, 4),
    (350, 350, 10),
    (360, 350, -10),
    (515, 515, 100),
    (520, 520, 100),
    (600, 520, -100),
    (690, 690, 100),
    (701, 701, 100),
    (708, 708, 100),
    (715, 715, 50),
    (725, 725, 50),
    (728, 725, -50),
    (735, 715, -50),
    (742, 708, -100),
    (747, 747, 20),
    (760, 760, 30),
    (780, 760, -30),
    (795, 795, 10),
    (796, 515, -100),
    (799, 795, -10),
]


@pytest.fixture(scope="module")
def fx9() -> Trace:
    ranges = [
        ("aten::to", 10, 10),
        ("aten::to", 200, 60),
        ("nll", 340, 70),
        ("aten::to", 510, 150),
        ("copy_", 520, 100),
        ("liner", 700, 100),
        ("t", 705, 40),
        ("transpose", 710, 30),
        ("tranas_stride", 720, 10),
        ("addmm", 750, 40),
        ("aten::to", 900, 100),
    ]
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = [t.op(name, ts, dur) for name, ts, dur in ranges]
    events += [t.step(1, 50, 400), t.step(2, 500, 500), t.op(loader, 100, 180)]
    for ts, address, size in CPU_RECORDS:
        events.append(t.memory(ts, size, address=address, device_type=0))
    for ts, address, size in GPU_RECORDS:
        events.append(t.memory(ts, size, address=address))
    return t.trace(events)


STATISTICS = (
    "self_size_increase_bytes",
    "self_allocation_bytes",
    "self_allocation_count",
    "size_increase_bytes",
    "allocation_bytes",
    "allocation_count",
    "calls",
)


def statistics(view: View, device: str) -> dict[str, list[int | None]]:
    frame = view.tables["memory_stats"].frame
    rows = frame.filter(frame["device"] == device).rows(named=True)
    return {row["name"]: [row[key] for key in STATISTICS] for row in rows}


def test_fx9_statistics(fx9: Trace) -> None:
    view = memory(fx9, Selection())
    assert statistics(view, "GPU 0") == {
        "aten::to": [104, 104, 2, 104, 204, 3, 4],
        "nll": [0, 10, 1, 0, 10, 1, 1],
        "copy_": [0, 100, 1, 0, 100, 1, 1],
        "addmm": [0, 30, 1, 0, 30, 1, 1],
        "tranas_stride": [0, 50, 1, 0, 50, 1, 1],
        "transpose": [0, 50, 1, 0, 100, 2, 1],
        "t": [0, 100, 1, 0, 200, 3, 1],
        "liner": [20, 130, 3, 20, 360, 7, 1],
        UNKNOWN: [108, 108, 3, 108, 108, 3, None],
    }
    assert statistics(view, "CPU") == {
        "aten::to": [4, 4, 1, 4, 4, 1, 4],
        "liner": [0, 100, 1, 50, 150, 2, 1],
        "tranas_stride": [50, 50, 1, 50, 50, 1, 1],
        "transpose": [0, 0, 0, 50, 50, 1, 1],
        "t": [0, 0, 0, 50, 50, 1, 1],
        UNKNOWN: [1000008, 1000008, 3, 1000008, 1000008, 3, None],
    }


def test_fx9_statistics_of_a_range(fx9: Trace) -> None:
    view = memory(fx9, Selection(start_ns=510_000, end_ns=660_000))
    assert statistics(view, "GPU 0") == {
        "copy_": [0, 100, 1, 0, 100, 1, 1],
        "aten::to": [100, 100, 1, 100, 200, 2, 1],
    }
    assert statistics(view, "CPU") == {}


def test_fx9_events_pair_on_one_device_only(fx9: Trace) -> None:
    """The predecessor let the CPU release of 690 close the GPU allocation of 690."""
    columns = ("name", "size_bytes", "allocation_us", "release_us", "duration_us")
    frame = memory(fx9, Selection()).tables["memory_events"].frame
    gpu = frame.filter(frame["device"] == "GPU 0").select(columns).rows()
    assert sorted(gpu, key=str) == sorted(
        [
            ("nll", 10, 340, 350, 10),
            ("copy_", 100, 510, 590, 80),
            ("tranas_stride", 50, 715, 718, 3),
            ("transpose", 50, 705, 725, 20),
            ("t", 100, 698, 732, 34),
            (UNKNOWN, 100, 680, None, None),
            ("addmm", 30, 750, 770, 20),
            ("aten::to", 100, 505, 786, 281),
            ("liner", 10, 785, 789, 4),
            ("aten::to", 4, 200, None, None),
            (UNKNOWN, 4, 255, None, None),
            (UNKNOWN, 4, 290, None, None),
            ("liner", 100, 691, None, None),
            ("liner", 20, 737, None, None),
        ],
        key=str,
    )
    cpu = frame.filter(frame["device"] == "CPU").select(columns).rows()
    assert (UNKNOWN, 100, None, 739, None) in cpu
    assert len(cpu) == len(CPU_RECORDS)


def test_a_release_without_allocation_is_counted(fx9: Trace) -> None:
    notes = {note.code: note.evidence for note in memory(fx9, Selection()).notes}
    assert notes["release_without_allocation"] == {"count": 1}
    assert notes["no_totals"] == {"count": len(CPU_RECORDS) + len(GPU_RECORDS)}


def test_without_totals_peaks_are_null_with_the_reason(fx9: Trace) -> None:
    view = memory(fx9, Selection())
    peaks = view.tables["memory_peaks"]
    assert peaks.frame["peak_allocated_bytes"].to_list() == [None, None]
    assert peaks.null_reasons["peak_allocated_bytes"] == NO_TOTALS
    assert "memory_curve" not in view.series


def test_events_of_a_range_keep_their_other_end(fx9: Trace) -> None:
    view = memory(fx9, Selection(start_ns=510_000, end_ns=600_000))
    frame = view.tables["memory_events"].frame
    assert sorted(frame.select("allocation_us", "release_us").rows()) == [(505, 786), (510, 590)]


def test_steps_choose_records_by_time(fx9: Trace) -> None:
    view = memory(fx9, Selection(steps="1"))
    assert statistics(view, "GPU 0") == {
        "aten::to": [4, 4, 1, 4, 4, 1, 1],
        "nll": [0, 10, 1, 0, 10, 1, 1],
        UNKNOWN: [8, 8, 2, 8, 8, 2, None],
    }


def test_fx10_curve_holds_each_value_until_the_next() -> None:
    records = [(1, 1, 4, 4), (20, 1, -4, 0), (100, 2, 8000, 8000), (150, 2, -8000, 0)]
    events = [
        t.memory(ts, size, address=address, device_type=0, allocated=total, reserved=0)
        for ts, address, size, total in records
    ]
    view = memory(t.trace([t.op("aten::a", 0, 200), *events]), Selection())
    lines = {line.name: line for line in view.series["memory_curve"].lines}
    line = lines["CPU allocated"]
    points = list(zip(line.x, line.y, strict=True))
    steps = [points[0]]
    for (_, held), (time, value) in pairwise(points):
        steps += [(time, held), (time, value)]
    assert len(steps) == 2 * len(records) - 1
    assert steps == [(1, 4), (20, 4), (20, 0), (100, 0), (100, 8000), (150, 8000), (150, 0)]
    assert "CPU reserved" not in lines
    peaks = view.tables["memory_peaks"].frame.row(0, named=True)
    assert peaks["peak_allocated_bytes"] == 8000
    assert peaks["peak_us"] == 100


def test_an_allocator_that_reserves_nothing_has_no_reserved_memory() -> None:
    events = [
        t.memory(10, 8, address=1, device_type=0, allocated=8, reserved=0),
        t.memory(11, 8, address=1, device_type=1, device=0, allocated=8, reserved=0),
        t.memory(12, 8, address=2, device_type=1, device=0, allocated=16, reserved=2048),
    ]
    view = memory(t.trace([t.op("aten::a", 0, 50), *events]), Selection())
    peaks = view.tables["memory_peaks"]
    reserved = dict(peaks.frame.select("device", "peak_reserved_bytes").iter_rows())
    assert reserved == {"GPU 0": 2048, "CPU": None}
    assert "no reserved totals" in peaks.null_reasons["peak_reserved_bytes"]
    lines = {line.name: line.y for line in view.series["memory_curve"].lines}
    assert lines["GPU 0 reserved"] == [0, 2048]
    assert "CPU reserved" not in lines


def test_absurd_sizes_are_no_sizes() -> None:
    events = [
        t.memory(10, 2**62, address=1, allocated=2**62, reserved=-1),
        t.memory(11, 2**62, address=2, allocated=-1, reserved=2**62),
        t.memory(12, 64, address=3, allocated=64, reserved=128),
    ]
    view = memory(t.trace([t.op("aten::a", 0, 50), *events]), Selection())
    assert statistics(view, "GPU 0") == {"aten::a": [64, 64, 1, 64, 64, 1, 1]}
    peaks = view.tables["memory_peaks"].frame.row(0, named=True)
    assert (peaks["peak_allocated_bytes"], peaks["peak_reserved_bytes"]) == (64, 128)


def test_the_peak_of_a_range_without_memory_events_is_the_value_before_it() -> None:
    events = [
        t.memory(10, 700, address=1, allocated=700, reserved=900),
        t.memory(20, -600, address=1, allocated=100, reserved=900),
        t.memory(45, 50, address=2, allocated=150, reserved=900),
    ]
    trace = t.trace([t.op("aten::a", 0, 50), *events])
    view = memory(trace, Selection(start_ns=30_000, end_ns=40_000))
    peak = view.tables["memory_peaks"].frame.row(0, named=True)
    assert (peak["peak_allocated_bytes"], peak["peak_reserved_bytes"]) == (100, 900)
    assert peak["peak_us"] == 30
    line = view.series["memory_curve"].lines[0]
    assert (line.x, line.y) == ([30, 40], [100, 100])
    assert [fact.value for fact in view.facts if fact.key == "peak_allocated_bytes"] == [100]


def test_each_of_several_steps_begins_with_the_value_held_before() -> None:
    """Memory that rises between two selected steps and stays is in the second one."""
    events = [t.step(n, 100 * n, 100) for n in range(4)]
    events.append(t.memory(50, 10, address=1, allocated=10))
    events.append(t.memory(250, 990, address=2, allocated=1000))
    events.append(t.memory(350, -900, address=3, allocated=100))
    view = memory(t.trace([t.op("aten::a", 0, 400), *events]), Selection(steps="0,3"))
    peak = view.tables["memory_peaks"].frame.row(0, named=True)
    assert (peak["peak_allocated_bytes"], peak["peak_us"]) == (1000, 300)


def test_a_selection_before_all_memory_events_says_so() -> None:
    events = [t.memory(10, 8, address=1, allocated=8, reserved=8)]
    view = memory(t.trace([t.op("aten::a", 0, 50), *events]), Selection(end_ns=5_000))
    peaks = view.tables["memory_peaks"]
    assert peaks.frame["peak_allocated_bytes"].to_list() == [None]
    for key in ("peak_allocated_bytes", "peak_us"):
        assert "in the selection" in peaks.null_reasons[key]
    fact = next(fact for fact in view.facts if fact.key == "peak_allocated_bytes")
    assert "in the selection" in (fact.reason or "")
    assert view.tables["memory_events"].null_reasons == {}


def test_a_range_begins_with_the_value_held_before() -> None:
    events = [
        t.memory(10, 700, address=1, allocated=700, reserved=900),
        t.memory(20, -600, address=1, allocated=100, reserved=900),
    ]
    trace = t.trace([t.op("aten::a", 0, 50), *events])
    view = memory(trace, Selection(start_ns=15_000))
    line = view.series["memory_curve"].lines[0]
    assert (line.x, line.y) == ([15, 20], [700, 100])
    assert view.tables["memory_peaks"].frame["peak_allocated_bytes"].to_list() == [700]


def test_every_device_type_has_a_name() -> None:
    kinds = [0, 1, 6, 12, 13, 19, 20, 99]
    events = [
        t.memory(10 + kind, 8, address=kind + 1, device_type=kind, allocated=8, reserved=8)
        for kind in kinds
    ]
    view = memory(t.trace([t.op("aten::a", 0, 200), *events]), Selection())
    names = view.tables["memory_peaks"].frame["device"].to_list()
    assert len(set(names)) == len(kinds)
    assert all(names)
    assert names[-1] == "CPU"


def test_devices_of_one_number_keep_different_names() -> None:
    where = [(0, -1), (0, 0), (1, 0), (6, 0)]
    events = [
        {**t.memory(5, 8, address=n, allocated=8), "args": {"Device Type": k, "Device Id": d}}
        for n, (k, d) in enumerate(where)
    ]
    view = memory(t.trace([t.op("aten::a", 0, 10), *events]), Selection())
    names = view.tables["memory_peaks"].frame["device"].to_list()
    assert names == ["GPU 0", "HIP 0", "CPU", "CPU 0"]


def test_out_of_memory_is_told_and_no_record() -> None:
    oom = {**t.memory(5, 1 << 40), "name": "[OutOfMemory]"}
    view = memory(t.trace([t.op("aten::a", 0, 10), oom, t.memory(6, 4, address=1)]), Selection())
    assert view.tables["memory_events"].frame.height == 1
    assert {n.code: n.severity for n in view.notes}["out_of_memory"] == "warning"


def test_a_trace_without_memory_says_what_to_do() -> None:
    reason = SPEC.missing(t.trace([t.op("aten::a", 0, 10)]))
    assert reason is not None
    assert "profile_memory=True" in reason


def test_damage_of_the_recording_is_noted(fx9: Trace) -> None:
    """A kernel without a launch costs no memory event; a cut file may."""
    damaged = t.trace([t.op("aten::a", 0, 50), t.memory(10, 64, address=8), t.kernel("k", 20, 5)])
    for issue in ("truncated", "event_dropped", "device_out_of_range", "negative_duration"):
        damaged.quality.add(issue, 3)
    notes = {note.code: note for note in memory(damaged, Selection()).notes}
    damage = {"truncated", "event_dropped", "device_out_of_range"}
    assert {code for code, note in notes.items() if note.severity == "warning"} == damage
    assert notes["event_dropped"].evidence["count"] == 3
    assert damage.isdisjoint(note.code for note in memory(fx9, Selection()).notes)


def test_what_nobody_is_known_to_have_allocated_has_no_module() -> None:
    view = memory(t.trace([t.op("aten::a", 0, 50), t.memory(10, -64, address=8)]), Selection())
    table = view.tables["memory_events"]
    assert table.frame["module"].to_list() == [None]
    assert "before the recording" in table.null_reasons["module"]
