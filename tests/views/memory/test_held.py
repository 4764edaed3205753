"""What is held over passes and grows with them, by hand; notes on what fills the peak."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.memory.view import memory
from torch_tb_profiler.views.schema import View

MIB = 1 << 20


def leaking(passes: int, kept: int = MIB, *, released: bool = False) -> Trace:
    """Forward passes that each keep a block of ``kept`` bytes, or release it two passes later."""
    events: list[t.Event] = []
    total = 10 * MIB
    for number in range(passes):
        at = 100 * number
        events.append(t.annotation("forward", at, 50))
        events.append(t.op("aten::mm", at + 1, 40))
        total += kept
        events.append(t.memory(at + 2, kept, address=number, allocated=total, reserved=40 * MIB))
        if released and number >= 2:
            total -= kept
            gone = t.memory(at + 60, -kept, address=number - 2, allocated=total, reserved=40 * MIB)
            events.append(gone)
    return t.trace(events)


def shown(trace: Trace, **selection: Any) -> View:
    return memory(trace, Selection(**selection))


def facts(view: View) -> dict[str, Any]:
    return {fact.key: fact.value for fact in view.facts}


def test_what_every_pass_keeps_grows() -> None:
    view = shown(leaking(6))
    (row,) = view.tables["held"].frame.rows(named=True)
    # Those of the last two passes have not outlived two others yet.
    assert row == {
        "device": "GPU 0",
        "name": "aten::mm",
        "module": "<no module>",
        "category": "unknown",
        "blocks": 4,
        "size_bytes": 4 * MIB,
        "unreleased_blocks": 4,
        "made_in_passes": 4,
        "held_passes": (5 + 4 + 3 + 2) / 4,
        "grows": True,
        "growth_per_pass_bytes": 4 * MIB / 6,
    }
    assert facts(view)["growth_per_pass_bytes"] == MIB
    (note,) = (note for note in view.notes if note.code == "memory_growth")
    assert note.severity == "warning"
    assert note.evidence == {"device": "GPU 0", "grown_bytes": 4 * MIB, "passes": 5}


def test_what_is_released_after_two_passes_is_held_but_does_not_grow() -> None:
    view = shown(leaking(8, released=True))
    (row,) = view.tables["held"].frame.rows(named=True)
    assert (row["blocks"], row["grows"], row["growth_per_pass_bytes"]) == (6, False, 0.0)
    assert row["unreleased_blocks"] == 0
    assert not [note for note in view.notes if note.code == "memory_growth"]


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_few_passes_tell_no_growth(passes: int) -> None:
    view = shown(leaking(passes))
    (fact,) = (fact for fact in view.facts if fact.key == "growth_per_pass_bytes")
    assert fact.value is None
    assert fact.reason is not None


def test_growth_that_is_next_to_nothing_is_no_leak() -> None:
    assert not [n for n in shown(leaking(6, kept=512)).notes if n.code == "memory_growth"]


def test_the_largest_part_and_fragmentation_are_named_with_figures() -> None:
    view = shown(leaking(6))
    texts = {note.code: note.text for note in view.notes if note.kind == "advice"}
    assert "62.5 % of the peak is memory from before the recording" in texts["largest_at_peak"]
    assert "10.0 MiB" in texts["largest_at_peak"]
    # 40 MiB are reserved, 16 MiB allocated at most.
    assert "24.0 MiB of 40.0 MiB reserved memory (60.0 %)" in texts["memory_fragmentation"]
    (line,) = view.series["memory_fragmentation"].lines
    assert line.y == [float((40 - 10 - n) * MIB) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("name", "usually"),
    [
        ("autograd::engine::evaluate_function: AddmmBackward0", "optimizer state"),
        ("Optimizer.step#SGD.step", "optimizer state"),
        ("vllm::unified_attention", "key-value cache"),
        ("execute_context_0(0)_generation_8(8)", "key-value cache"),
        ("aten::mm", "parameters and caches"),
    ],
)
def test_memory_from_before_is_what_such_a_program_has(name: str, usually: str) -> None:
    """A server has no optimizer."""
    trace = t.trace([t.op(name, 0, 50), t.memory(10, MIB, address=1, allocated=10 * MIB)])
    (note,) = (note for note in shown(trace).notes if note.code == "largest_at_peak")
    assert "memory from before the recording" in note.text
    assert usually in note.text


def test_small_peaks_are_not_spoken_of() -> None:
    trace = t.trace([t.op("aten::mm", 0, 9), t.memory(1, 64, address=1, allocated=64)])
    assert [note for note in shown(trace).notes if note.kind == "advice"] == []
