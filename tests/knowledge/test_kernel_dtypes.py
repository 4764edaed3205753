"""What names tell of element types: the examples of the file, and names that mislead.

Cases: every example; several types; scalars of the parameter list beside a type that the template
names; a parameter list that alone tells; indices are no element types; names that tell nothing.
"""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.dtypes import canonical
from torch_tb_profiler.knowledge.kernel_dtypes import kernel_type_file, types_in_name

EXAMPLES = [
    (entry.name, example) for entry in kernel_type_file().types for example in entry.examples
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_examples(name: str, example: str) -> None:
    assert name in types_in_name(example)


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
