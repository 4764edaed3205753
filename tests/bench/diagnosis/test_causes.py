"""The causes of the measurement of accuracy, and what they do to a program."""

from __future__ import annotations

from random import Random

import pytest

from bench.diagnosis import bases
from bench.diagnosis.causes import causes, neutral
from bench.diagnosis.devices import on_several_devices
from bench.diagnosis.editing import copied, places
from bench.diagnosis.programs import program, random_shape
from bench.diagnosis.replay import length, replay
from bench.diagnosis.writing import events
from torch_tb_profiler.detectors import detector_codes
from torch_tb_profiler.evidence import where_time_goes


def test_every_finding_of_the_file_has_a_detector() -> None:
    named = set(neutral())
    for cause in causes().values():
        assert cause.first, cause.name
        named |= cause.accepted
    assert named <= {*detector_codes(), where_time_goes.CODE}


def test_a_copy_replays_alike_and_changes_nothing() -> None:
    recording = program(random_shape(Random(3), 2), Random(3))
    before = length(recording)
    again = copied(recording)
    assert length(again) == before
    for work in again[0].works:
        work.us *= 2
    assert length(recording) == before < length(again)


@pytest.mark.parametrize("name", list(causes()))
def test_a_cause_makes_a_program_longer_and_keeps_it_whole(name: str) -> None:
    cause = causes()[name]
    ranks = 3 if cause.kind in ("ranks", "overlap") else 1
    recording = program(random_shape(Random(5), ranks), Random(5))
    if cause.kind == "devices":
        recording = on_several_devices(recording, 2)
    before = length(recording)
    changed = copied(recording)
    cause.put(changed, Random(0.5), before / len(places(recording[0])))
    if cause.put_without is not None:
        cause.put_without(recording, Random(0.5), before / len(places(recording[0])))
    costs_time = cause.least_pct > 0
    assert (length(changed) > length(recording)) == costs_time
    for rank, times in zip(changed, replay(changed), strict=True):
        slices = [event for event in events(rank, times) if event["ph"] == "X"]
        assert all(event["dur"] >= 0 for event in slices)
        ids = [e["args"]["correlation"] for e in slices if e["cat"] in ("kernel", "gpu_memcpy")]
        assert len(ids) == len(set(ids))


def test_mended_recordings_keep_their_device_busy() -> None:
    base = bases.real(bases.SOURCES[2], Random(1))
    assert bases.busy_share(base.recording[0]) >= bases.BUSY
