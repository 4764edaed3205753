"""GPU models by name, architectures by compute capability."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import gpus


@pytest.mark.parametrize("entry", gpus.gpu_file().gpus, ids=lambda entry: entry.examples[0])
def test_a_model_matches_its_examples(entry: gpus.GpuEntry) -> None:
    for name in entry.examples:
        stated = int(entry.memory_gib * 0.99 * 1024**3) if entry.by_memory else None
        result = gpus.specification(name, stated)
        assert result is not None
        assert (result.sm_count, result.memory_bytes, result.source) == (
            entry.sm_count,
            entry.memory_gib * 1024**3,
            entry.source,
        ), name
        assert result.architecture.name == entry.architecture


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
    "name",
    [
        "NVIDIA RTX A1000 Laptop GPU",
        "Quadro GV100",
        "NVIDIA A100-SXM-64GB",
        "NVIDIA H100 64GB HBM2",
        "NVIDIA GeForce RTX 4080 SUPER",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA RTX A5000 Laptop GPU",
    ],
)
def test_a_name_that_holds_another_models_is_unknown(name: str) -> None:
    assert gpus.specification(name) is None


def test_the_memory_tells_models_of_one_name_apart() -> None:
    """totalGlobalMem as cards of 40 and of 80 GB report it."""
    name = "A100-PG509-200"

    def bandwidth(memory_bytes: int | None) -> float | None:
        known = gpus.specification(name, memory_bytes)
        return None if known is None else known.bandwidth_gb_per_s

    assert bandwidth(42_506_321_920) == 1555
    assert bandwidth(84_990_623_744) == 2039
    assert bandwidth(16 << 30) is None
    assert bandwidth(None) is None
    known = gpus.architecture(name, 8, 0)
    assert known is not None
    assert known.name == "Ampere (A100)"


def test_variants_of_a_model_are_distinguished() -> None:
    """Bandwidth and memory differ between modules, cards and superchips of one name."""
    names = {
        "NVIDIA A800 80GB PCIe": 1935,
        "NVIDIA A800-SXM4-80GB": 2039,
        "NVIDIA H800 PCIe": 2000,
        "NVIDIA H800": 3350,
        "NVIDIA H20-3e": 4800,
        "NVIDIA GB200": 8000,
        "NVIDIA B200": 7700,
        "NVIDIA RTX PRO 6000 Blackwell Server Edition": 1597,
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": 1792,
    }
    result = {name: gpus.specification(name) for name in names}
    assert {name: item and item.bandwidth_gb_per_s for name, item in result.items()} == names


@pytest.mark.parametrize(
    ("name", "major", "minor", "architecture"),
    [
        ("NVIDIA Quadro GV100", 7, 0, "Volta"),
        (None, 7, 2, "Volta (Xavier)"),
        (None, 9, 0, "Hopper"),
        (None, 10, 3, "Blackwell Ultra"),
        (None, 11, 0, "Blackwell"),
        ("NVIDIA A2", 8, 6, "Ampere"),
        ("AMD Radeon RX 7900 XTX", 9, 0, None),
        ("GeForce GTX 1080", 6, 1, None),
        ("NVIDIA GeForce GTX 1660 Ti", 7, 5, "Turing (GTX 16)"),
        (None, None, None, None),
    ],
)
def test_the_compute_capability_helps_unknown_names(
    name: str | None, major: int | None, minor: int | None, architecture: str | None
) -> None:
    result = gpus.architecture(name, major, minor)
    assert (result.name if result else None) == architecture


def test_half_precision_runs_on_every_architecture_with_matrix_units() -> None:
    with_matrix_units = [item for item in gpus.gpu_file().architectures if item.matrix_dtypes]
    assert all("float16" in item.matrix_dtypes for item in with_matrix_units)


def test_a_turing_without_matrix_units_is_known_by_its_name() -> None:
    result = gpus.architecture("NVIDIA GeForce GTX 1650", 7, 5)
    assert result is not None
    assert result.matrix_dtypes == ()
