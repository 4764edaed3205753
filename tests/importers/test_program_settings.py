"""Any JSON becomes settings of the declared types; other values are dropped and counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.quality import QualityReport

WHOLE: dict[str, Any] = {
    "torch_version": "2.13.0+cu130", "python_version": "3.12.3", "cuda_version": "13.0",
    "cudnn_version": "9.10.2", "nccl_version": "2.27.5", "driver_version": "580.65.06",
    "cpu_model": "AMD EPYC 9654", "cpu_cores": 96, "gpu_names": ["NVIDIA H100", "NVIDIA H100"],
    "gpu_memory_bytes": [85018279936, 85018279936], "cudnn_benchmark": True,
    "cudnn_deterministic": False, "deterministic_algorithms": False, "tf32_matmul": False,
    "tf32_cudnn": True, "matmul_precision": "highest", "autocast": "bfloat16",
    "anomaly_mode": False, "gradcheck": False, "compile_mode": "max-autotune",
    "parameters": 405_000_000_000, "optimizer": "AdamW", "optimizer_fused": False,
    "optimizer_foreach": True, "data_parallel": "DDP",
    "data_parallel_options": {"bucket_cap_mb": 25, "static_graph": False, "strategy": "FULL"},
    "loader_workers": 4, "batch_size": 64, "pin_memory": True, "prefetch_factor": 2,
    "persistent_workers": False, "environment": {"OMP_NUM_THREADS": "8"},
}  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def read(**values: Any) -> tuple[ProgramSettings, QualityReport]:
    quality = QualityReport()
    return program_settings(values, quality, "header_value"), quality


def test_every_field_is_read() -> None:
    assert set(WHOLE) == set(ProgramSettings.__struct_fields__)
    settings, quality = read(**WHOLE)
    assert msgspec.json.decode(msgspec.json.encode(settings)) == WHOLE
    assert quality == QualityReport()


@given(field=st.sampled_from(sorted(WHOLE)), value=JSON)
def test_anything_becomes_a_setting_or_is_counted(field: str, value: Any) -> None:
    settings, quality = read(**{field: value})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=ProgramSettings) == settings
    is_dropped = getattr(settings, field) is None and value is not None
    assert quality.counts.get("header_value", 0) == is_dropped


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_cores", -1),
        ("cpu_cores", 1.5),
        ("cpu_cores", True),
        ("parameters", 2**60),
        ("gpu_names", ["A", 3]),
        ("gpu_names", "A"),
        ("gpu_memory_bytes", [-1]),
        ("tf32_matmul", 2),
        ("tf32_matmul", "true"),
        ("environment", ["OMP_NUM_THREADS"]),
        ("data_parallel_options", {"a b": 1}),
        ("data_parallel_options", {"a": [1]}),
        ("data_parallel_options", {f"a{number}": 1 for number in range(51)}),
    ],
)
def test_a_wrong_value_is_dropped_and_counted(field: str, value: Any) -> None:
    settings, quality = read(**{field: value})
    assert settings == ProgramSettings()
    assert quality.counts == {"header_value": 1}
    (example,) = quality.examples["header_value"]
    assert example.startswith(f"program_settings.{field}: ")


def test_only_allow_listed_environment_variables_are_read() -> None:
    secrets = {"HF_TOKEN": "x", "HOME": "/home/alice", "OMP_NUM_THREADS": "/home/alice"}
    settings, quality = read(environment={**secrets, "CUDA_LAUNCH_BLOCKING": "1"}, HF_TOKEN="x")
    assert settings.environment == {"CUDA_LAUNCH_BLOCKING": "1"}
    assert "alice" not in str(quality.examples)


def test_long_texts_are_truncated_and_unpaired_surrogates_replaced() -> None:
    settings, _ = read(cpu_model="x" * 5000, autocast="\ud800")
    assert settings.cpu_model == "x" * 200
    assert settings.autocast == "\ufffd"
