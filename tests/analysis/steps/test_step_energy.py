"""Energy of steps, tokens and samples of a constant and of a changing power."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded, side_table
from tests.helpers.traces import annotation, kernel, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.step_energy import (
    energy_per_sample,
    energy_per_token,
    energy_per_window,
    step_energy,
)
from torch_tb_profiler.trace.model import Trace

US = 1000
WORK = [op("aten::mm", 0, 10), kernel("k", 0, 5), kernel("k", 0, 5, device=1)]


def power(device: int, watts: float, until: int, every: int = 100) -> list[Sample]:
    return [Sample(f"GPU {device}", "power", "W", at, watts) for at in range(0, until + 1, every)]


def test_devices_that_ran_work_add_up_and_others_do_not_count() -> None:
    trace = recorded(WORK, samples=power(0, 300, 1000) + power(1, 200, 1000) + power(7, 900, 1000))
    energy = step_energy(trace, np.array([0, 500]) * US, np.array([500, 1000]) * US)
    assert energy is not None
    assert energy.joules.tolist() == pytest.approx([500 * 500e-6] * 2)
    assert energy.error_joules.tolist() == [0, 0]


def test_steps_that_samples_do_not_cover_have_no_energy() -> None:
    trace = recorded(WORK, samples=power(0, 300, 1000) + power(1, 200, 1800))
    start, end = np.array([0, 900, 950]) * US, np.array([1000, 1010, 2000]) * US
    energy = step_energy(trace, start, end)
    assert energy is not None
    assert energy.joules[:2].tolist() == pytest.approx([500 * 1e-3, 300 * 100e-6 + 200 * 110e-6])
    assert np.isnan(energy.joules[2])
    assert energy.covered_pct.tolist() == pytest.approx([100, 100 * 100 / 110, 100 * 50 / 1050])
    mean = energy_per_window(trace, start[[0, 2]], end[[0, 2]])
    assert mean is not None
    assert mean.joules == pytest.approx(0.5)
    assert mean.count == 1


def test_without_power_there_is_none() -> None:
    trace = recorded(WORK)
    assert step_energy(trace, np.array([0]), np.array([1])) is None
    assert energy_per_window(trace, np.array([0]), np.array([1])) is None
    assert energy_per_sample(trace) is None
    assert energy_per_token(trace, Selection()) is None


def served() -> Trace:
    """Two iterations of vLLM's scheduler: 100 prompt tokens, then 4 tokens."""
    names = ("execute_context_2(100)_generation_0(0)", "execute_context_0(0)_generation_4(4)")
    events = [annotation(name, at, 200) for name, at in zip(names, (100, 700), strict=True)]
    events += [kernel("k", 100, 50), kernel("k", 0, 5, device=1)]
    return recorded(events, samples=power(0, 300, 1000) + power(1, 200, 1000))


def test_energy_per_token_is_that_from_the_first_to_the_last_window() -> None:
    energy = energy_per_token(served(), Selection())
    assert energy is not None
    assert energy.joules == pytest.approx(500 * 800e-6 / 104)
    assert energy.count == 104


def test_energy_per_sample_is_that_of_timed_steps() -> None:
    steps = [
        {"phase": "train", "step": number, "start_us": at, "duration_us": 400.0, "samples": 8}
        for number, at in enumerate((0.0, 400.0, 800.0))
    ]
    trace = recorded(
        WORK, samples=power(0, 300, 1000) + power(1, 200, 1000),
        side=[side_table("timed_steps", "journal", steps)],
    )  # fmt: skip
    energy = energy_per_sample(trace)
    assert energy is not None
    assert energy.joules == pytest.approx(500 * 400e-6 / 8)
    assert energy.count == 16
