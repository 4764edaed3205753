"""What records traces, and how it is told to record more."""

from __future__ import annotations

from typing import get_args

from torch_tb_profiler.analysis.recording.missing_reasons import AnyCapability
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.recorders import (
    TORCH_PROFILER,
    UNKNOWN,
    RecorderFile,
    recorder_named,
    recorders,
)
from torch_tb_profiler.trace.info import CAPABILITIES


def test_what_recorders_record_is_what_recordings_may_lack() -> None:
    own = {each for part in get_args(AnyCapability) for each in get_args(part) or (part,)}
    for recorder in recorders().values():
        assert set(recorder.records) <= own
        assert not any(phrase.endswith(".") for phrase in recorder.records.values())
    assert own >= set(CAPABILITIES)


def test_each_recorder_has_one_entry() -> None:
    file = load("recorders.toml", RecorderFile)
    assert [each.name for each in file.recorders] == list(recorders())


def test_names() -> None:
    assert recorder_named(TORCH_PROFILER).framework == "PyTorch"
    assert recorder_named("Nsight Systems").framework is None
    assert recorder_named(None) is UNKNOWN
    assert recorder_named("something new") is UNKNOWN
