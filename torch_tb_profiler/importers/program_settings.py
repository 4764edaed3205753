"""Validation of the program settings in a recording → :class:`ProgramSettings`.

The recorder writes them into its journal; a program can write them itself with
``prof.add_metadata_json("program_settings", …)``. A value of the wrong type or out of range is
dropped and counted; JSON's null is an absent value. Unknown keys are dropped, because they may hold
secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch_tb_profiler.importers.kineto.values import preview
from torch_tb_profiler.known_environment import is_allowed
from torch_tb_profiler.trace.info import ProgramSettings
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES
from torch_tb_profiler.trace.quality import QualityReport

MAX_COUNT = 2**31 - 1
"""The largest plausible version number, core count or batch size."""

MAX_PARAMETERS = 2**53
MAX_TEXT_CHARS = 200
MAX_OPTIONS = 50
MAX_DIGITS = 19

_Read = Callable[[Any, QualityReport], Any]


class _WrongError(ValueError):
    """A value has the wrong type or is out of range."""


def program_settings(
    values: Mapping[str, Any], quality: QualityReport, issue: str, path: str = "program_settings"
) -> ProgramSettings:
    """Validate settings.

    Args:
        values: Field of :class:`ProgramSettings` → any JSON value.
        quality: Counts dropped values.
        issue: The code that dropped values are counted under.
        path: JSON path of ``values``, for examples.
    """
    settings: dict[str, Any] = {}
    for field, read in _READERS.items():
        value = values.get(field)
        if value is None:
            continue
        try:
            settings[field] = read(value, quality)
        except _WrongError:
            quality.add(issue, 1, f"{path}.{field}: {preview(value)}")
    return ProgramSettings(**settings)


def _flag(value: Any, _: QualityReport) -> bool:
    """A boolean, which may be written as 0 or 1."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise _WrongError


def _integer(maximum: int) -> _Read:
    """A reader of integers from 0 to ``maximum``, which may be written as ``2.0`` or ``"2"``."""

    def read(value: Any, _: QualityReport) -> int:
        is_digits = isinstance(value, str) and value.isascii() and value.isdigit()
        if (is_digits and len(value) <= MAX_DIGITS) or (
            isinstance(value, float) and value.is_integer()
        ):
            value = int(value)
        if type(value) is int and 0 <= value <= maximum:
            return value
        raise _WrongError

    return read


def _text(value: Any, quality: QualityReport) -> str:
    """A text, truncated to a plausible length; unpaired surrogates become U+FFFD."""
    if not isinstance(value, str):
        raise _WrongError
    text = value[:MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    quality.add("bad_encoding", int("\ufffd" in text and "\ufffd" not in value))
    return text


def _list_of(item: _Read) -> _Read:
    """A reader of lists, which fails if any item is wrong: the index of an item has a meaning."""

    def read(value: Any, quality: QualityReport) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) > MAX_DEVICES:
            raise _WrongError
        return tuple(item(each, quality) for each in value)

    return read


def _environment(value: Any, _: QualityReport) -> dict[str, str]:
    """The variables of the allow-list; not even the names of others are retained."""
    if not isinstance(value, dict):
        raise _WrongError
    return {name: text for name, text in value.items() if is_allowed(name, text)}


def _options(value: Any, quality: QualityReport) -> dict[str, Any]:
    """Options of data parallelism: identifiers → booleans, numbers or texts."""
    if not isinstance(value, dict) or len(value) > MAX_OPTIONS:
        raise _WrongError
    options: dict[str, Any] = {}
    for name, option in value.items():
        if not (isinstance(name, str) and name.isidentifier() and len(name) <= MAX_TEXT_CHARS):
            raise _WrongError
        if isinstance(option, bool):
            options[name] = option
        elif isinstance(option, int | float):
            options[name] = _COUNT(option, quality)
        elif option is not None:
            options[name] = _text(option, quality)
    return options


_COUNT = _integer(MAX_COUNT)
_TEXTS = (
    "torch_version", "python_version", "cuda_version", "cudnn_version", "nccl_version",
    "driver_version", "cpu_model", "matmul_precision", "autocast", "compile_mode", "optimizer",
    "data_parallel",
)  # fmt: skip
_FLAGS = (
    "cudnn_benchmark", "cudnn_deterministic", "deterministic_algorithms", "tf32_matmul",
    "tf32_cudnn", "anomaly_mode", "gradcheck", "optimizer_fused", "optimizer_foreach",
    "pin_memory", "persistent_workers",
)  # fmt: skip
_COUNTS = ("cpu_cores", "loader_workers", "batch_size", "prefetch_factor")

_READERS: Mapping[str, _Read] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_FLAGS, _flag),
    **dict.fromkeys(_COUNTS, _COUNT),
    "parameters": _integer(MAX_PARAMETERS),
    "gpu_names": _list_of(_text),
    "gpu_memory_bytes": _list_of(_integer(MAX_BYTES)),
    "data_parallel_options": _options,
    "environment": _environment,
}
"""Field → its reader."""
