"""DataParallel on several GPUs."""

from __future__ import annotations

from tests.detectors.scenes import context, finding, one_step
from tests.helpers.traces import Event, kernel, op
from torch_tb_profiler.detectors.data_parallel import detect

FORWARD = op("DataParallel.forward", 0, 100)


def kernels(*devices: int) -> list[Event]:
    return [kernel("k", 10, 10, device=number) for number in devices]


def test_data_parallel_on_two_gpus_is_advised() -> None:
    advice = finding(detect(context(one_step([FORWARD, *kernels(0, 1)]))))
    assert advice.measured == 2
    assert advice.gain_us is None


def test_one_gpu_or_another_wrapper_is_not() -> None:
    assert detect(context(one_step([FORWARD, *kernels(0)]))) is None
    ddp = op("DistributedDataParallel.forward", 0, 100)
    assert detect(context(one_step([ddp, *kernels(0, 1)]))) is None
