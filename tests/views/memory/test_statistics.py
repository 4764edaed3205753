"""What operators allocate and keep, and what the peak is made of."""

from __future__ import annotations

import pytest

from tests.helpers import traces as t
from tests.views.memory.test_view import UNKNOWN, statistics
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.memory.view import memory


def test_a_bare_empty_is_shown_with_what_called_it() -> None:
    events = [
        t.step(1, 0, 100),
        t.frame("train.py(7): build", 5, 50, python_id=1),
        t.frame("<built-in method empty of type object at 0x7f00>", 6, 10, python_id=2, parent=1),
        t.op("aten::empty", 8, 4),
        t.op("aten::zeros", 20, 20),
        t.op("aten::empty", 22, 4),
        t.op("aten::empty_strided", 70, 5),
        t.memory(9, 8, address=1),
        t.memory(23, 16, address=2),
        t.memory(71, 32, address=3),
    ]
    frame = memory(t.trace(events), Selection()).tables["memory_events"].frame
    assert dict(frame.select("size_bytes", "name").rows()) == {
        8: "train.py(7): build (aten::empty)",
        16: "aten::zeros (aten::empty)",
        32: "ProfilerStep#1 (aten::empty_strided)",
    }


def test_the_composition_of_the_peak_adds_up() -> None:
    events = [
        t.frame("nn.Module: Net_0", 0, 90, python_id=1, module=0),
        t.op("aten::mm", 10, 20),
        t.op("aten::add", 40, 20),
        t.memory(11, 300, address=1, allocated=1300, reserved=2000),
        t.memory(12, 100, address=2, allocated=1400, reserved=2000),
        t.memory(20, -100, address=2, allocated=1300, reserved=2000),
        t.memory(41, 500, address=3, allocated=1800, reserved=2000),
        t.memory(50, -300, address=1, allocated=1500, reserved=2000),
    ]
    frame = memory(t.trace(events), Selection()).tables["peak_composition"].frame
    columns = ("grouping", "name", "size_bytes", "allocation_count")
    assert frame.select(columns).rows() == [
        ("operator", "<allocated before the recording>", 1000, None),
        ("operator", "aten::add", 500, 1),
        ("operator", "aten::mm", 300, 1),
        ("module", "<allocated before the recording>", 1000, None),
        ("module", "Net_0", 800, 2),
    ]
    assert frame["share_pct"].to_list()[1] == pytest.approx(100 * 500 / 1800)


def test_blocks_whose_release_is_missing_are_said_where_the_peak_is_exceeded() -> None:
    events = [
        t.op("aten::mm", 0, 100),
        t.memory(10, 300, address=1, allocated=300, reserved=512),
        t.memory(50, 400, address=2, allocated=400, reserved=512),
    ]
    notes = {note.code: note for note in memory(t.trace(events), Selection()).notes}
    assert notes["peak_composition_excess"].evidence == {"device": "GPU 0", "excess_bytes": 300}


def test_memory_of_a_collapsed_double_counts_once() -> None:
    events = [
        t.op("aten::to", 0, 100),
        t.op("aten::to", 10, 50),
        t.memory(20, 64, address=1),
    ]
    view = memory(t.trace(events), Selection())
    assert statistics(view, "GPU 0") == {"aten::to": [64, 64, 1, 64, 64, 1, 1]}


def test_what_is_kept_is_what_is_alive_not_what_others_release() -> None:
    """``aten::mm`` allocates 9 blocks that are released outside of every operator."""
    events = [t.op("aten::mm", 10 * n, 5) for n in range(9)]
    for n in range(9):
        events.append(t.memory(10 * n + 1, 1000, address=n, allocated=1000))
        if n < 8:
            events.append(t.memory(10 * n + 7, -1000, address=n, allocated=0))
    table = memory(t.trace(events), Selection()).tables["memory_stats"]
    columns = ("name", "self_size_increase_bytes", "alive_bytes", "calls")
    assert table.frame.select(columns).rows() == [
        ("aten::mm", 9000, 1000, 9),
        (UNKNOWN, -8000, 0, None),
    ]
    assert "outside operators" in table.null_reasons["calls"]


def test_recursion_counts_once() -> None:
    events = [
        t.op("aten::mm", 0, 100),
        t.op("aten::to", 10, 50),
        t.op("aten::mm", 20, 20),
        t.memory(25, 64, address=1),
    ]
    assert statistics(memory(t.trace(events), Selection()), "GPU 0") == {
        "aten::mm": [64, 64, 1, 64, 64, 1, 2],
        "aten::to": [0, 0, 0, 64, 64, 1, 1],
    }


def test_without_addresses_nothing_tells_what_is_alive() -> None:
    table = memory(t.trace([t.op("aten::a", 0, 9), t.memory(5, 8)]), Selection()).tables[
        "memory_stats"
    ]
    assert table.frame["alive_bytes"].to_list() == [None]
    assert table.null_reasons["alive_bytes"]
