"""What names tell of element types: the examples of the file, and names that mislead.

Cases: every example; several types; scalars of the parameter list beside a type that the template
names; a parameter list that alone tells; indices are no element types; names that tell nothing.
"""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.dtypes import canonical
from torch_tb_profiler.knowledge.kernel_dtypes import kernel_type_file, types_in_name

EXAMPLES = [
    (entry.name, example) for entry in kernel_type_file().types for example in entry.examples
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_examples(name: str, example: str) -> None:
    assert name in types_in_name(example)


ACCUMULATORS = [
    (rule.pattern, example) for rule in kernel_type_file().accumulators for example in rule.examples
]


@pytest.mark.parametrize(("pattern", "example"), ACCUMULATORS)
def test_an_accumulator_is_no_type_of_its_kernel(pattern: str, example: str) -> None:
    """None of the examples has a float32 operand or result."""
    assert re.search(pattern, example)
    assert types_in_name(example)
    assert "float32" not in types_in_name(example)


def test_names_are_canonical() -> None:
    names = [entry.name for entry in kernel_type_file().types]
    assert [canonical(name) for name in names if name != "tf32"] == [
        name for name in names if name != "tf32"
    ]
    assert set(kernel_type_file().tensile_letters.values()) <= set(names)


@pytest.mark.parametrize(
    ("kernel", "types"),
    [
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", ("float32", "tf32")),
        ("void layer_norm<c10::BFloat16, float>(int, float)", ("float32", "bfloat16")),
        ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x8x512u2_s3_sm100f", ("bfloat16", "float8", "float4")),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x8x512_s4_sm100f", ("float8", "float4")),
        ("gemm_Fp32_Bfloat16Bfloat16_Fp32_t128x64x64_sm100f", ("float32", "bfloat16")),
        ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu", ("bfloat16", "float4")),
        ("_p_matmul_ogs_NTN_fp8e4nvxfp8e4nvxmxfp4_64x256x128x1", ("float8", "float4")),
        ("_matmul_ogs_NNN_fp16xfp8e5xmxfp4_64x256", ("float16", "float8", "float4")),
        ("sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize64x64x64", ("float32", "float16")),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64", ("bfloat16",)),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8", ("float32",)),
        (
            "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f32_128x128x64_",
            ("float32", "float16"),
        ),
        ("k<cute::SM80_16x8x16_F32BF16BF16F32_TN>", ("bfloat16",)),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::"
            "func_wrapper_t<float, Sum>, unsigned int, float, 4> >",
            ("float32", "float16"),
        ),
        ("void softmax_warp_forward<float, float, float, 8, true, false>", ("float32",)),
        ("bf16x", ()),
        ("void k<c10::BFloat16>(int, float, c10::BFloat16 const*)", ("bfloat16",)),
        ("void cunn_fill(float*, int)", ("float32",)),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128", ("bfloat16",)),
        ("_Z4fillI6__halfEvPT_i", ("float16",)),
        ("void fill<long, unsigned int>(long*, int)", ()),
        ("triton_red_fused_add_mean_mul_pow_rsqrt_0", ()),
        ("attn_fwd", ()),
        ("elementwise_halfway_floating_doubled", ()),
        (")" * 9, ()),
        ("", ()),
    ],
)
def test_types_in_names(kernel: str, types: tuple[str, ...]) -> None:
    assert types_in_name(kernel) == types
