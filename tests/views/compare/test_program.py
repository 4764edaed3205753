"""Settings of two programs side by side: what differs is told, what nobody recorded is no row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.views.compare.test_surroundings import ALL, around, training, warnings
from torch_tb_profiler.views.compare.surroundings import OF_PROGRAM
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View


def compared(baseline: dict[str, Any], candidate: dict[str, Any]) -> View:
    sides = [training(program_settings=settings) for settings in (baseline, candidate)]
    return compare(sides[0], ALL, sides[1], ALL)


def test_what_nobody_recorded_is_no_row() -> None:
    assert not around(compared({}, {})).keys() & {*OF_PROGRAM, "environment"}


@pytest.mark.parametrize(
    ("kind", "baseline", "candidate", "texts"),
    [
        ("processor", {"cpu_model": "A", "cpu_cores": 8}, {"cpu_model": "A", "cpu_cores": 4},
         ("A, 8 cores", "A, 4 cores")),
        ("switches", {"tf32_matmul": True, "gradcheck": False}, {"tf32_matmul": False},
         ("TF32 matmul", "none on")),
        ("compilation", {"compile_mode": ""}, {"compile_mode": "max-autotune"},
         ("not used", "max-autotune")),
        ("parameters", {"parameters": 1000}, {"parameters": 2_000_000}, ("1,000", "2,000,000")),
        ("optimizer", {"optimizer": "AdamW", "optimizer_foreach": True},
         {"optimizer": "AdamW", "optimizer_fused": True}, ("AdamW, foreach", "AdamW, fused")),
        ("data_parallel", {"data_parallel": ""},
         {"data_parallel": "DDP", "data_parallel_options": {"bucket_cap_mb": 25}},
         ("none", "DDP (bucket_cap_mb=25)")),
        ("loader", {"loader_workers": 0}, {"loader_workers": 2, "pin_memory": True},
         ("workers=0", "workers=2, pinned=on")),
        ("environment", {"environment": {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "1"}},
         {"environment": {"NCCL_DEBUG": "INFO", "KMP_BLOCKTIME": "1"}},
         ("KMP_BLOCKTIME=not set, OMP_NUM_THREADS=1", "KMP_BLOCKTIME=1, OMP_NUM_THREADS=not set")),
        ("torch", {"torch_version": "2.13.0+cu130"}, {"torch_version": "2.13.1+cu130"},
         ("2.13.0+cu130", "2.13.1+cu130")),
    ],
)  # fmt: skip
def test_what_differs_is_told(
    kind: str, baseline: dict[str, Any], candidate: dict[str, Any], texts: tuple[str, str]
) -> None:
    view = compared(baseline, candidate)
    row = around(view)[kind]
    assert (row["baseline"], row["candidate"]) == texts
    assert (row["same"], row["severity"]) == (False, "info")
    assert warnings(view) == []
    assert f"other_{kind}" in {note.code for note in view.notes}
    same = around(compared(baseline, baseline))[kind]
    assert same["same"] is True


def test_one_side_alone_is_not_compared() -> None:
    row = around(compared({"environment": {}}, {}))["environment"]
    assert row["same"] is None
    assert "Candidate" in row["reason"]
