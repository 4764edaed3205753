"""Tiles that names of matrix kernels tell."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.kernel_tiles import tile_file, tile_in_name

EXAMPLES = {name: tile for entry in tile_file().tiles for name, tile in entry.examples.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    assert tile_in_name(name) == EXAMPLES[name]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "void at::native::vectorized_elementwise_kernel<4>(int)",
        "void gemmSN_TN_kernel<float, 128, 16, 2, 4>(int)",
        "volta_sgemm_0x32_nt",
        "volta_sgemm_99999x32_nt",
        "flash_fwd_kernel_128x64",
    ],
)
def test_other_names_have_no_tile(name: str) -> None:
    assert tile_in_name(name) is None
