"""Python's garbage collector. Names as torch 2.14 records them (record_python_gc_info)."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, frame
from torch_tb_profiler.detectors.garbage_collection import detect
from torch_tb_profiler.evidence.needs import NEEDS, unmet_need

TRAIN = frame("train.py(7): step", 0, 900, python_id=1)


def collected(ts: float, dur: float) -> Event:
    return frame("Python GC", ts, dur, python_id=int(ts), parent=1)


def test_collections_are_reported_with_their_function() -> None:
    events = [TRAIN, collected(100, 20), collected(300, 60)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(8)
    assert advice.gain_us == pytest.approx(80)
    assert "gc.freeze" in advice.text
    assert advice.rows == [
        {"function": "train.py(7): step", "calls": 2, "total_us": 80.0, "longest_us": 60.0}
    ]


def test_a_step_is_no_function() -> None:
    alone = [frame("Python GC", ts, 20, python_id=ts) for ts in (100, 300)]
    (row,) = finding(detect(context(one_step(alone)))).rows
    assert (row["function"], row["calls"]) == (None, 2)


@pytest.mark.parametrize(("dur", "speaks"), [(10, False), (11, True)])
def test_the_threshold(dur: float, speaks: bool) -> None:
    assert (detect(context(one_step([TRAIN, collected(100, dur)]))) is not None) is speaks


def test_what_the_program_asks_for_counts_once_and_has_another_remedy() -> None:
    requested = frame("<built-in function collect>", 100, 50, python_id=2, parent=1)
    advice = finding(detect(context(one_step([TRAIN, requested, collected(101, 40)]))))
    assert advice.variant == "asked"
    assert advice.gain_us == pytest.approx(50)


def test_while_a_device_works_nothing_is_lost() -> None:
    events = [TRAIN, collected(100, 220), *launched("k", 50, 240, 1)]
    assert finding(detect(context(one_step(events)))).gain_us == pytest.approx(30)


def test_without_python_functions_it_is_inconclusive() -> None:
    need = NEEDS["python_frames"]
    assert need.is_met(context(one_step([TRAIN])))
    assert not need.is_met(context(one_step(launched("k", 50, 240, 1))))
    assert "record_python_gc_info" in str(
        unmet_need(context(one_step(launched("k", 50, 240, 1))), ("python_frames",))
    )
