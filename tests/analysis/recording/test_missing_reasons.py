"""Why a recording lacks something."""

from __future__ import annotations

import pytest

from tests.helpers.recorded import recorded
from tests.helpers.traces import call, kernel, op, trace
from torch_tb_profiler.analysis.recording.missing_reasons import (
    NO_DEVICE_WORK,
    NO_LAUNCHES,
    missing_reason,
    no_device_time,
    recorder,
)

NOTHING = "The recording holds no shapes."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.profiler", "The recording holds no shapes (record_shapes=True records them)."),
        (None, NOTHING),
        ("a recorder of tomorrow", NOTHING),
    ],
)
def test_the_option_of_the_recorder_follows(name: str | None, text: str) -> None:
    assert missing_reason(recorded([op("a", 0, 1)], recorder=name), "input_shapes", NOTHING) == text


def test_a_part_of_a_sentence_stays_one() -> None:
    recording = recorded([op("a", 0, 1)])
    assert (
        missing_reason(recording, "input_shapes", "no shapes")
        == "no shapes (record_shapes=True records them)"
    )


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("needs Level1", "Needs Level1."),
        (".pftrace does not keep it.", ".pftrace does not keep it."),
        ("OSRT_API is absent", "OSRT_API is absent."),
    ],
)
def test_the_reason_of_the_recording_goes_first(reason: str, text: str) -> None:
    recording = recorded([op("a", 0, 1)], not_recorded={"input_shapes": reason})
    assert missing_reason(recording, "input_shapes", NOTHING) == text
    assert recorder(recording).name == "torch.profiler"


def test_no_option_where_other_events_have_it() -> None:
    recording = recorded([op("a", 0, 1), op("b", 2, 1, shape=[[2, 3]])])
    assert missing_reason(recording, "input_shapes", NOTHING) == NOTHING
    assert "record_shapes=True" in missing_reason(recording, "input_types", NOTHING)
    assert "with_stack=True" in missing_reason(recording, "call_stacks", NOTHING)
    stacked = recorded([op("a", 0, 1, stack="f.py(1): f")])
    assert missing_reason(stacked, "call_stacks", NOTHING) == NOTHING


def test_no_device_time_without_linked_work() -> None:
    launch = [op("aten::mm", 0, 10), call("cudaLaunchKernel", 1, 1, corr=1)]
    assert no_device_time(trace(launch)) == NO_DEVICE_WORK
    assert no_device_time(trace([op("aten::mm", 0, 10), kernel("k", 5, 5)])) == NO_LAUNCHES
    assert no_device_time(trace([*launch, kernel("k", 5, 5, corr=1)])) is None
