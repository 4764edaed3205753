"""A GPU that is slower than the others of its run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analysis.kernels.test_durations import counted
from tests.detectors.scenes import ELEMENTWISE, TENSOR_CORE_GEMM, context, device, finding
from tests.helpers.traces import Event, kernel, step, trace
from torch_tb_profiler.detectors.slow_device import _medians_of_others, detect_across_workers
from torch_tb_profiler.evidence.context import Context

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"


def worker(
    compute: float = 1.0, memory: float = 1.0, *more: Event, first: int = 0, **gpu: Any
) -> Context:
    """Four products of 200 µs and elementwise kernels of 100 µs, by how much they take longer."""
    events: list[Event] = [step(1, 0, 5000), *more]
    for number in range(4):
        begin = 10 + 400 * number
        shape: dict[str, Any] = {"grid": [first + number // 2, 1, 1], "block": [128, 1, 1]}
        events.append(kernel(TENSOR_CORE_GEMM, begin, 200 * compute, **shape))
        events.append(kernel(ELEMENTWISE, begin + 250, 100 * memory, **shape))
    return context(trace(events, deviceProperties=[device(**gpu)]))


def run(slow: Context, count: int = 3) -> dict[str, Context]:
    return {**{f"rank{n}": worker() for n in range(count)}, "slow": slow}


def test_a_slow_gpu_is_named() -> None:
    advice = finding(detect_across_workers(run(worker(1.1, 1.1))))
    assert advice.measured == pytest.approx(10)
    assert advice.gain_us is None
    assert advice.variant == "default"
    assert advice.text.startswith("slow takes 10.0 % longer")
    assert advice.spot is not None
    assert advice.spot.worker == "slow"
    assert advice.rows[0] == {
        "kernel": TENSOR_CORE_GEMM,
        "calls": 2,
        "median_us": 220.0,
        "others_us": pytest.approx(200.0),
        "slower_pct": pytest.approx(10.0),
    }


def test_slow_kernels_distinguish_clock_and_memory() -> None:
    assert finding(detect_across_workers(run(worker(1.2, 1.01)))).variant == "compute"
    assert finding(detect_across_workers(run(worker(1.01, 1.5)))).variant == "memory"


@pytest.mark.parametrize(("factor", "speaks"), [(1.04, False), (1.06, True)])
def test_the_threshold(factor: float, speaks: bool) -> None:
    assert (detect_across_workers(run(worker(factor, factor))) is not None) is speaks


def test_some_slow_kernels_are_no_slow_gpu() -> None:
    assert detect_across_workers(run(worker(1.5, 0.99))) is None


def test_other_work_other_models_and_two_workers_are_not_compared() -> None:
    assert detect_across_workers(run(worker(1.1, 1.1, first=2))) is None
    assert (
        detect_across_workers(run(worker(1.1, 1.1, name="NVIDIA H100", capability="9.0"))) is None
    )
    assert detect_across_workers(run(worker(1.1, 1.1), count=1)) is None


def test_kernels_concurrent_with_communication_do_not_count() -> None:
    communication = kernel(NCCL, 0, 1700, stream=20)
    assert detect_across_workers(run(worker(1.1, 1.1, communication))) is None


def test_clocks_are_quoted_where_all_workers_recorded_them() -> None:
    def clocked(of: Context, mhz: float) -> Context:
        return Context(counted(of.trace, ("SM Clock (MHz)", mhz)), of.selection)

    workers = run(worker(1.1, 1.1))
    with_clocks = {
        name: clocked(each, 1200 if name == "slow" else 1980) for name, each in workers.items()
    }
    text = finding(detect_across_workers(with_clocks)).text
    assert "Its SM clock was 1,200 MHz, that of the others 1,980 MHz." in text
    text = finding(detect_across_workers({**workers, "slow": with_clocks["slow"]})).text
    assert "MHz" not in text


def test_each_worker_is_compared_with_the_others() -> None:
    """Of many workers too, and of equal medians."""
    chance = np.random.default_rng(3)
    for count in (3, 4, 9, 10):
        values = chance.integers(1, 6, (20, count)).astype(np.float64)
        others = [np.median(np.delete(values, row, axis=1), axis=1) for row in range(count)]
        assert (_medians_of_others(values) == np.stack(others, axis=1)).all()
