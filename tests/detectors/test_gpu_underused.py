"""GPUs that compute far less than the others, or nothing."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, device, finding, one_step
from tests.helpers.traces import Event, annotation, kernel, op, step, trace
from torch_tb_profiler.detectors.gpu_imbalance import detect as of_busiest
from torch_tb_profiler.detectors.gpu_underused import detect, detect_across_workers
from torch_tb_profiler.evidence.context import Context

BACKWARD = op("AddmmBackward0", 0, 10)


def busy(*times: float) -> list[Event]:
    return [kernel("k", 10, dur, device=number) for number, dur in enumerate(times)]


def test_one_of_many_hardly_lifts_the_others_over_the_mean() -> None:
    of = context(one_step(busy(*(7 * [800]), 240)))
    assert of_busiest(of) is None
    advice = finding(detect(of))
    assert advice.measured == pytest.approx(30)
    assert advice.text.startswith("GPU 7 computes 30 %")
    assert advice.rows[0] == {"gpu": "GPU 7", "compute_us_per_step": 240.0}
    assert advice.gain_us is None


@pytest.mark.parametrize(("least", "speaks"), [(399, True), (400, False)])
def test_the_threshold(least: float, speaks: bool) -> None:
    result = detect(context(one_step(busy(*(7 * [800]), least))))
    assert (result is not None) is speaks


def test_where_the_busiest_stands_out_that_finding_names_the_least_too() -> None:
    of = context(one_step(busy(800, 200)))
    assert detect(of) is None
    assert "the least busy (GPU 1) 60 % shorter" in finding(of_busiest(of)).text


def test_a_training_in_one_process_that_leaves_gpus_unused() -> None:
    devices = [device(number) for number in range(4)]
    advice = finding(detect(context(one_step([BACKWARD, *busy(500)], deviceProperties=devices))))
    assert advice.text.startswith("3 of 4 visible GPUs")
    assert advice.measured == 0


def test_inference_and_one_of_several_processes_need_no_more_than_one() -> None:
    devices = [device(number) for number in range(4)]
    assert detect(context(one_step(busy(500), deviceProperties=devices))) is None
    job = {"backend": "nccl", "rank": 0, "world_size": 4}
    events = [BACKWARD, *busy(500)]
    of = one_step(events, deviceProperties=devices, distributedInfo=job)
    assert detect(context(of)) is None
    unsized = [*events, annotation("DistributedDataParallel.forward", 20, 9)]
    of = one_step(unsized, deviceProperties=devices, distributedInfo={"backend": "nccl"})
    assert detect(context(of)) is None


@pytest.mark.parametrize(
    "events",
    [
        [BACKWARD, kernel("k", 10, 500, device=3)],
        [BACKWARD, *busy(500), annotation("DistributedDataParallel.forward", 20, 9)],
        [BACKWARD, *busy(500), annotation("FSDP::pre_forward (0)", 20, 9)],
        [BACKWARD, *busy(500), op("torch.distributed.ddp.reducer::copy_bucket_to_grad", 20, 9)],
        [BACKWARD, *busy(500), annotation("nccl:all_reduce", 20, 9)],
        [BACKWARD, *busy(500), kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 600, 9)],
    ],
    ids=["another GPU was chosen", "DDP", "FSDP", "reducer of DDP", "range", "kernel"],
)
def test_a_rank_that_only_accumulates_leaves_the_others_to_other_ranks(events: list[Event]) -> None:
    devices = [device(number) for number in range(8)]
    assert detect(context(one_step(events, deviceProperties=devices))) is None


def test_workers_of_a_run_are_compared() -> None:
    def worker(dur: float) -> Context:
        return context(trace([step(1, 0, 1000), kernel("k", 10, dur)]))

    run = {f"rank{number}": worker(800) for number in range(7)}
    assert detect_across_workers(run) is None
    advice = finding(detect_across_workers({**run, "rank7": worker(240)}))
    assert advice.text.startswith("rank7 GPU 0 computes 30 %")
    assert advice.spot is not None
    assert advice.spot.worker == "rank7"
