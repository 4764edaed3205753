"""When others communicate, against every device's own times at every moment."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.traces import kernel, trace
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.idle.communication_of_others import while_others_communicate

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"


@pytest.mark.parametrize("seed", range(20))
def test_others_are_all_but_one(seed: int) -> None:
    choice = np.random.default_rng(seed)
    devices = int(choice.integers(1, 5))
    runs = np.zeros((devices, 200), np.bool_)
    events = [kernel("gemm", 0, 0.2, device=device, stream=9) for device in range(devices)]
    for _ in range(choice.integers(0, 12)):
        device, start, length = choice.integers(0, [devices, 150, 40])
        runs[device, start : start + length] = True
        events.append(
            kernel(NCCL, start / 1000, length / 1000, device=int(device), stream=int(start))
        )
    built = trace(events)
    time = Intervals(np.array([3, 90]), np.array([60, 170]))
    for device in range(devices):
        meanwhile = while_others_communicate(built, device, time)
        covered = np.zeros(200, np.bool_)
        for start, end in zip(meanwhile.start_ns, meanwhile.end_ns, strict=True):
            covered[start:end] = True
        inside = np.zeros(200, np.bool_)
        inside[3:60] = inside[90:170] = True
        others = np.delete(runs, device, axis=0).sum(axis=0) > 0
        assert covered.tolist() == (others & inside).tolist(), device
