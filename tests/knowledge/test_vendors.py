"""Vendors of GPUs: recognition by device names, and their terms."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.vendors import AMD, Vendor, device_vendor, vendors


@pytest.mark.parametrize("vendor", vendors().values(), ids=lambda vendor: vendor.name)
def test_a_vendor_is_recognized_by_its_examples(vendor: Vendor) -> None:
    assert all(device_vendor(name) is vendor for name in vendor.examples)
    assert all(device_vendor(name) is not vendor for name in vendor.counter_examples)


def test_nvidia_and_unknown_names_have_no_other_terms() -> None:
    assert device_vendor("NVIDIA A100-SXM4-80GB") is None
    assert device_vendor("") is None


def test_terms_are_replaced_as_whole_words() -> None:
    amd = vendors()[AMD]
    assert amd.localize("Tensor Cores of 4 SMs: nvidia-smi -q -d CLOCK,ECC") == (
        "Matrix Cores of 4 CUs: amd-smi metric"
    )
    assert amd.localize("SMEM, nccl:all_reduce, ncclDevKernel") == (
        "SMEM, nccl:all_reduce, ncclDevKernel"
    )


def test_links_about_other_vendors_are_omitted() -> None:
    amd = vendors()[AMD]
    assert not amd.is_own_link("https://docs.nvidia.com/cuda/")
    assert amd.is_own_link("https://pytorch.org/docs/stable/amp.html")
