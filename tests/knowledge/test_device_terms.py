"""Kinds of devices: recognition by labels, names and calls, and their terms."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.device_terms import (
    AMD,
    DeviceTerms,
    device_kinds,
    kind_of_calls,
    kind_of_label,
    kind_of_model,
)


@pytest.mark.parametrize("kind", device_kinds().values(), ids=lambda kind: kind.name)
def test_a_kind_is_recognized_by_its_examples(kind: DeviceTerms) -> None:
    assert all(kind_of_model(name) is kind for name in kind.examples)
    assert all(kind_of_model(name) is not kind for name in kind.counter_examples)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("NPU", "Ascend"), ("NPU 0", "Ascend"), ("Ascend NPU", "Ascend"), ("XPU 3", "Intel"),
        ("MTIA 1", "MTIA"), ("HPU 0", "Gaudi"), ("TPU 1", "TPU"),
        ("GPU 0", None), ("CPU", None), ("NPUs", None),
    ],
)  # fmt: skip
def test_labels_of_tracks(label: str, name: str | None) -> None:
    kind = kind_of_label(label)
    assert (kind.name if kind else None) == name


def test_calls_of_one_runtime() -> None:
    names = ["hipLaunchKernel", "aten::mm"]
    assert kind_of_calls(names) is device_kinds()[AMD]
    assert kind_of_calls(["cudaLaunchKernel", "hipster"]) is None
    assert kind_of_calls([*names, "aclnnAdd"]) is None


def test_nvidia_and_unknown_names_have_no_other_terms() -> None:
    assert kind_of_model("NVIDIA A100-SXM4-80GB") is None
    assert kind_of_model("") is None


def test_terms_are_replaced_as_whole_words() -> None:
    amd = device_kinds()[AMD]
    assert amd.localize("Tensor Cores of 4 SMs: nvidia-smi -q -d CLOCK,ECC") == (
        "Matrix Cores of 4 CUs: amd-smi metric"
    )
    assert amd.localize("SMEM, nccl:all_reduce, ncclDevKernel") == (
        "SMEM, nccl:all_reduce, ncclDevKernel"
    )
    npu = device_kinds()["Ascend"]
    assert npu.localize("capture a CUDA graph on a GPU") == "capture an NPU graph on an NPU"


def test_links_about_other_devices_are_omitted() -> None:
    amd = device_kinds()[AMD]
    assert not amd.is_own_link("https://docs.nvidia.com/cuda/")
    assert amd.is_own_link("https://pytorch.org/docs/stable/amp.html")
