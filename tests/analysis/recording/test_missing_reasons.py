"""Why a recording lacks something."""

from __future__ import annotations

import pytest

from tests.helpers.recorded import recorded
from tests.helpers.traces import op
from torch_tb_profiler.analysis.recording.missing_reasons import recorder, why

NOTHING = "The recording holds no shapes."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.profiler", "The recording holds no shapes (record_shapes=True records them)."),
        (None, NOTHING),
        ("rocprofv3", NOTHING),
    ],
)
def test_the_option_of_the_recorder_follows(name: str | None, text: str) -> None:
    assert why(recorded([op("a", 0, 1)], recorder=name), "input_shapes", NOTHING) == text


def test_a_part_of_a_sentence_stays_one() -> None:
    trace = recorded([op("a", 0, 1)])
    assert why(trace, "input_shapes", "no shapes") == "no shapes (record_shapes=True records them)"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("needs Level1", "Needs Level1."),
        (".pftrace does not keep it.", ".pftrace does not keep it."),
        ("OSRT_API is absent", "OSRT_API is absent."),
    ],
)
def test_its_own_reason_goes_first(reason: str, text: str) -> None:
    trace = recorded([op("a", 0, 1)], not_recorded={"input_shapes": reason})
    assert why(trace, "input_shapes", NOTHING) == text
    assert recorder(trace).name == "torch.profiler"


def test_what_was_recorded_of_others_needs_no_option() -> None:
    trace = recorded([op("a", 0, 1), op("b", 2, 1, shape=[[2, 3]])])
    assert why(trace, "input_shapes", NOTHING) == NOTHING
    assert "record_shapes=True" in why(trace, "input_types", NOTHING)
    assert "with_stack=True" in why(trace, "call_stacks", NOTHING)
    stacked = recorded([op("a", 0, 1, stack="f.py(1): f")])
    assert why(stacked, "call_stacks", NOTHING) == NOTHING
