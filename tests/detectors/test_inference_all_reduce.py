"""All-reduces of the ranks that share a model."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import Event, op
from torch_tb_profiler.detectors.inference_all_reduce import detect
from torch_tb_profiler.evidence.context import Context

CUSTOM = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"
SYMMETRIC = "void c10d::multimem_all_reduce_kernel<float, 16>"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
OTHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def decode(name: str, count: int = 16, *more: Event, us: float = 15) -> Context:
    """Layers of a product and what reduces it, in a step of 1000 µs."""
    events: list[Event] = []
    for layer in range(count):
        at = 60 * layer + 2
        events += launched("gemm", at, 30, 2 * layer + 1, launch_at=0)
        events += launched(name, at + 32, us, 2 * layer + 2, launch_at=1)
    return context(one_step([*events, *more]))


@pytest.mark.parametrize(
    ("name", "variant"), [(CUSTOM, "custom"), (SYMMETRIC, "custom"), (NCCL, "default")]
)
def test_their_share_of_a_step_is_reported(name: str, variant: str) -> None:
    of = decode(name, 16, op("aten::mm", 0, 3))
    advice = finding(detect(of))
    assert advice.measured == pytest.approx(24.0)
    assert (advice.variant, advice.gain_us, advice.at_stake_us) == (variant, None, 240)
    (row,) = advice.rows
    assert (row["kernel"], row["calls_per_step"], row["total_us"]) == (name, 16, 240)
    assert (row["shortest_us"], row["median_us"], row["longest_us"]) == (15, 15, 15)
    text = advice.note().text
    assert "(16 per step, 15.0 to 15.0 µs, median 15.0 µs)" in text
    assert "gradient" not in text
    assert "batch" not in text
    codes = notes_of(of.trace)
    assert "inference_all_reduce" in codes
    assert not codes.keys() & {"exposed_communication", "communication_share"}


@pytest.mark.parametrize(
    "of",
    [
        decode(CUSTOM, 16, op("AddmmBackward0", 990, 1)),  # training
        decode(CUSTOM, 4),  # no sharded model
        decode(CUSTOM, us=5),  # too little
        decode(OTHER),  # nothing is reduced
        decode("some_kernel"),  # nobody knows that it reduces
        decode(NCCL),  # no operators: these may be gradients
    ],
)
def test_otherwise_there_is_no_finding(of: Context) -> None:
    assert detect(of) is None


def test_without_operators_custom_kernels_mean_inference_and_others_may_be_gradients() -> None:
    assert finding(detect(decode(CUSTOM))).variant == "custom"
    codes = notes_of(decode(NCCL).trace)
    assert "exposed_communication" in codes
    assert "inference_all_reduce" not in codes
