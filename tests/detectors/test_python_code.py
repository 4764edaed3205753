"""Python that runs no operator while no device works."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import annotation, frame, op
from torch_tb_profiler.detectors.python_code import detect
from torch_tb_profiler.detectors.unrecorded_host import detect as unrecorded

BEFORE = [*launched("k", 10, 50, 1), op("aten::mm", 5, 20)]
AFTER = launched("k", 9000, 100, 2)


def test_the_function_that_spans_the_time_is_named() -> None:
    stack = [
        frame("train.py(1): main", 0, 9100, python_id=1),
        frame("metrics.py(7): score", 100, 8800, python_id=2, parent=1),
        frame("<built-in method sleep>", 200, 900, python_id=3, parent=2),
    ]
    seen = context(one_step([*BEFORE, *stack, *AFTER], length=9100))
    advice = finding(detect(seen))
    assert advice.values["function"] == "metrics.py(7): score"
    assert advice.gain_us == pytest.approx(9000 - 60 - 2, abs=2)
    assert advice.spot is not None
    assert unrecorded(seen) is None


def test_user_ranges_name_it_too() -> None:
    events = [*BEFORE, annotation("## checkpoint ##", 70, 8900), *AFTER]
    advice = finding(detect(context(one_step(events, length=9100))))
    assert advice.values["function"] == "## checkpoint ##"


def test_operators_inside_and_busy_devices_are_not() -> None:
    stack = frame("train.py(1): main", 0, 9100, python_id=1)
    operators = [op("aten::add", 70 + 500 * n, 400) for n in range(18)]
    assert detect(context(one_step([*BEFORE, stack, *operators, *AFTER], length=9100))) is None
    busy = launched("k", 70, 8900, 3, launch_at=50)
    assert detect(context(one_step([*BEFORE, stack, *busy, *AFTER], length=9100))) is None


def test_without_frames_it_is_not_recorded_what_the_host_does() -> None:
    seen = context(one_step([*BEFORE, *AFTER], length=9100))
    assert detect(seen) is None
    advice = finding(unrecorded(seen))
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(9000 - 60 - 2, abs=3)
    assert "with_stack=True" in advice.note().text


def test_without_launches_neither_is_reported() -> None:
    events = [event for event in (*BEFORE, *AFTER) if event["cat"] != "cuda_runtime"]
    seen = context(one_step([*events], length=9100))
    assert detect(seen) is None
    assert unrecorded(seen) is None


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("<built-in method acquire of _thread.lock object at 0x7f11>", True),
        ("<method 'poll' of 'select.epoll' objects>", True),
        ("<built-in function sleep>", True),
        ("/usr/lib/python3.12/threading.py(355): wait", True),
        ("multiprocessing/connection.py(390): _recv", True),
        ("metrics.py(7): wait_less", False),
        ("scheduler.py(12): getter", False),
        ("<built-in method select_rows of Table object at 0x7f11>", False),
        ("<method 'get' of 'dict' objects>", False),
        ("<method 'join' of 'str' objects>", False),
        ("<method 'read' of '_io.BufferedReader' objects>", False),
    ],
)
def test_python_that_waits_is_no_code_to_move(name: str, waits: bool) -> None:
    stack = frame(name, 100, 8800, python_id=2)
    advice = finding(detect(context(one_step([*BEFORE, stack, *AFTER], length=9100))))
    assert advice.variant == ("waits" if waits else "default")
    assert (advice.gain_us is None) is waits
    assert advice.at_stake_us == pytest.approx(8800)
