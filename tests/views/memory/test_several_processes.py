"""Memory of several processes in one file, which use the same addresses."""

from __future__ import annotations

from tests.helpers import traces
from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.memory.view import memory


def record(ts: float, size: int, pid: int, total: int) -> Event:
    return traces.memory(ts, size, address=64, allocated=total, device=0) | {"pid": str(pid)}


def two_processes() -> list[Event]:
    """Both allocate at 64; process 20 in its step 1 while 10 is in step 0."""
    host = [
        event
        for pid, number in ((10, 0), (20, 1))
        for event in (step(number, 0, 100, pid=pid), op(f"op of {pid}", 0, 100, pid=pid))
    ]
    sizes = ((10, 10, 512), (20, 20, 1024), (30, 10, -512), (40, 20, -1024))
    return host + [record(ts, size, pid, max(size, 0)) for ts, pid, size in sizes]


def events_of(selection: Selection) -> list[tuple[str, int, float, float]]:
    frame = memory(trace(two_processes()), selection).tables["memory_events"].frame
    columns = ("name", "size_bytes", "allocation_us", "release_us")
    return sorted(frame.select(columns).rows())


def test_a_release_frees_what_its_own_process_allocated() -> None:
    assert events_of(Selection()) == [("op of 10", 512, 10, 30), ("op of 20", 1024, 20, 40)]


def test_a_step_holds_the_records_of_its_process() -> None:
    assert events_of(Selection(steps="1")) == [("op of 20", 1024, 20, 40)]


def test_a_note_says_that_totals_are_of_one_process() -> None:
    view = memory(trace(two_processes()), Selection())
    assert "memory_of_several_processes" in [note.code for note in view.notes]
