"""Types of the header: one table of the types and ranges of its keys, and the validation by it.

A value of the wrong type is dropped and counted; JSON's null is an absent value. A wrong item of a
list of objects is dropped; a wrong item of a list of numbers invalidates the list, because fewer
ranks would be another process group.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, preview
from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES, MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

MAX_COUNT = 2**31 - 1
"""The largest plausible count of a device property, or version number."""

MAX_BASE_NS = 2**62
"""Larger epoch times (after the year 2116) are damage; the sum of two smaller ones does not
overflow."""

MAX_CORES = 1e5
"""More cores than a machine has; no process uses more."""

MAX_DIGITS = 19


class WrongValueError(ValueError):
    """A value has the wrong type; the message has its path and the value."""

    def __init__(self, path: str, value: Any) -> None:
        super().__init__(f"{path}: {preview(value)}")


class ValueType(Protocol):
    """A type of value."""

    def read(self, value: Any, path: str, quality: QualityReport, /) -> Any:
        """Validate and convert a value.

        Args:
            value: Any JSON value except null.
            path: Its path in the header, ``distributedInfo.rank``, for the note.
            quality: Counts problems inside it, if the rest can be used.

        Raises:
            WrongValueError: it is not of this type.
        """


class IntegerType(msgspec.Struct, frozen=True):
    """An integer, which may be written as ``2.0``; a boolean is not one.

    Attributes:
        minimum: The smallest valid value.
        maximum: The largest valid value.
        may_be_text: Whether decimal digits in quotes are valid, too.
    """

    minimum: int = 0
    maximum: int = MAX_COUNT
    may_be_text: bool = False

    def read(self, value: Any, path: str, _: QualityReport) -> int:
        """The number."""
        number = int(value) if self._is_integral(value) else value
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if is_number and self.minimum <= number <= self.maximum:
            return int(number)
        raise WrongValueError(path, value)

    def _is_integral(self, value: Any) -> bool:
        if isinstance(value, float):
            return value.is_integer()
        if not (self.may_be_text and isinstance(value, str)):
            return False
        return len(value) <= MAX_DIGITS and value.isascii() and value.isdigit()


class FlagType(msgspec.Struct, frozen=True):
    """A boolean, which may be written as 0 or 1; it is returned as it is."""

    def read(self, value: Any, path: str, _: QualityReport) -> int:
        """The flag."""
        if isinstance(value, int) and value in (0, 1):
            return value
        raise WrongValueError(path, value)


class NumberType(msgspec.Struct, frozen=True):
    """A non-negative number or its text (``"0.400000"``).

    Attributes:
        maximum: The largest valid value.
    """

    maximum: float = MAX_CORES

    def read(self, value: Any, path: str, _: QualityReport) -> float:
        """The number."""
        if isinstance(value, float | int | str) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                number = float(value)
                if 0 <= number <= self.maximum:
                    return number
        raise WrongValueError(path, value)


class TextType(msgspec.Struct, frozen=True):
    """A text; long ones are truncated, and unpaired surrogates become U+FFFD."""

    def read(self, value: Any, path: str, quality: QualityReport) -> str:
        """The text."""
        if not isinstance(value, str):
            raise WrongValueError(path, value)
        quality.add("text_cut", int(len(value) > MAX_TEXT_CHARS))
        text = value[:MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        quality.add("bad_encoding", int("\ufffd" in text and "\ufffd" not in value))
        return text


class UnionType(msgspec.Struct, frozen=True):
    """The first matching one of several types."""

    types: tuple[ValueType, ...]

    def read(self, value: Any, path: str, quality: QualityReport) -> Any:
        """The value, converted by that type."""
        for kind in self.types:
            with suppress(WrongValueError):
                return kind.read(value, path, quality)
        raise WrongValueError(path, value)


class IntegerListType(msgspec.Struct, frozen=True):
    """A list of integers; one wrong item invalidates the list."""

    item: IntegerType

    def read(self, value: Any, path: str, quality: QualityReport) -> list[int]:
        """The numbers."""
        if not isinstance(value, list):
            raise WrongValueError(path, value)
        return [self.item.read(each, path, quality) for each in value]


class ObjectType(msgspec.Struct, frozen=True):
    """An object with known keys; other keys are dropped, because they may hold secrets.

    Attributes:
        parts: Key → type.
        identity: The key of its id, if any; a wrong id invalidates the object.
    """

    parts: Mapping[str, ValueType]
    identity: str | None = None

    def read(self, value: Any, path: str, quality: QualityReport) -> dict[str, Any]:
        """The known keys, without null and wrong values."""
        if not isinstance(value, dict):
            raise WrongValueError(path, value)
        if self.identity is not None and value.get(self.identity) is not None:
            id_type = self.parts[self.identity]
            id_type.read(value[self.identity], _joined(path, self.identity), quality)
        parts = {
            key: _read_or_count(value_type, value.get(key), _joined(path, key), quality)
            for key, value_type in self.parts.items()
        }
        return {key: part for key, part in parts.items() if part is not None}


class ObjectListType(msgspec.Struct, frozen=True):
    """A list of objects; wrong items and those beyond the limit are dropped."""

    item: ObjectType
    max_items: int

    def read(self, value: Any, path: str, quality: QualityReport) -> list[dict[str, Any]]:
        """The objects."""
        if not isinstance(value, list):
            raise WrongValueError(path, value)
        quality.add("header_value", len(value) - self.max_items, f"{path}: {preview(value)}")
        items = (
            _read_or_count(self.item, item, f"{path}[{position}]", quality)
            for position, item in enumerate(value[: self.max_items])
        )
        return [item for item in items if item is not None]


class JournalBlocksType(msgspec.Struct, frozen=True):
    """The blocks of a journal that the recorder appended; the importer of journals decodes them."""

    def read(self, value: Any, path: str, quality: QualityReport) -> list[dict[str, Any]]:
        """The blocks."""
        blocks = value.get("blocks") if isinstance(value, dict) else None
        if not isinstance(blocks, list):
            raise WrongValueError(path, value)
        whole = [block for block in blocks if isinstance(block, dict)]
        quality.add("header_value", len(blocks) - len(whole))
        return whole


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _read_or_count(value_type: ValueType, value: Any, path: str, quality: QualityReport) -> Any:
    """The value converted by its type; None if it is null or wrong."""
    try:
        return None if value is None else value_type.read(value, path, quality)
    except WrongValueError as error:
        quality.add("header_value", 1, str(error))
        return None


_SHARE = NumberType()
_BYTES = IntegerType(0, MAX_BYTES, may_be_text=True)
_COUNT = IntegerType(may_be_text=True)
_VERSION = IntegerType(-1)
_RANK = IntegerType(0, MAX_RANKS - 1)
_RANKS = IntegerType(0, MAX_RANKS)
_NAME = UnionType((TextType(), IntegerType(0, 2**63 - 1)))
_FLAG = FlagType()
_MAX_GROUPS = 1 << 20

DEVICE = ObjectType(
    {
        "id": IntegerType(0, MAX_DEVICES - 1, may_be_text=True),
        "name": TextType(),
        "totalGlobalMem": _BYTES,
        "computeMajor": _COUNT,
        "computeMinor": _COUNT,
        "maxThreadsPerBlock": _COUNT,
        "maxThreadsPerMultiprocessor": _COUNT,
        "regsPerBlock": _COUNT,
        "regsPerMultiprocessor": _COUNT,
        "warpSize": _COUNT,
        "sharedMemPerBlock": _BYTES,
        "sharedMemPerMultiprocessor": _BYTES,
        "sharedMemPerBlockOptin": _BYTES,
        "sharedMemPerBlockOption": _BYTES,
        "maxSharedMemoryPerMultiProcessor": _BYTES,
        "numSms": _COUNT,
        "smCount": _COUNT,
    },
    identity="id",
)
"""A device without an id has its index as id; one with a wrong id is dropped."""

PROCESS_GROUP = ObjectType(
    {
        "pg_name": _NAME,
        "pg_desc": _NAME,
        "uid": _NAME,
        "backend_config": TextType(),
        "pg_size": _RANKS,
        "ranks": UnionType((IntegerListType(_RANK), TextType())),  # text: on-demand recordings
    }
)

JOB = ObjectType(
    {
        "backend": TextType(),
        "rank": _RANK,
        "world_size": _RANKS,
        "pg_count": IntegerType(),
        "pg_config": ObjectListType(PROCESS_GROUP, _MAX_GROUPS),
        "nccl_version": UnionType((TextType(), IntegerType(), IntegerListType(IntegerType()))),
    }
)

EXTRA_INFO = ObjectType({"Process Cpu Utilization": _SHARE, "System Cpu Utilization": _SHARE})
"""Written by Paddle, which also puts thread names into it."""


class ProgramSettingsType(msgspec.Struct, frozen=True):
    """Settings that the program added with ``add_metadata_json``."""

    def read(self, value: Any, path: str, quality: QualityReport) -> dict[str, Any]:
        """The known settings, as JSON values."""
        if not isinstance(value, dict):
            raise WrongValueError(path, value)
        settings = program_settings(value, quality, "header_value", path)
        parts = msgspec.json.decode(msgspec.json.encode(settings))
        return {key: part for key, part in parts.items() if part is not None}


HEADER = ObjectType(
    {
        "schemaVersion": UnionType((IntegerType(), TextType())),
        "baseTimeNanoseconds": IntegerType(0, MAX_BASE_NS),
        "deviceProperties": ObjectListType(DEVICE, MAX_DEVICES),
        "computeProperties": ObjectListType(DEVICE, MAX_DEVICES),
        "distributedInfo": JOB,
        "Framework": TextType(),
        "host_name": TextType(),
        "cuda_runtime_version": _VERSION,
        "cuda_driver_version": _VERSION,
        "hip_runtime_version": _VERSION,
        "record_shapes": _FLAG,
        "with_stack": _FLAG,
        "profile_memory": _FLAG,
        "with_flops": _FLAG,
        "with_modules": _FLAG,
        "displayTimeUnit": TextType(),
        "ExtraInfo": EXTRA_INFO,
        "program_settings": ProgramSettingsType(),
        "torch_tb_profiler": JournalBlocksType(),
    }
)
"""The keys of a header that are read. The rest may hold secrets (for example a dump of the
environment) and never reaches a trace, a cache or a response."""


def typed_header(decoded: dict[str, Any], quality: QualityReport) -> dict[str, Any]:
    """The known keys of a decoded header, validated; ``quality`` counts wrong values."""
    return HEADER.read(decoded, "", quality)
