"""The texts that records of rocprofv3's JSON refer to by number (``strings`` of a process)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

KERNEL_DISPATCH = "KERNEL_DISPATCH"


class JsonNames(Struct):
    """Texts by number.

    Attributes:
        kinds: Number of a kind of records → its name.
        operations: (kind, operation) → name of the function or direction.
        markers: Correlation id of a call of ROCTx → the message.
        externals: External correlation id → the range that kernels are named after.
    """

    kinds: dict[int, str] = field(default_factory=dict)
    operations: dict[tuple[int, int], str] = field(default_factory=dict)
    markers: dict[int, str] = field(default_factory=dict)
    externals: dict[int, str] = field(default_factory=dict)

    def operation(self, kind: int, operation: int) -> str:
        """The name of an operation; contains only its number if the name is unknown."""
        return self.operations.get((kind, operation)) or f"operation {operation}"


class _Correlations(Struct):
    external: Any = None


class _Strings(Struct):
    buffer_records: Any = None
    marker_api: Any = None
    correlation_id: _Correlations = field(default_factory=_Correlations)


_DECODER = msgspec.json.Decoder(_Strings)


def read_names(text: bytes) -> JsonNames | None:
    """The names in the text of ``strings``; None if it is damaged."""
    try:
        strings = _DECODER.decode(text.decode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    names = JsonNames(
        markers=_texts(strings.marker_api), externals=_texts(strings.correlation_id.external)
    )
    records = strings.buffer_records
    for number, record in enumerate(records if isinstance(records, list) else ()):
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            names.kinds[number] = record["kind"]
            _add_operations(names, number, record.get("operations"))
    return names


def _add_operations(names: JsonNames, kind: int, operations: Any) -> None:
    if isinstance(operations, list):
        operations = dict(enumerate(operations))
    for number, name in _texts(operations).items():
        names.operations[kind, number] = name


def _texts(entries: Any) -> dict[int, str]:
    """Number → text of an object, or of a list of objects with ``key`` and ``value``."""
    if isinstance(entries, list):
        pairs = [(each.get("key"), each.get("value")) for each in entries if isinstance(each, dict)]
    else:
        pairs = list(entries.items()) if isinstance(entries, dict) else []
    texts: dict[int, str] = {}
    for key, text in pairs:
        number = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 20 else key
        if isinstance(number, int) and isinstance(text, str):
            texts[number] = text
    return texts
