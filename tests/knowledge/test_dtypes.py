"""Element types as traces spell them."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import dtypes


@pytest.mark.parametrize(
    ("name", "size_bytes", "canonical"),
    [
        ("float", 4, "float32"),
        ("Float", 4, "float32"),
        ("double", 8, "float64"),
        ("c10::Half", 2, "float16"),
        ("BFloat16", 2, "bfloat16"),
        ("c10::Float8_e4m3fn", 1, "float8"),
        ("Float8_e5m2", 1, "float8"),
        ("c10::complex<float>", 8, "complex64"),
        ("long int", 8, "int64"),
        ("Long", 8, "int64"),
        ("int", 4, "int32"),
        ("short int", 2, "int16"),
        ("signed char", 1, "int8"),
        ("unsigned char", 1, "uint8"),
        ("Byte", 1, "uint8"),
        ("bool", 1, "bool"),
        ("Scalar", None, None),
        ("TensorList", None, None),
        ("", None, None),
    ],
)
def test_sizes_and_names(name: str, size_bytes: int | None, canonical: str | None) -> None:
    assert dtypes.size_bytes(name) == size_bytes
    assert dtypes.canonical(name) == canonical
