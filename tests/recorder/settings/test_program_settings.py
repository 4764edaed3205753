"""Settings of torch programs are recorded as they are in effect, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.recorder.events import StepRecord
from torch_tb_profiler.recorder.settings import machine_settings
from torch_tb_profiler.recorder.settings.program_settings import SettingsRecorder
from torch_tb_profiler.recorder.settings.torch_settings import torch_switches
from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.quality import QualityReport

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


class Session:
    """The part of a session that the settings need."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.missing: list[tuple[str, str]] = []
        self.parts: dict[str, Any] = {}
        self.journal = SimpleNamespace(is_open=True, write=self.blocks.append)

    def report_missing(self, what: str, reason: str) -> None:
        self.missing.append((what, reason))

    @property
    def values(self) -> dict[str, Any]:
        """The settings as a reader merges them: later values apply."""
        merged: dict[str, Any] = {}
        for block in self.blocks:
            merged.update(block.get("values", {}))
        return merged


@contextmanager
def recorded() -> Iterator[Session]:
    session = Session()
    part = SettingsRecorder(session)  # type: ignore[arg-type]
    part.start()
    try:
        yield session
    finally:
        part.stop("exit")


def model() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 3))


def test_settings_of_a_plain_program() -> None:
    with recorded() as session:
        net = model()
        optimizer = torch.optim.AdamW(net.parameters())
        net(torch.rand(2, 10)).sum().backward()
        optimizer.step()
    values = session.values
    assert values["torch_version"] == torch.__version__
    assert values["python_version"] == ".".join(map(str, sys.version_info[:3]))
    assert values["parameters"] == 10 * 20 + 20 + 20 * 3 + 3
    assert values["optimizer"] == "AdamW"
    assert (values["optimizer_fused"], values["optimizer_foreach"]) == (False, False)  # on a CPU
    assert values["cpu_cores"] <= (os.cpu_count() or 1)
    assert (values["autocast"], values["compile_mode"], values["data_parallel"]) == ("", "", "")
    assert not values["anomaly_mode"]
    assert "gpu_names" not in values  # CUDA was not initialised, and is not for this
    assert not torch.cuda.is_initialized()
    assert session.missing == []
    assert {block["kind"] for block in session.blocks} == {"settings", "cost"}


def test_the_importer_accepts_all_settings() -> None:
    with recorded() as session:
        optimizer = torch.optim.SGD(model().parameters(), lr=1)
    quality = QualityReport()
    settings = program_settings(session.values, quality, "journal_value")
    assert quality == QualityReport()
    assert set(session.values) <= set(ProgramSettings.__struct_fields__)
    assert settings.optimizer == type(optimizer).__name__


@pytest.mark.parametrize(
    ("options", "fused", "foreach"),
    [({}, False, False), ({"fused": True}, True, False), ({"foreach": True}, False, True)],
)
def test_optimizer_implementations(options: dict[str, bool], fused: bool, foreach: bool) -> None:
    with recorded() as session:
        optimizer = torch.optim.Adam(model().parameters(), **options)
    assert isinstance(optimizer, torch.optim.Adam)
    assert session.values["optimizer_fused"] is fused
    assert session.values["optimizer_foreach"] is foreach


def test_optimizers_that_share_parameters_count_them_once() -> None:
    with recorded() as session:
        net = model()
        both = torch.optim.SGD(net.parameters()), torch.optim.AdamW(net[0].parameters())
    assert len(both) == 2
    assert session.values["optimizer"] == "SGD, AdamW"
    assert session.values["parameters"] == sum(each.numel() for each in net.parameters())


def test_without_optimizers_parameters_are_those_of_the_outermost_module() -> None:
    net = model()
    with recorded() as session:
        session.parts["steps"] = SimpleNamespace(outermost=weakref.ref(net))
    assert session.values["parameters"] == sum(each.numel() for each in net.parameters())
    assert "optimizer" not in session.values


def test_temporary_settings_are_detected() -> None:
    x = torch.rand(2, 10)
    with recorded() as session:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model()(x)
        with torch.autocast("cpu", enabled=False):
            model()(x)
        with torch.autograd.detect_anomaly(check_nan=False):
            pass
        torch.autograd.gradcheck(torch.sin, torch.rand(1, dtype=torch.float64, requires_grad=True))
        torch.compile(model(), mode="reduce-overhead")
    values = session.values
    assert values["autocast"] == "bfloat16"
    assert values["anomaly_mode"]
    assert values["gradcheck"]
    assert values["compile_mode"] == "reduce-overhead"


