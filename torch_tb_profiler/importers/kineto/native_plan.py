"""What the compiled decoder decodes of which events: its plan, which is sent with every piece.

The decoder knows no field: which arguments are read, as what, and of which events, is said here,
from :data:`~torch_tb_profiler.importers.kineto.event_kinds.ARGUMENT_FIELDS`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from torch_tb_profiler.importers.kineto.event_kinds import ARGUMENT_FIELDS, event_kind
from torch_tb_profiler.importers.kineto.structs import PROFILER_KEYS, ArgumentField
from torch_tb_profiler.importers.kineto.values import hashable
from torch_tb_profiler.trace.columns import ABSENT

INTEGER, FLOAT, TOKEN = range(3)
"""How an argument is decoded."""

OTHER_TEXT = 4
"""Added where a text may be an annotation of a user."""

MAX_KNOWN_PAIRS = 256
"""Phases and categories that are remembered: recordings have a few dozen."""

Pair = tuple[bytes, bytes]
"""An undecoded phase and category; empty where absent."""

_known_pairs: dict[Pair, int] = {}
"""The pairs of former pieces, so that most pieces are read at the first attempt."""


def _field_type(field: ArgumentField) -> int:
    if field.default == ABSENT:
        return INTEGER
    return FLOAT if isinstance(field.default, float) else TOKEN


def _packed(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _packed_kinds() -> bytes:
    parts = [struct.pack("<I", len(ARGUMENT_FIELDS))]
    for kind, fields in ARGUMENT_FIELDS.items():
        parts.append(struct.pack("<II", kind, len(fields)))
        for field in fields.values():
            other_text = 0 if field.key in PROFILER_KEYS else OTHER_TEXT
            parts += [
                struct.pack("<I", _field_type(field) + other_text),
                _packed(field.key.encode()),
            ]
        others = sorted(PROFILER_KEYS - {field.key for field in fields.values()})
        parts.append(struct.pack("<I", len(others)))
        parts += [_packed(key.encode()) for key in others]
    return b"".join(parts)


_KINDS = _packed_kinds()

FIELD_TYPES = {
    kind: {
        name: (position, _field_type(field))
        for position, (name, field) in enumerate(fields.items())
    }
    for kind, fields in ARGUMENT_FIELDS.items()
}
"""Kind → field → its position and how it is decoded."""


def _plan_of(pairs: dict[Pair, int]) -> bytes:
    """What is decoded of which events, as ``native/src/plan.rs`` reads it."""
    parts = [_KINDS, struct.pack("<I", len(pairs))]
    for (phase, category), number in pairs.items():
        parts += [_packed(phase), _packed(category), struct.pack("<I", number)]
    return b"".join(parts)


def current_plan() -> bytes:
    """The plan for the next piece, with all phases and categories so far."""
    return _plan_of(_known_pairs.copy())  # another thread may add some meanwhile


def plan_with(pairs: Sequence[Pair], values: Sequence[Any]) -> bytes:
    """The plan that knows some more phases and categories.

    Args:
        pairs: They, undecoded.
        values: The same decoded: phase, category, phase, category and so on.
    """
    hashed = list(map(hashable, values))
    kinds = map(event_kind, hashed[::2], hashed[1::2])
    added: dict[Pair, int] = dict(zip(pairs, kinds, strict=True))
    if len(_known_pairs) + len(added) <= MAX_KNOWN_PAIRS:
        _known_pairs.update(added)
    return _plan_of(_known_pairs | added)
