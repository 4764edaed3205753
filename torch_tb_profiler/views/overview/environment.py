"""Facts on the environment of a recording, with reasons for missing ones."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler._version import __version__
from torch_tb_profiler.analysis.recording.torch_version import torch_version
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.recognition import RULES, rules_text
from torch_tb_profiler.views.schema import Fact, Scalar, Unit
from torch_tb_profiler.views.versions import cuda_version, hip_version

MAX_TEXT = 200
"""Longer values are cut: a file may hold anything."""

NOT_RECORDED = "Not recorded."
NO_CUDA = "The program ran on HIP (ROCm), not on CUDA."
NO_GPU = "The recording lists no GPU, and none ran any work."
NO_NAME = "The recording does not name its GPUs."
NO_FRAMEWORK = "The recording does not name its framework, and its version cannot be inferred."


class _Entry(Struct, frozen=True):
    """One fact.

    Attributes:
        reason: Why ``value`` is None; None leaves the fact out then.
    """

    key: str
    title: str
    value: Scalar
    help: str
    reason: str | None = None
    unit: Unit | None = None


def environment_facts(trace: Trace) -> tuple[Fact, ...]:
    """Facts on the machine, its devices, versions, and the place in a distributed job."""
    entries = (*_machine(trace), *_versions(trace), *_job(trace))
    return tuple(
        Fact(
            each.key,
            each.title,
            each.value,
            each.unit,
            None,
            each.help,
            each.reason if each.value is None else None,
        )
        for each in entries
        if each.value is not None or each.reason is not None
    )


def _machine(trace: Trace) -> tuple[_Entry, ...]:
    launches = trace.quality.counts.get("launch_without_kernel", 0)
    uses_device = launches > 0 or not trace.device_work.is_empty()
    settings = trace.meta.info.settings
    names = trace.devices["name"].drop_nulls().unique(maintain_order=True).to_list()
    names = names or list(dict.fromkeys(settings.gpu_names or ()))
    return (
        _Entry(
            "device_type",
            "Device type",
            "GPU" if uses_device else "CPU",
            "GPU if the recording contains device work or launches of it.",
        ),
        _Entry(
            "gpu_count",
            "GPUs",
            trace.devices.height or len(settings.gpu_names or ()) or None,
            "GPUs that the recording lists or that ran work in it.",
            NO_GPU,
            "count",
        ),
        _Entry(
            "gpu_names",
            "GPU models",
            _plain(", ".join(names)),
            "Distinct model names of these GPUs.",
            NO_NAME if trace.devices.height else NO_GPU,
        ),
        _Entry(
            "cpu_model",
            "CPU model",
            _plain(settings.cpu_model),
            "CPU of the machine.",
            NOT_RECORDED,
        ),
        _Entry(
            "host_name",
            "Host",
            _plain(trace.meta.info.host_name),
            "Machine that was profiled.",
            NOT_RECORDED,
        ),
    )


def _versions(trace: Trace) -> tuple[_Entry, ...]:
    info = trace.meta.info
    hip = hip_version(info.hip_runtime_version)
    built_with = _plain(info.settings.cuda_version)
    no_cuda = NO_CUDA if hip is not None else NOT_RECORDED
    version = info.recorder_version or ""
    # A bare number is that of the layout: Kineto writes no other.
    recorder = f", schema {version}" if version.isdecimal() else f" {version}".rstrip()
    return (
        _Entry(
            "cuda_driver_version",
            "CUDA driver",
            cuda_version(info.cuda_driver_version),
            "Newest CUDA version that the driver supports.",
            no_cuda,
        ),
        _Entry(
            "cuda_runtime_version",
            "CUDA runtime",
            cuda_version(info.cuda_runtime_version) or (None if hip else built_with),
            "CUDA version the program was built with.",
            no_cuda,
        ),
        _Entry("hip_runtime_version", "HIP runtime", hip, "HIP (ROCm) version of the program."),
        _Entry(
            "cudnn_version",
            "cuDNN",
            _plain(info.settings.cudnn_version),
            "Version of NVIDIA's deep learning library.",
            NOT_RECORDED,
        ),
        _Entry(
            "framework",
            "Framework",
            _plain(_framework(trace)),
            "Framework that ran the model; a range of torch versions is inferred from the "
            "contents of the file.",
            NO_FRAMEWORK,
        ),
        _Entry(
            "profiler",
            "Profiler",
            _plain(f"{info.recorder or trace.meta.format}{recorder}"),
            "Profiler that wrote the recording, with its version.",
        ),
        _Entry("tool_version", "torch-tb-profiler", __version__, "Version of this program."),
        _Entry(RULES.key, RULES.title, rules_text(trace), RULES.help),
    )


def _framework(trace: Trace) -> str | None:
    info = trace.meta.info
    names = []
    if info.framework:
        names.append(f"{info.framework} {info.framework_version or ''}".rstrip())
    detected = torch_version(trace)
    if detected is not None:
        names.append(f"PyTorch {detected}")
    return ", ".join(names) or None


def _job(trace: Trace) -> tuple[_Entry, ...]:
    job = trace.meta.info.job or JobInfo()
    return (
        _Entry("backend", "Backend", _plain(job.backend), "Communication backend."),
        _Entry("rank", "Rank", job.rank, "Rank of this process."),
        _Entry(
            "world_size",
            "World size",
            job.world_size,
            "Number of processes of the distributed job.",
        ),
        _Entry(
            "nccl_version",
            "NCCL",
            _plain(job.library_version or trace.meta.info.settings.nccl_version),
            "Version of the communication library.",
        ),
    )


def _plain(value: str | int | None) -> Scalar:
    """A number as it is, a text cut, None for an empty one."""
    return (value[:MAX_TEXT] or None) if isinstance(value, str) else value
