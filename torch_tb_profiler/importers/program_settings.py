"""What a recording says its program had set → :class:`ProgramSettings`; nothing of it is trusted.

Written by the recorder into its journal, or by a program itself
(``prof.add_metadata_json("program_settings", …)``). A value that is not of its type and range is
left out and counted; JSON's null is an absent value. Unknown keys are left out: they may hold
anything.
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
"""Nothing that a version, a core or a batch counts is larger."""

MAX_PARAMETERS = 2**53
MAX_TEXT_CHARS = 200
MAX_OPTIONS = 50
MAX_DIGITS = 19

_Read = Callable[[Any, QualityReport], Any]


class _WrongError(ValueError):
    """A value is not what it should be."""


def program_settings(
    values: Mapping[str, Any], quality: QualityReport, issue: str, place: str = "program_settings"
) -> ProgramSettings:
    """The settings among ``values``.

    Args:
        values: Field of :class:`ProgramSettings` → anything that JSON can hold.
        quality: Is told of each value that is left out.
        issue: The count for values that are left out.
        place: What stands before the field in an example.
    """
    kept: dict[str, Any] = {}
    for field, read in _READERS.items():
        value = values.get(field)
        if value is None:
            continue
        try:
            kept[field] = read(value, quality)
        except _WrongError:
            quality.add(issue, 1, f"{place}.{field}: {preview(value)}")
    return ProgramSettings(**kept)


def _flag(value: Any, _: QualityReport) -> bool:
    """A boolean, maybe written as 0 or 1."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise _WrongError


def _whole(most: int) -> _Read:
    """A whole number, maybe written as ``2.0`` or ``"2"``."""

    def read(value: Any, _: QualityReport) -> int:
        is_digits = isinstance(value, str) and value.isascii() and value.isdigit()
        if (is_digits and len(value) <= MAX_DIGITS) or (
            isinstance(value, float) and value.is_integer()
        ):
            value = int(value)
        if type(value) is int and 0 <= value <= most:
            return value
        raise _WrongError

    return read


def _text(value: Any, quality: QualityReport) -> str:
    """A text, cut to what names and versions have; halves of characters become U+FFFD."""
    if not isinstance(value, str):
        raise _WrongError
    text = value[:MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    quality.add("bad_encoding", int("\ufffd" in text and "\ufffd" not in value))
    return text


def _each(item: _Read) -> _Read:
    """A list: all of it or nothing, for places count."""

    def read(value: Any, quality: QualityReport) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) > MAX_DEVICES:
            raise _WrongError
        return tuple(item(one, quality) for one in value)

    return read


def _environment(value: Any, _: QualityReport) -> dict[str, str]:
    """The variables of the allow-list; of others not even the name is kept."""
    if not isinstance(value, dict):
        raise _WrongError
    return {name: text for name, text in value.items() if is_allowed(name, text)}


def _options(value: Any, quality: QualityReport) -> dict[str, Any]:
    """Options of data parallelism: words for names, switches, numbers and texts for values."""
    if not isinstance(value, dict) or len(value) > MAX_OPTIONS:
        raise _WrongError
    kept: dict[str, Any] = {}
    for name, option in value.items():
        if not (isinstance(name, str) and name.isidentifier() and len(name) <= MAX_TEXT_CHARS):
            raise _WrongError
        if isinstance(option, bool):
            kept[name] = option
        elif isinstance(option, int | float):
            kept[name] = _COUNT(option, quality)
        elif option is not None:
            kept[name] = _text(option, quality)
    return kept


_COUNT = _whole(MAX_COUNT)
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
    "parameters": _whole(MAX_PARAMETERS),
    "gpu_names": _each(_text),
    "gpu_memory_bytes": _each(_whole(MAX_BYTES)),
    "data_parallel_options": _options,
    "environment": _environment,
}
"""Field → what reads it."""
