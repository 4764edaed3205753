"""What one recording says of where and how it was made, each thing as text or with the reason.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

import re
from collections import defaultdict

from msgspec import Struct

from torch_tb_profiler.analysis.communication.roles import Role, role_intervals
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.knowledge.surroundings import surroundings
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.device_properties import NOT_DECLARED
from torch_tb_profiler.views.quality_notes import LOSS_ISSUES
from torch_tb_profiler.views.versions import cuda_version, hip_version

NO_DEVICE = "none (CPU)"
NO_MODEL = " (model not recorded)"
"""Behind what devices are that a recording does not name."""
NO_DAMAGE = "none"
NOT_RECORDED = "not recorded"
NO_JOB = "no distributed job recorded"
ALONE = "1 (no distributed job or collective recorded)"
AT_LEAST = "at least "
MAX_TEXT = 200
"""Longer values are cut: a file may hold anything."""

_TORCH_FRAME = re.compile(r"(?:.*/)?(torch/[\w/]+\.py)\((\d+)\): (\w+)")
_OPTIONS = {
    "record_shapes": "shapes",
    "with_stack": "stacks",
    "profile_memory": "memory",
    "with_flops": "FLOPs",
    "with_modules": "modules",
}


class Setting(Struct, frozen=True):
    """What one side says.

    Attributes:
        text: For people; None where it says nothing.
        reason: Why ``text`` is None, or why it cannot be compared.
    """

    text: str | None
    reason: str | None = None


def setting(value: str | int | None, reason: str = NOT_RECORDED) -> Setting:
    """``value`` as text, or the reason why there is none."""
    text = None if value is None or value == "" else str(value)[:MAX_TEXT]
    return Setting(text, None if text is not None else reason)


def device(trace: Trace) -> Setting:
    """Models of the devices that worked."""
    used = trace.devices.filter(trace.devices["used"])
    if trace.device_work.is_empty():
        is_lost = bool(trace.quality.counts.get("launch_without_kernel"))
        return Setting(None, "device work is not recorded") if is_lost else Setting(NO_DEVICE)
    names = used["name"].to_list()
    if not names or any(name is None for name in names):
        kind = recorder(trace).devices
        return Setting(None, NOT_DECLARED) if kind is None else Setting(f"{kind}{NO_MODEL}")
    return setting(", ".join(sorted(set(names))))


def device_count(trace: Trace) -> Setting:
    """How many devices worked."""
    return Setting(str(trace.devices.filter(trace.devices["used"]).height))


def runtime(trace: Trace) -> Setting:
    """Version of the device runtime."""
    info = trace.meta.info
    cuda, hip = cuda_version(info.cuda_runtime_version), hip_version(info.hip_runtime_version)
    return setting(f"CUDA {cuda}" if cuda else f"HIP {hip}" if hip else None)


def driver(trace: Trace) -> Setting:
    """The newest CUDA that the driver can run."""
    return setting(cuda_version(trace.meta.info.cuda_driver_version))


def _job(trace: Trace) -> JobInfo:
    return trace.meta.info.job or JobInfo()


def world_size(trace: Trace) -> Setting:
    """How many ranks there are; where only groups are told, the size of the largest."""
    size = _job(trace).world_size
    if size:
        return setting(size)
    largest = trace.collectives["group_size"].max()
    if isinstance(largest, int) and largest > 1:
        return Setting(f"{AT_LEAST}{largest}")
    if len(role_intervals(trace)[Role.COMMUNICATION].start_ns):
        return Setting(None, "collectives ran, but the number of ranks is not recorded")
    return Setting(None, NO_JOB)


def rank(trace: Trace) -> Setting:
    """Which of them this is."""
    return setting(_job(trace).rank, NO_JOB)


def backend(trace: Trace) -> Setting:
    """What collectives run on."""
    return setting(_job(trace).backend)


def library(trace: Trace) -> Setting:
    """Version of NCCL or RCCL."""
    return setting(_job(trace).library_version)


def host(trace: Trace) -> Setting:
    """The machine. No recording names its processor."""
    return setting(trace.meta.info.host_name)


def cudnn_benchmark(trace: Trace) -> Setting:
    """Whether cuDNN tries its algorithms."""
    value = trace.meta.info.settings.cudnn_benchmark
    return setting(None if value is None else "on" if value else "off")


def file_format(trace: Trace) -> Setting:
    """The format, with the framework that ran the model."""
    info = trace.meta.info
    version = f" {info.framework_version}" if info.framework_version else ""
    framework = f" ({info.framework}{version})" if info.framework else ""
    return setting(f"{trace.meta.format}{framework}")


def recording(trace: Trace) -> Setting:
    """The recording options, as far as the file has them."""
    options = trace.meta.info.recording
    known = [title for key, title in _OPTIONS.items() if getattr(options, key)]
    says = any(getattr(options, key) is not None for key in _OPTIONS)
    return Setting(", ".join(known) or "nothing") if says else Setting(None, NOT_RECORDED)


def damage(trace: Trace) -> Setting:
    """Damages by which events are missing."""
    problems = sorted(LOSS_ISSUES & set(trace.quality.counts))
    return Setting(", ".join(issue.replace("_", " ") for issue in problems) or NO_DAMAGE)


def links(trace: Trace) -> Setting:
    """How much of the device work has no launch in the file, and how many launches no work."""
    work = trace.device_work
    lost = trace.quality.counts.get("launch_without_kernel", 0)
    if work.is_empty() and not lost:
        return Setting(None, "no device work")
    launches = f"; {lost:,} launches without GPU work" if lost else ""
    return Setting(f"{work['launch'].null_count():,} of {work.height:,}{launches}")


def steps(basis: StepBasis) -> Setting:
    """How many steps are averaged over, of how many."""
    count = basis.trace.steps.height
    if not len(basis.rows):
        return Setting(None, "no step in the selection")
    return Setting(f"{len(basis.rows):,} of {count:,}")


def cut_steps(basis: StepBasis) -> Setting:
    """Names of steps of which only a part is there."""
    windows = step_windows(basis.trace, basis.selection)
    names = [*windows.cut, *windows.left_out]
    return setting(", ".join(dict.fromkeys(names)) or "none")


@per_trace
def torch_lines(trace: Trace) -> dict[tuple[str, str], frozenset[int]]:
    """Lines of some of torch's own functions as frames name them, by file and function; made
    once."""
    is_python = trace.slices["category"].is_in([Category.PYTHON_FUNCTION, Category.MODULE])
    lines: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for code in trace.slices["name_code"].filter(is_python).unique().to_list():
        match = _TORCH_FRAME.fullmatch(trace.text(code) or "")
        if match is not None and match[3] in surroundings().torch_functions:
            lines[match[1], match[3]].add(int(match[2]))
    return {key: frozenset(values) for key, values in lines.items()}
