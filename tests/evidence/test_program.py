"""Whether a program trains, and whether it is compiled."""

from __future__ import annotations

import pytest

from tests.helpers.traces import annotation, kernel, op, trace
from torch_tb_profiler.evidence.program import is_compiled, is_training


@pytest.mark.parametrize(
    "event",
    [
        op("autograd::engine::evaluate_function: MulBackward0", 0, 1),
        op("ConvolutionBackward0", 0, 1),
        annotation("Optimizer.step#AdamW.step", 0, 1),
        kernel("void cudnn::ops::dgrad2d_alg1_1<float>", 0, 1),
        kernel("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64>", 0, 1),
        kernel("void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>", 0, 1),
    ],
)
def test_what_only_training_has(event: dict[str, object]) -> None:
    assert is_training(trace([event]))


def test_inference_does_not_train() -> None:
    events = [
        op("aten::mm", 0, 1),
        op("_vllm_fa3_C::fwd", 2, 1),
        kernel("void flash::flash_fwd_splitkv_kernel<64>", 0, 1),
        kernel("void vllm::paged_attention_v1_kernel<float>", 2, 1),
    ]
    assert not is_training(trace(events))
    assert not is_compiled(trace(events))


@pytest.mark.parametrize(
    "event",
    [
        kernel("triton_poi_fused_add_0", 0, 1),
        op("Torch-Compiled Region: 0/0", 0, 1),
        op("CompiledFunction", 0, 1),
        op("## Call CompiledFxGraph fabc ##", 0, 1),
    ],
)
def test_what_torch_compile_leaves(event: dict[str, object]) -> None:
    assert is_compiled(trace([event]))


def test_a_triton_kernel_of_a_library_is_not_compiled() -> None:
    assert not is_compiled(trace([kernel("triton_mm", 0, 1), kernel("_rms_norm_kernel", 2, 1)]))
