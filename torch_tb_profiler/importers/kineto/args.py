"""Undecoded ``args`` → structs, one bad event at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.repair import repaired_object
from torch_tb_profiler.trace.quality import QualityReport

EMPTY = b"{}"


def decode_args(
    decoder: msgspec.json.Decoder[Any], raws: Sequence[msgspec.Raw], quality: QualityReport
) -> list[Any]:
    """Every item of ``raws`` decoded; what is no object counts as an empty one."""
    try:
        return structs.list_decoder(decoder).decode(b"".join((b"[", b",".join(raws), b"]")))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [_decode_one(decoder, bytes(raw), quality) for raw in raws]


def _decode_one(decoder: msgspec.json.Decoder[Any], raw: bytes, quality: QualityReport) -> Any:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        return decoder.decode(repaired_object(raw, quality))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return decoder.decode(EMPTY)
