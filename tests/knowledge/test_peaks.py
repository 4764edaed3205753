"""Peaks of devices: every device of gpus.toml has them, and their figures agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_tb_profiler.knowledge import gpus
from torch_tb_profiler.knowledge.dtypes import canonical
from torch_tb_profiler.knowledge.peaks import (
    PEAK_TYPES,
    DevicePeaks,
    PeakEntry,
    peak_file,
    peak_type,
    peaks,
)

ENTRIES = peak_file().peaks
UNTOLD = {
    "NVIDIA GB10": {"tf32", "float16", "bfloat16", "float8", "int8"},
    "NVIDIA H800": {"float64"},
    "NVIDIA H800 PCIe": {"float64"},
    "NVIDIA H20": {"float64"},
    "NVIDIA H20-3e": {"float64"},
    "NVIDIA GB300": {"int8"},
    "NVIDIA B300 SXM6 AC": {"int8"},
}
"""Types that matrix units take and whose rate is not printed (docs/peaks.md)."""
SPARSE_FLOAT4_IS_NOT_TWICE = {"NVIDIA GB300", "NVIDIA B300 SXM6 AC"}


def known(name: str) -> DevicePeaks:
    device_peaks = peaks(name)
    assert device_peaks is not None
    return device_peaks


@pytest.mark.parametrize("entry", gpus.gpu_file().gpus, ids=lambda entry: entry.examples[0])
def test_every_gpu_has_peaks_of_the_types_its_matrix_units_take(entry: gpus.GpuEntry) -> None:
    architecture = next(
        item for item in gpus.gpu_file().architectures if item.name == entry.architecture
    )
    for name in entry.examples:
        device_peaks = peaks(name, entry.memory_gib << 30)
        assert device_peaks is not None
        expected = set(architecture.matrix_dtypes) - UNTOLD.get(name, set())
        assert set(device_peaks.matrix) == expected, name
        assert device_peaks.bandwidth_gb_per_s == entry.bandwidth_gb_per_s
        assert device_peaks.vector.get("float32") or name == "NVIDIA GB10"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.examples[0])
def test_an_entry_matches_has_a_source_and_only_known_types(entry: PeakEntry) -> None:
    for name in entry.examples:
        assert known(name).source == entry.source
    assert entry.source.startswith("https://")
    assert {*entry.matrix, *entry.vector, *entry.sparse} <= set(PEAK_TYPES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.examples[0])
def test_figures_of_an_entry_agree(entry: PeakEntry) -> None:
    """Sparse is twice dense, tf32 at most half of float16, 8 bits at least twice 16 bits."""
    matrix, name = entry.matrix, entry.examples[0]
    for dtype, rate in entry.sparse.items():
        if not (dtype == "float4" and name in SPARSE_FLOAT4_IS_NOT_TWICE):
            assert rate == pytest.approx(2 * matrix[dtype], rel=0.03), dtype
    if "tf32" in matrix:
        assert matrix["tf32"] == pytest.approx(matrix["float16"] / 2, rel=0.02)
    for narrow in ("float8", "int8"):
        if narrow in matrix and "float16" in matrix and matrix["float16"] != matrix[narrow]:
            assert matrix[narrow] >= 1.98 * matrix["float16"]
    if "float32" in entry.vector and "float16" in matrix:
        assert matrix["float16"] > entry.vector["float32"]


CORES = {
    # Units x operations per clock and unit x boost clock in GHz: what vendors' tables come from.
    ("NVIDIA H100 80GB HBM3", "matrix", "bfloat16"): 528 * 1024 * 1.83,
    ("NVIDIA H100 80GB HBM3", "vector", "float32"): 132 * 256 * 1.98,
    ("NVIDIA H100 PCIe", "matrix", "bfloat16"): 456 * 1024 * 1.62,
    ("NVIDIA A100-SXM4-80GB", "matrix", "bfloat16"): 432 * 512 * 1.41,
    ("NVIDIA A100-SXM4-80GB", "vector", "float32"): 108 * 128 * 1.41,
    ("Tesla V100-SXM2-32GB", "matrix", "float16"): 640 * 128 * 1.53,
    ("Tesla T4", "matrix", "float16"): 320 * 128 * 1.59,
    ("NVIDIA GeForce RTX 3090", "matrix", "bfloat16"): 328 * 128 * 1.695,
    ("NVIDIA RTX A6000", "matrix", "bfloat16"): 336 * 256 * 1.80,
    ("NVIDIA GeForce RTX 4090", "matrix", "bfloat16"): 512 * 128 * 2.52,
    ("NVIDIA GeForce RTX 4090", "vector", "float32"): 128 * 256 * 2.52,
    ("NVIDIA RTX 6000 Ada Generation", "matrix", "bfloat16"): 568 * 256 * 2.505,
    ("NVIDIA L4", "vector", "float32"): 58 * 256 * 2.04,
    ("NVIDIA GeForce RTX 5090", "matrix", "bfloat16"): 680 * 128 * 2.407,
    ("NVIDIA GeForce RTX 5080", "matrix", "bfloat16"): 336 * 128 * 2.617,
    ("AMD Instinct MI300X", "matrix", "bfloat16"): 304 * 2048 * 2.1,
    ("AMD Instinct MI300X", "vector", "float32"): 304 * 256 * 2.1,
    ("AMD Instinct MI300A", "matrix", "bfloat16"): 228 * 2048 * 2.1,
    ("AMD Instinct MI355X", "matrix", "bfloat16"): 256 * 4096 * 2.4,
    ("AMD Instinct MI350X", "matrix", "float8"): 256 * 8192 * 2.2,
    ("AMD Instinct MI250X", "matrix", "bfloat16"): 110 * 1024 * 1.7,
    ("AMD Instinct MI210", "vector", "float32"): 104 * 128 * 1.7,
    ("AMD Instinct MI100", "matrix", "float16"): 120 * 1024 * 1.502,
    ("Intel(R) Data Center GPU Max 1550", "matrix", "bfloat16"): 64 * 4096 * 1.6,
    ("Intel(R) Data Center GPU Max 1100", "matrix", "bfloat16"): 56 * 4096 * 1.55,
    ("Tesla V100S-PCIE-32GB", "matrix", "float16"): 640 * 128 * 1.597,
    ("Tesla V100-PCIE-32GB", "matrix", "float16"): 640 * 128 * 1.38,
    ("NVIDIA GeForce RTX 2080 Ti", "matrix", "float16"): 544 * 64 * 1.545,
    ("NVIDIA GeForce GTX 1660 Ti", "vector", "float32"): 1536 * 2 * 1.77,
    ("NVIDIA GeForce GTX 1660", "vector", "float32"): 1408 * 2 * 1.785,
    ("NVIDIA GeForce GTX 1660 SUPER", "vector", "float32"): 1408 * 2 * 1.785,
    ("NVIDIA GeForce GTX 1650 SUPER", "vector", "float32"): 1280 * 2 * 1.725,
    ("NVIDIA GeForce GTX 1650", "vector", "float32"): 896 * 2 * 1.665,
    ("NVIDIA A30", "matrix", "bfloat16"): 224 * 512 * 1.44,
    ("NVIDIA A10G", "matrix", "bfloat16"): 320 * 128 * 1.71,
    ("NVIDIA A10", "matrix", "bfloat16"): 288 * 256 * 1.695,
    ("NVIDIA A40", "matrix", "bfloat16"): 336 * 256 * 1.74,
    ("NVIDIA RTX A5000", "matrix", "bfloat16"): 256 * 256 * 1.695,
    ("NVIDIA GeForce RTX 4090 D", "matrix", "bfloat16"): 456 * 128 * 2.52,
    ("NVIDIA GeForce RTX 4080", "matrix", "bfloat16"): 304 * 128 * 2.505,
    ("NVIDIA L40S", "matrix", "bfloat16"): 568 * 256 * 2.52,
    ("NVIDIA L40S", "matrix", "float8"): 568 * 512 * 2.52,
    ("NVIDIA L40", "matrix", "bfloat16"): 568 * 128 * 2.49,
    ("NVIDIA L4", "matrix", "bfloat16"): 232 * 256 * 2.04,
    ("NVIDIA H100 NVL", "vector", "float32"): 132 * 256 * 1.785,
    ("NVIDIA H200 NVL", "vector", "float32"): 132 * 256 * 1.785,
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "matrix", "bfloat16"): 752 * 256 * 2.617,
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "vector", "float32"): (
        188 * 256 * 2.28
    ),
    ("Ascend910B2", "matrix", "bfloat16"): 24 * 8192 * 1.8,
    ("AMD Instinct MI250X", "vector", "float32"): 110 * 128 * 1.7,
    ("AMD Instinct MI355X", "matrix", "float8"): 256 * 8192 * 2.4,
}


@pytest.mark.parametrize("case", CORES, ids=" ".join)
def test_printed_figures_are_units_times_clock(case: tuple[str, str, str]) -> None:
    name, unit, dtype = case
    assert getattr(known(name), unit)[dtype] == pytest.approx(CORES[case] / 1000, rel=0.02)


def test_variants_are_distinguished() -> None:
    """Cards against modules, and figures that are printed with sparsity."""
    rates = {
        "NVIDIA H100 80GB HBM3": 989.4,
        "NVIDIA H100 PCIe": 756,
        "NVIDIA H100 NVL": 835.5,
        "NVIDIA H200": 989.4,
        "NVIDIA H200 NVL": 835.5,
        "NVIDIA L40S": 362.05,
        "NVIDIA L40": 181.05,
        "AMD Instinct MI300X VF": 1307.4,
        "Ascend910_9391": 376,
        "Ascend910_9382": 353.9,
    }
    assert {name: known(name).matrix["bfloat16"] for name in rates} == rates
    assert known("Tesla V100-PCIE-32GB").matrix["float16"] == 112
    assert known("Tesla V100-SXM2-32GB").matrix["float16"] == 125


@pytest.mark.parametrize(
    "name", ["", "CPU", "Ascend910B", "Ascend910B3", "NVIDIA A100-SXM-64GB", "AMD Radeon"]
)
def test_unknown_models(name: str) -> None:
    assert peaks(name) is None


def test_peaks_of_one_name_differ_by_memory_in_bandwidth_alone() -> None:
    known_peaks = [peaks("A100-PG509-200", gib << 30) for gib in (40, 80)] + [
        known("A100-PG509-200")
    ]
    assert {one.matrix["bfloat16"] for one in known_peaks if one is not None} == {312}
    assert [one and one.bandwidth_gb_per_s for one in known_peaks] == [1555, 2039, None]


def test_the_rate_of_other_work() -> None:
    h100 = known("NVIDIA H100 80GB HBM3")
    assert h100.of_other_work("float32") == 66.9
    assert h100.of_other_work("bfloat16") == 133.8
    assert h100.of_other_work("float8") == 66.9
    assert h100.of_other_work("int64") is None
    assert h100.of_products("float32") == 66.9
    assert h100.of_products("tf32") == 494.7
    assert known("AMD Instinct MI300X").of_products("float32") == 163.4
    assert known("Tesla V100-SXM2-32GB").of_products("tf32") is None


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("bf16", "bfloat16"),
        ("BFloat16", "bfloat16"),
        ("fp8", "float8"),
        ("c10::Half", "float16"),
        ("TF32", "tf32"),
        ("uint8", "int8"),
        ("int64", None),
        ("Scalar", None),
    ],
)
def test_spellings_of_types(text: str, dtype: str | None) -> None:
    assert peak_type(text) == dtype
    assert dtype is None or dtype == "tf32" or canonical(dtype) == dtype


def test_the_docs_have_the_same_figures() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "peaks.md").read_text(encoding="utf-8")
    for entry in ENTRIES:
        device_peaks = known(entry.examples[0])
        columns = ("tf32", "float16", "bfloat16", "float8", "float4", "int8")
        rates = [device_peaks.vector.get("float32"), *map(device_peaks.matrix.get, columns)]
        cells = [*rates, device_peaks.bandwidth_gb_per_s]
        row = " | ".join("–" if cell is None else f"{cell:g}" for cell in cells)
        assert f"| [{entry.examples[0]}]({entry.source}) | {row} |\n" in text


@pytest.mark.parametrize(
    ("ours", "theirs", "is_sparse"),
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100", True),
        ("NVIDIA L4", "NVIDIA L4", True),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100", False),
        ("AMD Instinct MI300X", "AMD MI300X", False),
        ("AMD Instinct MI300A", "AMD MI300A", False),
        ("AMD Instinct MI350X", "AMD MI350X", False),
        ("AMD Instinct MI210", "AMD MI210X", False),
    ],
)
def test_inductor_has_the_same_figures(ours: str, theirs: str, is_sparse: bool) -> None:
    """torch's own table; of some NVIDIA devices it has the figures with sparsity."""
    info = pytest.importorskip("torch._inductor.analysis.device_info")
    rates = {str(dtype): rate for dtype, rate in info.lookup_device_info(theirs).tops.items()}
    device_peaks = known(ours)
    for dtype in ("bfloat16", "float16", "int8"):
        mine = (device_peaks.sparse if is_sparse else device_peaks.matrix)[dtype]
        assert rates[f"torch.{dtype}"] == pytest.approx(mine, rel=0.005), dtype
    assert rates["torch.float32"] == pytest.approx(device_peaks.of_products("float32"), rel=0.005)
