"""What the programs of two recordings had set, each thing as text.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.recorded import NOT_RECORDED, Setting, setting

ON, OFF = "on", "off"
NOTHING_COMPILED = "not used"
NOT_SET = "not set"

SWITCHES = {
    "tf32_matmul": "TF32 matmul",
    "tf32_cudnn": "TF32 convolutions",
    "deterministic_algorithms": "deterministic algorithms",
    "cudnn_deterministic": "deterministic cuDNN",
    "anomaly_mode": "anomaly detection",
    "gradcheck": "gradcheck",
}
"""Setting → what it switches."""


def _settings(trace: Trace) -> ProgramSettings:
    return trace.meta.info.settings


def processor(trace: Trace) -> Setting:
    """The CPU and how many cores the program may use."""
    settings = _settings(trace)
    cores = f"{settings.cpu_cores} cores" if settings.cpu_cores else ""
    return setting(", ".join(filter(None, (settings.cpu_model, cores))))


def switches(trace: Trace) -> Setting:
    """The switches of torch that are on, of those that are recorded."""
    known = {name: getattr(_settings(trace), name) for name in SWITCHES}
    if all(value is None for value in known.values()):
        return Setting(None, NOT_RECORDED)
    return Setting(", ".join(SWITCHES[name] for name, is_on in known.items() if is_on) or "none on")


def compilation(trace: Trace) -> Setting:
    """How ``torch.compile`` was called."""
    mode = _settings(trace).compile_mode
    return setting(NOTHING_COMPILED if mode == "" else mode)


def parameters(trace: Trace) -> Setting:
    """How many elements the parameters have."""
    count = _settings(trace).parameters
    return setting(None if count is None else f"{count:,}")


def optimizer(trace: Trace) -> Setting:
    """The optimizer, and how it updates."""
    settings = _settings(trace)
    way = "fused" if settings.optimizer_fused else "foreach" if settings.optimizer_foreach else ""
    return setting(", ".join(filter(None, (settings.optimizer, way))))


def data_parallel(trace: Trace) -> Setting:
    """The wrapper for data parallelism with its options."""
    settings = _settings(trace)
    if settings.data_parallel is None:
        return Setting(None, NOT_RECORDED)
    options = _listed(settings.data_parallel_options or {})
    return setting(f"{settings.data_parallel or 'none'}{f' ({options})' if options else ''}")


def loader(trace: Trace) -> Setting:
    """How data are loaded."""
    settings = _settings(trace)
    if settings.loader_workers is None:
        return Setting(None, NOT_RECORDED)
    options = {
        "workers": settings.loader_workers,
        "prefetch": settings.prefetch_factor,
        "pinned": settings.pin_memory,
        "persistent": settings.persistent_workers,
    }
    return setting(_listed(options))


def environments(a: Trace, b: Trace) -> tuple[Setting, Setting]:
    """Of the variables those that differ; where none does, how many both set alike."""
    own, other = _settings(a).environment, _settings(b).environment
    if own is None or other is None:
        return (_count(own), _count(other))
    differing = [name for name in sorted({*own, *other}) if own.get(name) != other.get(name)]
    if not differing:
        return (_count(own), _count(other))
    return (
        setting(_listed({name: own.get(name, NOT_SET) for name in differing})),
        setting(_listed({name: other.get(name, NOT_SET) for name in differing})),
    )


def _count(environment: Mapping[str, str] | None) -> Setting:
    if environment is None:
        return Setting(None, NOT_RECORDED)
    return Setting(f"{len(environment)} of the recorded variables are set")


def _listed(options: Mapping[str, object]) -> str:
    words = {True: ON, False: OFF}
    return ", ".join(
        f"{name}={words[value] if isinstance(value, bool) else value}"
        for name, value in options.items()
        if value is not None
    )
