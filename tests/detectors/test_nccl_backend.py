"""DistributedDataParallel without NCCL."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, device, finding, one_step
from tests.helpers.traces import annotation, kernel, op
from torch_tb_profiler.detectors.nccl_backend import detect

DDP = op("DistributedDataParallel.forward", 0, 100)
GLOO = annotation("gloo:all_reduce", 10, 10)


def test_gloo_on_gpus_that_have_nccl_is_advised() -> None:
    advice = finding(detect(context(one_step([DDP, GLOO], deviceProperties=[device()]))))
    assert advice.measured == pytest.approx(8.0)
    assert list(advice.rows) == [{"backend": "gloo"}]


@pytest.mark.parametrize("capability", ["3.5", "10.0"])
def test_capabilities_compare_as_numbers(capability: str) -> None:
    gpus = [device(capability=capability, name="GPU")]
    assert detect(context(one_step([DDP, GLOO], deviceProperties=gpus))) is not None


@pytest.mark.parametrize(
    ("backend", "speaks"), [("gloo", True), ("cpu:gloo,cuda:nccl", False), ("nccl", False)]
)
def test_the_backend_that_the_job_declares_counts(backend: str, speaks: bool) -> None:
    job = {"backend": backend, "rank": 0, "world_size": 2}
    of = one_step([DDP, GLOO], deviceProperties=[device()], distributedInfo=job)
    assert (detect(context(of)) is not None) is speaks


@pytest.mark.parametrize(
    "events",
    [
        [GLOO],
        [DDP],  # nothing tells what it communicates with
        [DDP, annotation("nccl:all_reduce", 10, 10)],
        [DDP, kernel("ncclDevKernel_AllReduce(x)", 10, 10)],
    ],
)
def test_no_ddp_or_nccl_in_use_is_not(events: list[dict[str, object]]) -> None:
    assert detect(context(one_step(events, deviceProperties=[device()]))) is None


def test_old_or_no_gpus_are_not() -> None:
    old = [device(name="GPU", capability="3.0")]
    assert detect(context(one_step([DDP, GLOO], deviceProperties=old))) is None
    assert detect(context(one_step([DDP, GLOO]))) is None
