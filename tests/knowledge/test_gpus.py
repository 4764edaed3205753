"""GPU models by name, architectures by compute capability."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import gpus


@pytest.mark.parametrize("entry", gpus.gpu_file().gpus, ids=lambda entry: entry.examples[0])
def test_a_model_is_found_by_its_examples(entry: gpus.GpuEntry) -> None:
    for name in entry.examples:
        found = gpus.specification(name)
        assert found is not None
        assert (found.sm_count, found.memory_bytes, found.source) == (
            entry.sm_count,
            entry.memory_gib * 1024**3,
            entry.source,
        ), name
        assert found.architecture.name == entry.architecture


def test_a_trace_agrees_with_the_table() -> None:
    """numSms and maxThreadsPerMultiprocessor as the DLRM and H100 samples declare them."""
    v100, h100 = (
        gpus.specification("Tesla V100-SXM2-32GB"),
        gpus.specification("NVIDIA H100 80GB HBM3"),
    )
    assert v100 is not None
    assert h100 is not None
    assert (v100.sm_count, v100.architecture.max_threads_per_sm) == (80, 2048)
    assert (h100.sm_count, h100.architecture.max_threads_per_sm) == (132, 2048)


@pytest.mark.parametrize(
    ("name", "major", "minor", "architecture"),
    [
        ("NVIDIA Quadro GV100", 7, 0, "Volta"),
        (None, 9, 0, "Hopper"),
        ("NVIDIA A2", 8, 6, "Ampere"),
        ("AMD Radeon RX 7900 XTX", 9, 0, None),
        ("GeForce GTX 1080", 6, 1, None),
        (None, None, None, None),
    ],
)
def test_the_compute_capability_helps_unknown_names(
    name: str | None, major: int | None, minor: int | None, architecture: str | None
) -> None:
    found = gpus.architecture(name, major, minor)
    assert (found.name if found else None) == architecture


def test_half_precision_runs_on_every_architecture_with_matrix_units() -> None:
    assert all("float16" in item.matrix_dtypes for item in gpus.gpu_file().architectures)
