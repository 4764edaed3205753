"""Settings of the program as facts, as far as recorded."""

from __future__ import annotations

from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact, Scalar

MAX_TEXT = 200
"""Longer values are cut: a file may hold anything."""

OFF, ON = "off", "on"


def settings_facts(trace: Trace) -> tuple[Fact, ...]:
    """Facts on the program's settings; none where nobody recorded them."""
    settings = trace.meta.info.settings
    entries = (*_of_torch(settings), *_of_training(settings), *_of_data(settings))
    return tuple(
        Fact(key, title, value[:MAX_TEXT] if isinstance(value, str) else value, None, None, text)
        for key, title, value, text in entries
        if value is not None
    )


_Setting = tuple[str, str, Scalar, str]


def _of_torch(settings: ProgramSettings) -> tuple[_Setting, ...]:
    autocast = settings.autocast
    return (
        ("python_version", "Python", settings.python_version, "Python version of the program."),
        ("driver_version", "GPU driver", settings.driver_version, "Version of the GPU driver."),
        ("cpu_cores", "CPU cores", settings.cpu_cores, "CPU cores available to the program."),
        (
            "autocast",
            "Autocast",
            OFF if autocast == "" else autocast,
            "Data type of torch.autocast.",
        ),
        (
            "matmul_precision",
            "Float32 matmul precision",
            settings.matmul_precision,
            "torch.set_float32_matmul_precision: highest is float32, high is TF32, medium is "
            "bfloat16.",
        ),
        (
            "tf32_matmul",
            "TF32 matmul",
            _switch(settings.tf32_matmul),
            "Whether CUDA may use TF32 there.",
        ),
        (
            "tf32_cudnn",
            "TF32 convolutions",
            _switch(settings.tf32_cudnn),
            "Whether CUDA may use TF32 there.",
        ),
        (
            "cudnn_benchmark",
            "cuDNN benchmark",
            _switch(settings.cudnn_benchmark),
            "Whether cuDNN benchmarks its algorithms and uses the fastest.",
        ),
        (
            "determinism",
            "Deterministic algorithms",
            _determinism(settings),
            "Reproducible results, usually slower.",
        ),
        (
            "compile_mode",
            "torch.compile",
            _compiled(settings),
            "Mode of torch.compile, or its backend.",
        ),
        (
            "debugging_aids",
            "Debugging aids",
            _aids(settings),
            "Debugging features that were active during the run.",
        ),
    )


def _of_training(settings: ProgramSettings) -> tuple[_Setting, ...]:
    parallel, options = settings.data_parallel, settings.data_parallel_options or {}
    listed = ", ".join(f"{name}={_word(value)}" for name, value in options.items())
    return (
        (
            "parameters",
            "Parameters",
            settings.parameters,
            "Number of elements of the parameters that optimizers update.",
        ),
        (
            "optimizer",
            "Optimizer",
            optimizer_text(settings),
            "Class of the optimizer and its implementation.",
        ),
        (
            "data_parallel",
            "Data parallelism",
            parallel_text(parallel, listed),
            "Wrapper of the model and its options.",
        ),
    )


def _of_data(settings: ProgramSettings) -> tuple[_Setting, ...]:
    environment = settings.environment
    listed = None
    if environment is not None:
        listed = ", ".join(f"{name}={value}" for name, value in environment.items()) or "none set"
    return (
        ("batch_size", "Batch size", settings.batch_size, "Samples per batch of the data loader."),
        ("data_loader", "Data loader", loader_text(settings), "Settings of the first data loader."),
        (
            "environment",
            "Environment",
            listed,
            "Environment variables that affect performance; others are not recorded.",
        ),
    )


def optimizer_text(settings: ProgramSettings) -> str | None:
    """``"AdamW, fused"``; None where nobody recorded it."""
    if not settings.optimizer:
        return None
    if settings.optimizer_fused:
        return f"{settings.optimizer}, fused"
    if settings.optimizer_foreach:
        return f"{settings.optimizer}, foreach"
    is_for_loop = settings.optimizer_fused is False and settings.optimizer_foreach is False
    return f"{settings.optimizer}, for-loop" if is_for_loop else settings.optimizer


def parallel_text(wrapper: str | None, options: str) -> str | None:
    """``"DDP (bucket_cap_mb=25)"``; None where nobody recorded it."""
    if wrapper is None:
        return None
    return f"{wrapper} ({options})" if wrapper and options else wrapper or "none"


def loader_text(settings: ProgramSettings) -> str | None:
    """``"4 workers, prefetch 2, pinned, persistent"``; None where nobody recorded it."""
    if settings.loader_workers is None:
        return None
    count = settings.loader_workers
    parts = ["in the main process" if not count else f"{count} workers"]
    parts += [f"prefetch {settings.prefetch_factor}"] if settings.prefetch_factor else []
    parts += ["pinned"] if settings.pin_memory else []
    parts += ["persistent"] if settings.persistent_workers else []
    return ", ".join(parts)


def _switch(value: bool | None) -> str | None:
    return None if value is None else ON if value else OFF


def _word(value: bool | int | str) -> str:
    return (ON if value else OFF) if isinstance(value, bool) else str(value)


def _determinism(settings: ProgramSettings) -> str | None:
    if settings.deterministic_algorithms:
        return "torch's and cuDNN's"
    if settings.cudnn_deterministic:
        return "cuDNN's"
    return _switch(settings.deterministic_algorithms)


def _compiled(settings: ProgramSettings) -> str | None:
    return "not used" if settings.compile_mode == "" else settings.compile_mode


def _aids(settings: ProgramSettings) -> str | None:
    aids = {"anomaly detection": settings.anomaly_mode, "gradcheck": settings.gradcheck}
    if all(is_on is None for is_on in aids.values()):
        return None
    return ", ".join(name for name, is_on in aids.items() if is_on) or "none"
