"""The overview's facts on settings: what is recorded is said, what is not is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import Scalar

KEYS = {
    "python_version", "driver_version", "cpu_cores", "autocast", "matmul_precision", "tf32_matmul",
    "tf32_cudnn", "cudnn_benchmark", "determinism", "compile_mode", "debugging_aids", "parameters",
    "optimizer", "data_parallel", "batch_size", "data_loader", "environment",
}  # fmt: skip


def facts(**settings: Any) -> dict[str, Scalar]:
    view = overview(trace([step(1, 0, 10), op("a", 1, 2)], program_settings=settings), Selection())
    return {fact.key: fact.value for fact in view.facts}


def test_nothing_is_said_where_nobody_recorded_it() -> None:
    assert not facts().keys() & KEYS


@pytest.mark.parametrize(
    ("settings", "key", "text"),
    [
        ({"autocast": ""}, "autocast", "off"),
        ({"autocast": "bfloat16"}, "autocast", "bfloat16"),
        ({"tf32_matmul": False}, "tf32_matmul", "off"),
        ({"compile_mode": ""}, "compile_mode", "not used"),
        ({"cudnn_deterministic": True}, "determinism", "cuDNN's"),
        ({"deterministic_algorithms": False}, "determinism", "off"),
        ({"anomaly_mode": True, "gradcheck": False}, "debugging_aids", "anomaly detection"),
        ({"anomaly_mode": False}, "debugging_aids", "none"),
        ({"optimizer": "Adam", "optimizer_fused": True}, "optimizer", "Adam, fused"),
        ({"optimizer": "Muon"}, "optimizer", "Muon"),
        ({"optimizer": "SGD", "optimizer_fused": False, "optimizer_foreach": False},
         "optimizer", "SGD, for-loop"),
        ({"data_parallel": ""}, "data_parallel", "none"),
        ({"data_parallel": "DDP", "data_parallel_options": {"static_graph": True, "a": 25}},
         "data_parallel", "DDP (static_graph=on, a=25)"),
        ({"loader_workers": 0}, "data_loader", "in the main process"),
        ({"loader_workers": 4, "prefetch_factor": 2, "pin_memory": True}, "data_loader",
         "4 workers, prefetch 2, pinned"),
        ({"environment": {}}, "environment", "none set"),
        ({"environment": {"OMP_NUM_THREADS": "1", "HF_TOKEN": "x"}}, "environment",
         "OMP_NUM_THREADS=1"),
        ({"parameters": 7}, "parameters", 7),
        ({"cpu_model": "EPYC"}, "cpu_model", "EPYC"),
        ({"torch_version": "2.13.0"}, "framework", "PyTorch 2.13.0"),
        ({"gpu_names": ["H100", "H100"]}, "gpu_names", "H100"),
        ({"cuda_version": "13.0"}, "cuda_runtime_version", "13.0"),
    ],
)  # fmt: skip
def test_what_is_recorded_is_said(settings: dict[str, Any], key: str, text: Scalar) -> None:
    assert facts(**settings)[key] == text
