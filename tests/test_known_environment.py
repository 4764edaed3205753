"""Only variables of the allow-list are stored, and only values of their form."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from torch_tb_profiler.known_environment import KINDS, is_allowed
from torch_tb_profiler.trace.info import ProgramSettings

ROOT = Path(__file__).parent.parent

KEPT = {
    "OMP_NUM_THREADS": ["1", "8,2", "16"],
    "CUDA_VISIBLE_DEVICES": ["0,1,2,3", "", "-1", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"],
    "PYTORCH_CUDA_ALLOC_CONF": [
        "max_split_size_mb:512,expandable_segments:True",
        "garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,512:2]",
    ],
    "KMP_AFFINITY": ["granularity=fine,compact,1,0"],
    "OMP_PLACES": ["cores", "{0:4},{4:4}"],
    "NCCL_DEBUG": ["INFO", "WARN"],
    "NCCL_IB_HCA": ["^mlx5_0", "mlx5_0:1,mlx5_1:1"],
    "CUBLAS_WORKSPACE_CONFIG": [":4096:8", ":16:8"],
    "TORCH_DISTRIBUTED_DEBUG": ["DETAIL"],
    "CUDA_LAUNCH_BLOCKING": ["1"],
}
SECRETS = (
    "hf_abcdefghijklmnopqrstuvwxyz0123456789",
    "/home/alice/.cache/torch",
    "https://alice:pass@host/",
    "C:\\Users\\alice",
    "alice@example.com",
    "1\n2",
    "a" * 300,
    "１６",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_usual_values_are_allowed(name: str) -> None:
    for value in KEPT[name]:
        assert is_allowed(name, value), value


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_variable_keeps_what_may_be_a_secret(name: str) -> None:
    for value in (*SECRETS, None, 3, ["1"]):
        assert not is_allowed(name, value), value


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "HOME", "USER", "MASTER_ADDR", "PATH",
     "NCCL_TOPO_FILE", "TORCH_HOME", "NCCL_DEBUG_FILE", "CUDA_HOME", "TORCHINDUCTOR_CACHE_DIR",
     "cuda_launch_blocking", "", None, 3],
)  # fmt: skip
def test_other_variables_are_not_allowed(name: object) -> None:
    assert not is_allowed(name, "1")


def test_no_name_denotes_a_secret_a_location_or_a_person() -> None:
    parts = {part for name in KINDS for part in name.split("_")}
    assert not parts & {"TOKEN", "KEY", "SECRET", "PASSWORD", "URL", "HOME", "PATH", "DIR", "FILE",
                        "USER", "ADDR", "HOST", "NAME"}  # fmt: skip


def test_the_docs_name_every_variable_and_every_setting() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    settings, after = text.split("## Environment")
    environment = after.partition("\n## ")[0]
    assert set(re.findall(r"`([A-Z0-9_]+)`", environment)) == set(KINDS)
    assert set(ProgramSettings.__struct_fields__) <= set(re.findall(r"`([a-z0-9_]+)`", settings))


def test_a_value_that_nearly_fits_is_rejected_quickly() -> None:
    """Work grows with the length, not with the ways to read it: processor time is counted."""
    began = time.process_time()
    for value in ("a," * 100 + "/", ",=" * 100, "0" * 200, "GPU-" + "a" * 196, "1:" * 99 + "x"):
        for name in KINDS:
            is_allowed(name, value)
    assert time.process_time() - began < 5