def test_disabling_anomaly_detection_does_not_count_as_use() -> None:
    with recorded() as session:
        torch.autograd.set_detect_anomaly(False)
    assert not session.values["anomaly_mode"]


def test_changes_are_written_at_the_end() -> None:
    session = Session()
    part = SettingsRecorder(session)  # type: ignore[arg-type]
    part.start()
    part.flush()
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not before
    try:
        part.stop("exit")
    finally:
        torch.backends.cudnn.benchmark = before
    first, changed = (each["values"] for each in session.blocks if each["kind"] == "settings")
    assert first["cudnn_benchmark"] is before
    assert changed == {"cudnn_benchmark": not before}


def test_earlier_optimizers_are_searched_if_needed() -> None:
    optimizer = torch.optim.SGD(model().parameters(), lr=0.1)
    session = Session()
    part = SettingsRecorder(session)  # type: ignore[arg-type]
    part.start()
    part.step_ended(StepRecord(0, "train", "optimizer", 0, 1))
    part.stop("exit")
    assert type(optimizer).__name__ in session.values["optimizer"].split(", ")


def test_torch_is_restored_afterwards() -> None:
    def functions() -> tuple[Any, ...]:
        return (
            torch.optim.Optimizer.__init__,
            torch.nn.parallel.DistributedDataParallel.__init__,
            torch.autocast.__enter__,
            torch.compile,
            torch.autograd.gradcheck,
        )

    before = functions()
    with recorded():
        assert functions() != before
    assert functions() == before


SWITCHES = """
import json, torch
from torch_tb_profiler.recorder.settings.torch_settings import torch_switches
{set}
print(json.dumps(torch_switches(torch)))
"""


def test_the_new_tf32_api_is_read_without_warnings() -> None:
    if not hasattr(torch.backends, "fp32_precision"):
        pytest.skip("this torch has the old API only")
    command = "torch.backends.cuda.matmul.fp32_precision = 'tf32'"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SWITCHES.format(set=command)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["tf32_matmul"], result["matmul_precision"]) == (True, "high")
    assert result["tf32_cudnn"] is True


def test_the_old_tf32_api_is_read() -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        result = torch_switches(torch)
    finally:
        torch.set_float32_matmul_precision(before)
    assert (result["tf32_matmul"], result["matmul_precision"]) == (True, "high")


def test_data_parallel_wrappers() -> None:
    distributed = torch.distributed
    if not distributed.is_available():
        pytest.skip("torch without distributed")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        with recorded() as session:
            ddp = torch.nn.parallel.DistributedDataParallel(
                model(), bucket_cap_mb=7, gradient_as_bucket_view=True
            )
        del ddp
    finally:
        distributed.destroy_process_group()
    values = session.values
    assert values["data_parallel"] == "DDP"
    expected = {"bucket_cap_mb": 7, "gradient_as_bucket_view": True, "static_graph": False,
                "find_unused_parameters": False, "backend": "gloo", "world_size": 1}  # fmt: skip
    assert expected.items() <= values["data_parallel_options"].items()


def test_no_secret_of_the_environment_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "HF_TOKEN": "hf_secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "USER": "secret",
        "PYTORCH_CUDA_ALLOC_CONF": "/home/secret/x",
        "NCCL_DEBUG": "https://secret@host/",
        "OMP_NUM_THREADS": "3",
    }.items():
        monkeypatch.setenv(name, value)
    with recorded() as session:
        pass
    assert session.values["environment"]["OMP_NUM_THREADS"] == "3"
    assert "secret" not in str(session.blocks) + str(session.missing)
    ((what, reason),) = session.missing
    assert what == "settings"
    assert "PYTORCH_CUDA_ALLOC_CONF" in reason
    assert "NCCL_DEBUG" in reason


@pytest.mark.parametrize(
    ("number", "text"), [(91002, "9.10.2"), (90100, "9.1.0"), (8902, "8.9.2"), (8500, "8.5.0")]
)
def test_cudnn_versions(number: int, text: str) -> None:
    assert machine_settings._cudnn_text(number) == text
