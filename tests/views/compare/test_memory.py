"""Table ``memory`` of a comparison: what the memory view says of both sides, and differences."""

from __future__ import annotations

from typing import Any

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.memory.view import memory


def stepped(*sizes: int, reserved: int | None = 900, kept: bool = True) -> Trace:
    """A step for each size: a block of it is allocated in the step; not ``kept``, it is only
    there within its operator."""
    events: list[t.Event] = []
    total = 100
    for number, size in enumerate(sizes):
        at = 100 * number
        total_then = total + size
        events += [
            t.step(number, at, 90),
            t.op("aten::mm", at + 10, 20),
            t.memory(at + 12, size, address=number, allocated=total_then, reserved=reserved),
            t.memory(
                at + (40 if kept else 20),
                -size,
                address=number,
                allocated=total,
                reserved=reserved,
            ),
        ]
    return t.trace(events)


def compared(a: Trace, b: Trace, **candidate: Any) -> dict[str, tuple[Any, Any, Any]]:
    frame = compare(a, Selection(), b, Selection(**candidate)).tables["memory"].frame
    assert set(frame["device"]) <= {"GPU 0"}
    keys = ("baseline_size_bytes", "candidate_size_bytes", "delta_size_bytes")
    return {row["measure"]: tuple(row[key] for key in keys) for row in frame.rows(named=True)}


def test_peaks_fragmentation_and_categories_side_by_side() -> None:
    assert compared(stepped(50, 70), stepped(50, 30)) == {
        "peak_allocated": (170, 150, -20),
        "peak_reserved": (900, 900, 0),
        "max_fragmentation": (800, 800, 0),
        "peak_temporary": (70, 50, -20),
        "peak_unknown": (100, 100, 0),
    }


def test_sizes_are_of_the_selection_and_never_divided_by_steps() -> None:
    found = compared(stepped(50, 70), stepped(50, 30, 80), steps="1", group_by="per_step")
    assert found["peak_allocated"] == (170, 130, -40)


def test_a_peak_outside_of_steps_counts_beside_a_side_with_other_steps() -> None:
    """As on the Memory page: values per step narrow times to whole steps, and no peak."""
    before = t.memory(-50, 400, address=77, allocated=500, reserved=900)
    freed = t.memory(-20, -400, address=77, allocated=100, reserved=900)
    events = [t.step(0, 0, 90), t.op("aten::mm", 10, 20), before, freed]
    found = compared(t.trace(events), stepped(50, 30))
    assert found["peak_allocated"] == (500, 150, -350)


def test_what_one_side_does_not_tell_is_null_and_a_category_it_has_not_is_0() -> None:
    found = compared(
        stepped(50, reserved=None), t.trace([t.step(0, 0, 90), t.op("aten::mm", 1, 9)])
    )
    assert found["peak_allocated"] == (150, None, None)
    assert "peak_reserved" not in found
    one = [t.step(0, 0, 90), t.memory(1, 64, address=1, allocated=64)]
    found = compared(stepped(50), t.trace(one))
    assert found["peak_reserved"] == (900, None, None)
    assert found["peak_temporary"][1] == 0


def test_a_category_is_0_only_where_the_whole_peak_is_of_known_use() -> None:
    """An activation of 50 bytes beside a side without one: its peak is known, or 100 bytes of it
    were allocated before the recording; a side without addresses knows no category at all."""

    def trained(activation: int, before: int, *, address: int | None = 7) -> Trace:
        total = before + activation
        events: list[t.Event] = [
            t.step(0, 0, 90),
            t.annotation("forward", 10, 30),
            t.op("aten::mm", 12, 20),
            t.op("aten::mm", 60, 20),
            t.annotation("backward", 55, 30),
        ]
        if activation:
            events.append(t.memory(15, activation, address=address, allocated=total))
            events.append(t.memory(70, -activation, address=address, allocated=before))
        events.append(t.memory(61, 20, address=8 if address else None, allocated=total + 20))
        events.append(t.memory(65, -20, address=8 if address else None, allocated=total))
        return t.trace(events)

    activation = "peak_activation"
    assert compared(trained(50, 0), trained(0, 0))[activation] == (50, 0, -50)
    assert compared(trained(50, 0), trained(0, 100))[activation] == (50, None, None)
    assert activation not in compared(trained(0, 0), trained(0, 0))
    without = compared(trained(50, 0), trained(50, 0, address=None))
    assert (without["peak_allocated"], without[activation]) == ((70, 70, 0), (50, None, None))


def test_the_figures_are_those_of_the_memory_view() -> None:
    trace = stepped(50, 70)
    peaks = memory(trace, Selection()).tables["memory_peaks"].frame
    found = compared(trace, trace)
    (peak,) = peaks["peak_allocated_bytes"]
    assert found["peak_allocated"] == (peak, peak, 0)
    assert all(delta == 0 for *_, delta in found.values())


def test_no_row_without_memory() -> None:
    bare = t.trace([t.step(0, 0, 90), t.op("aten::mm", 1, 9)])
    assert compared(bare, bare) == {}
