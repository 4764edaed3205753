"""Versions, processor, GPUs and allowed environment variables, read without side effects."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from torch_tb_profiler.known_environment import KINDS, is_allowed
from torch_tb_profiler.recorder.samples.cpu_limits import usable_cores

CPU_INFO = "/proc/cpuinfo"
DRIVERS = ("/proc/driver/nvidia/version", "/sys/module/amdgpu/version")
READ_CHARS = 4096
_VERSION = re.compile(r"\b\d+\.\d+(\.\d+)*\b")


def machine_settings(torch: Any) -> dict[str, Any]:
    """Versions and hardware the program runs on; unknown values are omitted.

    GPUs are only read if the program has initialized CUDA: reading them would initialize it.
    """
    version = torch.version
    values: dict[str, Any] = {
        "torch_version": str(torch.__version__),
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "cuda_version": version.cuda,
        "driver_version": _driver(),
        "cpu_model": _cpu_model(),
        "cpu_cores": max(1, int(usable_cores() or os.cpu_count() or 1)),
        "environment": environment(),
    }
    if torch.cuda.is_initialized():
        values.update(_gpus(torch))
    return {key: value for key, value in values.items() if value is not None}


def environment() -> dict[str, str]:
    """The allowed environment variables whose values are of the expected kind."""
    values = {name: os.environ[name] for name in KINDS if name in os.environ}
    return {name: value for name, value in values.items() if is_allowed(name, value)}


def rejected_variables() -> list[str]:
    """The allowed environment variables whose values are not of the expected kind."""
    return [name for name in KINDS if name in os.environ and not is_allowed(name, os.environ[name])]


def _gpus(torch: Any) -> dict[str, Any]:
    devices = [
        torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())
    ]
    cudnn = torch.backends.cudnn.version()
    return {
        "gpu_names": [str(each.name) for each in devices],
        "gpu_memory_bytes": [int(each.total_memory) for each in devices],
        "cudnn_version": None if cudnn is None else _cudnn_text(cudnn),
        "nccl_version": _nccl(torch),
    }


def _cudnn_text(number: int) -> str:
    """91002 is 9.10.2, 8902 is 8.9.2: before version 9 the major version counts thousands."""
    unit = 10_000 if number >= 90_000 else 1000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"


def _nccl(torch: Any) -> str | None:
    if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
        return None
    version = torch.cuda.nccl.version()
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)


def _driver() -> str | None:
    for path in DRIVERS:
        match = _VERSION.search(_beginning(path))
        if match is not None:
            return match[0]
    return None


def _cpu_model() -> str | None:
    """Name of the first processor; missing on ARM."""
    match = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", _beginning(CPU_INFO), re.M)
    return match[1].strip() if match is not None else os.environ.get("PROCESSOR_IDENTIFIER")


def _beginning(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(READ_CHARS)
    except OSError:
        return ""
