"""What the findings about kernels say of programs as they are run: training and inference.

Kernels bear names as real libraries give them; shares of the time are as such programs have them.
The host launches everything of a step, then waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.detectors.scenes import awaited, device, notes_of
from tests.helpers.traces import Event, annotation, call, kernel, memory, op, step, trace
from torch_tb_profiler.trace.model import Trace

AT = "void at::native::"
ADD = f"{AT}vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
MUL = f"{AT}vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float>>"
COPY = (
    f"{AT}elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>"
)
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>"
SOFTMAX_BACKWARD = "void (anonymous namespace)::softmax_warp_backward<float, float, float, 9>"
LAYER_NORM = f"{AT}(anonymous namespace)::vectorized_layer_norm_kernel<float, float>"
DROPOUT = f"{AT}(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4>"
SGEMM = "volta_sgemm_128x64_nn"
NVJET = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
GEMV = "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>"
GPTQ = "void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 1>"
PAGED = "void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128>"
FLASH = "void flash::flash_fwd_splitkv_kernel<flash::Flash_fwd_kernel_traits<128>>"
RMS_NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"
SILU = "void vllm::act_and_mul_kernel<c10::BFloat16, &(vllm::silu_kernel<c10::BFloat16>), true>"
ROTARY = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>"
CACHE = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>"
CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32"
WGRAD = "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64"
BATCH_NORM = "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half2, float, 512, true, 1>"
TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>"
TO_NCHW = "void cudnn::ops::nhwcToNchwKernel<__half, __half, float, true, false>"
EMBEDDING = "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, false>"
TRANSPOSE = "batched_transpose_32x32_dword.kd"

OF_KERNELS = {
    "tensor_cores_unused",
    "tensor_core_candidates",
    "low_occupancy",
    "low_sm_efficiency",
    "optimizer_not_fused",
    "memory_near_limit",
    "unfused_kernels",
    "eager_attention",
    "layout_transposes",
}


@dataclass(frozen=True)
class Part:
    """One operator and its kernel."""

    operator: str | None
    kernel: str
    us: float
    shapes: list[list[int]] | None = None
    dtype: str = "float"
    launch: dict[str, Any] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        if self.shapes is None:
            return {}
        return {"shape": self.shapes, "Input type": [self.dtype] * len(self.shapes)}


def eager(parts: list[Part], gpu: dict[str, Any], extra: list[Event] | None = None) -> Trace:
    """Each part launched by its operator, 2 µs apart; kernels one after the other."""
    events: list[Event] = list(extra or [])
    start = 2.0 * len(parts) + 5
    for number, part in enumerate(parts):
        launch = 2.0 * number
        if part.operator is not None:
            events.append(op(part.operator, launch, 1.9, **part.described()))
        events.append(call("cudaLaunchKernel", launch + 0.5, 1, corr=number + 1))
        events.append(kernel(part.kernel, start, part.us, corr=number + 1, **part.launch))
        start += part.us
    return trace([step(1, 0, start), *awaited(events, 2.0 * len(parts))], deviceProperties=[gpu])


def replayed(parts: list[Part], gpu: dict[str, Any]) -> Trace:
    """All kernels from one launch of a graph: no operator is known."""
    events: list[Event] = [call("cudaGraphLaunch", 0, 20, corr=1)]
    start = 10.0
    for part in parts:
        events.append(kernel(part.kernel, start, part.us, corr=1, **part.launch))
        start += part.us
    return trace([step(1, 0, start), *awaited(events, 25)], deviceProperties=[gpu])


H100 = device(name="NVIDIA H100 80GB HBM3", capability="9.0", memory=80 << 30)
B200 = device(name="NVIDIA B200", capability="10.0", memory=180 << 30)
V100 = device(name="Tesla V100-SXM2-32GB", capability="7.0", memory=32 << 30)
A100 = device(memory=80 << 30)
MI300 = device(name="AMD Instinct MI300X", capability="9.4", memory=192 << 30)
ONE_BLOCK = {"blocks": 0.01, "occupancy": 2}

DECODE = [
    Part(None, RMS_NORM, 3, launch=ONE_BLOCK),
    Part(None, GEMV, 25, launch={"blocks": 8.0, "occupancy": 60}),
    Part(None, ROTARY, 2, launch=ONE_BLOCK),
    Part(None, CACHE, 2, launch=ONE_BLOCK),
    Part(None, FLASH, 8, launch={"blocks": 0.5, "occupancy": 6}),
    Part(None, NVJET, 12, launch={"blocks": 1.0, "occupancy": 9}),
    Part(None, SILU, 2, launch=ONE_BLOCK),
] * 8

ONE_TOKEN = [
    Part("aten::mm", GEMV, 25, [[1, 4096], [4096, 4096]], "c10::BFloat16"),
    Part("aten::mm", "ampere_fp16_hgemm_64x64_tn", 30, [[1, 4096], [4096, 11008]], "c10::Half"),
    Part("_C::gptq_gemm", GPTQ, 30, [[1, 4096], [512, 11008]], "c10::Half"),
    Part("flash_attn::attention", PAGED, 20),
    Part("aten::mul", MUL, 2),
    Part("aten::mm", NVJET, 20, [[1, 4096], [4096, 4096]], "c10::BFloat16"),
] * 8

PREFILL = [
    Part("aten::linear", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT", 400),
    Part("_vllm_fa3_C::fwd", "void flash::FlashAttnFwdSm90<flash::Mainloop<2>>", 300),
    Part("_C::silu_and_mul", SILU, 40),
    Part("_C::fused_add_rms_norm", RMS_NORM, 30),
] * 4

FP8 = [
    Part("aten::_scaled_mm", "nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", 100),
    Part("vllm::quant", "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>", 10),
    Part("sgl::attention", "fmhaSm100aKernel_QkvE4m3OBfloat16H128PagedKvCausal", 60),
    Part("_C::silu_and_mul", SILU, 10),
] * 4

BERT: list[Part] = [
    Part("aten::addmm", SGEMM, 900, [[768], [4096, 768], [768, 768]]),
    Part("aten::bmm", SGEMM, 200, [[96, 512, 64], [96, 64, 512]]),
    Part("aten::div", MUL, 120),
    Part("aten::add", ADD, 120),
    Part("aten::_softmax", SOFTMAX, 150),
    Part("aten::native_dropout", DROPOUT, 120),
    Part("aten::bmm", SGEMM, 200, [[96, 512, 512], [96, 512, 64]]),
    Part("aten::copy_", COPY, 40),
    Part("aten::native_layer_norm", LAYER_NORM, 40),
    Part("aten::bmm", SGEMM, 200, [[96, 512, 64], [96, 64, 512]]),
    Part("aten::_softmax_backward_data", SOFTMAX_BACKWARD, 200),
    Part("aten::mul", MUL, 120),
    Part("aten::bmm", SGEMM, 200, [[96, 512, 64], [96, 64, 512]]),
    Part("aten::mm", SGEMM, 1800, [[768, 4096], [4096, 768]]),
]


def resnet(*around: str) -> list[Part]:
    """Convolutions in half precision, with these kernels around each."""
    parts = []
    for kernel_name, operator in ((CONVOLUTION, "aten::cudnn_convolution"),) * 4:
        parts += [Part(operator, name, 25) for name in around]
        parts += [Part(operator, kernel_name, 100), Part("aten::cudnn_batch_norm", BATCH_NORM, 40)]
        parts += [Part("aten::clamp_min_", ADD, 20), Part("aten::convolution_backward", WGRAD, 120)]
    return parts


DLRM = [
    Part("fbgemm::split_embedding_codegen_lookup", EMBEDDING, 700),
    Part("aten::addmm", SGEMM, 8, [[64], [512, 64], [64, 64]]),
    Part("aten::relu", ADD, 4),
    Part("aten::bmm", GEMV, 10),
]

CK = [
    Part("aten::mm", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1", 300),
    Part("aiter::fmha_fwd", "aiter::fmha_fwd_hd128_bf16_causal_rtne", 200),
    Part("aten::mm", TRANSPOSE, 60),
]

SILENT = {
    "decoding one token from a graph": replayed(DECODE, H100),
    "decoding one token by operators": eager(ONE_TOKEN, A100),
    "prefill with flash attention": eager(PREFILL, H100),
    "fp8 inference": eager(FP8, B200),
    "training of convolutions in channels-last": eager(
        resnet(), A100, [op("ConvolutionBackward0", 0, 1)]
    ),
    "embeddings": eager(DLRM, V100),
    "inference on an AMD device": eager(CK, MI300),
    "a CPU": trace(
        [
            step(1, 0, 900),
            annotation("Optimizer.step#Adam.step", 500, 300),
            op("aten::bmm", 0, 50),
            op("aten::_softmax", 60, 100),
            op("aten::bmm", 200, 50),
        ]
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_efficient_kernels_have_no_finding(name: str) -> None:
    assert not OF_KERNELS & set(notes_of(SILENT[name]))


def test_bert_in_single_precision_should_use_matrix_units_first() -> None:
    notes = notes_of(eager(BERT, V100, [op("AddmmBackward0", 0, 1)]))
    assert [code for code in notes if code in OF_KERNELS] == [
        "tensor_cores_unused",
        "eager_attention",
    ]
    assert "float16" in notes["tensor_cores_unused"].text
    share = (120 + 120 + 150 + 120 + 200 + 120) / sum(part.us for part in BERT) * 100
    assert notes["eager_attention"].evidence["measured"] == pytest.approx(share)


def test_convolutions_with_layout_conversions_are_advised_to_use_channels_last() -> None:
    notes = notes_of(eager(resnet(TO_NHWC, TO_NCHW), A100))
    assert {code for code in notes if code in OF_KERNELS} == {"layout_transposes"}


def test_memory_of_an_engine_that_fills_it_by_design_is_no_case_for_checkpointing() -> None:
    full = [memory(1, 10, address=1, allocated=int(0.95 * (80 << 30)))]
    note = notes_of(eager(PREFILL, H100, full))["memory_near_limit"]
    assert "checkpointing" not in note.text
    assert "by design" in note.text
