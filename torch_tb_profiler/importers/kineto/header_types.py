"""What the keys of a header may hold: one table of types and ranges, and how values are read by it.

A value that is not of its type is left out and told of; JSON's null is an absent value and no
mistake. Of a list of objects a wrong item is lost, of a list of numbers the whole list: fewer
ranks would be another process group.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, preview
from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES, MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

MAX_COUNT = 2**31 - 1
"""Nothing that a device or a version number counts is larger."""

MAX_BASE_NS = 2**62
"""Epoch times beyond (the year 2116) are damage; below, adding two does not overflow."""

MAX_CORES = 1e5
"""More than a machine has: no process uses more."""

MAX_DIGITS = 19


class WrongValueError(ValueError):
    """A value is not of its kind; the text names its keys and shows it."""

    def __init__(self, place: str, value: Any) -> None:
        super().__init__(f"{place}: {preview(value)}")


class ValueType(Protocol):
    """A type of value."""

    def read(self, value: Any, place: str, quality: QualityReport, /) -> Any:
        """``value`` as columns and views may rely on it.

        Args:
            value: Anything that JSON can hold, but null.
            place: Its keys, ``distributedInfo.rank``, for the note.
            quality: Is told what was wrong in it, if the rest can be used.

        Raises:
            WrongValueError: it is not of this kind.
        """


@dataclass(frozen=True, slots=True)
class IntegerType:
    """A whole number, maybe written as ``2.0``; a boolean is none.

    Attributes:
        least: The smallest that makes sense.
        most: The largest.
        may_be_text: Whether decimal digits in quotes count, too.
    """

    least: int = 0
    most: int = MAX_COUNT
    may_be_text: bool = False

    def read(self, value: Any, place: str, _: QualityReport) -> int:
        """The number."""
        number = int(value) if self._spells_whole(value) else value
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if is_number and self.least <= number <= self.most:
            return int(number)
        raise WrongValueError(place, value)

    def _spells_whole(self, value: Any) -> bool:
        if isinstance(value, float):
            return value.is_integer()
        if not (self.may_be_text and isinstance(value, str)):
            return False
        return len(value) <= MAX_DIGITS and value.isascii() and value.isdigit()


@dataclass(frozen=True, slots=True)
class FlagType:
    """A boolean, maybe written as 0 or 1; it stays what it was."""

    def read(self, value: Any, place: str, _: QualityReport) -> int:
        """The flag."""
        if isinstance(value, int) and value in (0, 1):
            return value
        raise WrongValueError(place, value)


@dataclass(frozen=True, slots=True)
class NumberType:
    """A part of something, or a few times it (``"0.400000"``): a number, or its text."""

    most: float = MAX_CORES

    def read(self, value: Any, place: str, _: QualityReport) -> float:
        """The number."""
        if isinstance(value, float | int | str) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                number = float(value)
                if 0 <= number <= self.most:
                    return number
        raise WrongValueError(place, value)


@dataclass(frozen=True, slots=True)
class TextType:
    """A text; what is too long is cut, and halves of characters are replaced by U+FFFD."""

    def read(self, value: Any, place: str, quality: QualityReport) -> str:
        """The text."""
        if not isinstance(value, str):
            raise WrongValueError(place, value)
        quality.add("text_cut", int(len(value) > MAX_TEXT_CHARS))
        text = value[:MAX_TEXT_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        quality.add("bad_encoding", int("\ufffd" in text and "\ufffd" not in value))
        return text


@dataclass(frozen=True, slots=True)
class UnionType:
    """The first of several kinds that fits."""

    kinds: tuple[ValueType, ...]

    def read(self, value: Any, place: str, quality: QualityReport) -> Any:
        """The value by that kind."""
        for kind in self.kinds:
            with suppress(WrongValueError):
                return kind.read(value, place, quality)
        raise WrongValueError(place, value)


@dataclass(frozen=True, slots=True)
class IntegerListType:
    """A list of whole numbers: all of them, or none."""

    item: IntegerType

    def read(self, value: Any, place: str, quality: QualityReport) -> list[int]:
        """The numbers."""
        if not isinstance(value, list):
            raise WrongValueError(place, value)
        return [self.item.read(one, place, quality) for one in value]


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object with known parts; of others nothing is kept, for they may hold secrets.

    Attributes:
        parts: Key → kind.
        identity: The key that says whose object it is: with a wrong one it is nobody's.
    """

    parts: Mapping[str, ValueType]
    identity: str | None = None

    def read(self, value: Any, place: str, quality: QualityReport) -> dict[str, Any]:
        """Its known parts, without those that are null or wrong."""
        if not isinstance(value, dict):
            raise WrongValueError(place, value)
        if self.identity is not None and value.get(self.identity) is not None:
            kind = self.parts[self.identity]
            kind.read(value[self.identity], _joined(place, self.identity), quality)
        parts = {
            key: _read_or_note(kind, value.get(key), _joined(place, key), quality)
            for key, kind in self.parts.items()
        }
        return {key: part for key, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class ObjectListType:
    """A list of objects; items that are none, and those beyond the limit, are lost."""

    item: ObjectType
    most: int

    def read(self, value: Any, place: str, quality: QualityReport) -> list[dict[str, Any]]:
        """The objects."""
        if not isinstance(value, list):
            raise WrongValueError(place, value)
        quality.add("header_value", len(value) - self.most, f"{place}: {preview(value)}")
        items = (
            _read_or_note(self.item, item, f"{place}[{position}]", quality)
            for position, item in enumerate(value[: self.most])
        )
        return [item for item in items if item is not None]


@dataclass(frozen=True, slots=True)
class JournalBlocksType:
    """What the recorder appended: blocks of its journal; who joins them to the trace reads them."""

    def read(self, value: Any, place: str, quality: QualityReport) -> list[dict[str, Any]]:
        """The blocks."""
        blocks = value.get("blocks") if isinstance(value, dict) else None
        if not isinstance(blocks, list):
            raise WrongValueError(place, value)
        whole = [block for block in blocks if isinstance(block, dict)]
        quality.add("header_value", len(blocks) - len(whole))
        return whole


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _read_or_note(kind: ValueType, value: Any, place: str, quality: QualityReport) -> Any:
    """``value`` by its kind; None when it is wrong or null."""
    try:
        return None if value is None else kind.read(value, place, quality)
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
"""A device without an id counts by its place; one with a wrong id is nobody's."""

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
"""Paddle's; beside these two it holds names of threads."""


@dataclass(frozen=True, slots=True)
class ProgramSettingsType:
    """What a program that adds it by ``add_metadata_json`` says of itself."""

    def read(self, value: Any, place: str, quality: QualityReport) -> dict[str, Any]:
        """Its known parts, as JSON has them."""
        if not isinstance(value, dict):
            raise WrongValueError(place, value)
        settings = program_settings(value, quality, "header_value", place)
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
"""What is kept of a header. The rest may hold secrets (dumps of the environment, say) and gets
into no trace, no cache and no answer."""


def typed_header(decoded: dict[str, Any], quality: QualityReport) -> dict[str, Any]:
    """The known keys of a decoded header, each of its type; ``quality`` is told of the others."""
    return HEADER.read(decoded, "", quality)
