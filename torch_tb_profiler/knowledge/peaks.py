"""Peak rates of devices, from the vendors' tables in ``peaks.toml``.

Definitions: ``docs/peaks.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.dtypes import canonical
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.gpus import MAX_NAME_CHARS, specification
from torch_tb_profiler.once import once

TF32 = "tf32"
"""Products of float32 operands that matrix units round."""

_ALIASES = {
    "fp8": "float8",
    "fp4": "float4",
    "nvfp4": "float4",
    "mxfp4": "float4",
    "tfloat32": TF32,
    TF32: TF32,
    "uint8": "int8",
}
"""Spellings of types that traces do not use for tensors."""

PEAK_TYPES = (
    "float64",
    "float32",
    TF32,
    "float16",
    "bfloat16",
    "float8",
    "float4",
    "int8",
)
"""The types with known peaks, in the order of tables."""


class PeakEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One device model as written in ``peaks.toml``; all rates in TFLOP/s (int8: TOP/s)."""

    pattern: str
    matrix: dict[str, float]
    vector: dict[str, float]
    sparse: dict[str, float]
    source: str
    examples: tuple[str, ...]
    bandwidth_gb_per_s: float | None = None
    note: str | None = None


class PeakFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``peaks.toml``."""

    peaks: tuple[PeakEntry, ...]


class DevicePeaks(msgspec.Struct, frozen=True):
    """The peak rates of a device, dense unless stated otherwise.

    Attributes:
        matrix: Element type → TFLOP/s of products on matrix units.
        vector: Element type → TFLOP/s of all other work.
        sparse: Element type → TFLOP/s of products with 2:4 sparsity, for information only.
        bandwidth_gb_per_s: 10^9 bytes per second of its memory; None if unknown.
        source: Where the figures are published.
        note: A remark about the figures; None for none.
    """

    matrix: Mapping[str, float]
    vector: Mapping[str, float]
    sparse: Mapping[str, float] = msgspec.field(default_factory=dict)
    bandwidth_gb_per_s: float | None = None
    source: str = ""
    note: str | None = None

    def of_products(self, dtype: str) -> float | None:
        """TFLOP/s of products of operands of ``dtype`` (``"tf32"``: rounded float32), on matrix
        units if they support the type, else on vector units."""
        return self.matrix.get(dtype) or self.vector.get(dtype)

    def of_other_work(self, dtype: str) -> float | None:
        """TFLOP/s of work other than products. Types narrower than 32 bits without a rate are
        computed as float32."""
        own = self.vector.get(dtype)
        narrow = dtype in ("float16", "bfloat16", "float8", "float4", "int8")
        return self.vector.get("float32") if own is None and narrow else own


@once
def peak_file() -> PeakFile:
    """The entries of the file."""
    return load("peaks.toml", PeakFile)


@lru_cache(maxsize=1024)
def peaks(device_name: str, memory_bytes: int | None = None) -> DevicePeaks | None:
    """The peaks of a device by its name in a trace, and its memory where that has several models;
    None for an unknown model."""
    for entry in peak_file().peaks:
        if re.search(entry.pattern, device_name[:MAX_NAME_CHARS], re.IGNORECASE):
            known = specification(device_name, memory_bytes)
            return DevicePeaks(
                matrix=entry.matrix,
                vector=entry.vector,
                sparse=entry.sparse,
                bandwidth_gb_per_s=(
                    known.bandwidth_gb_per_s if known is not None else entry.bandwidth_gb_per_s
                ),
                source=entry.source,
                note=entry.note,
            )
    return None


def peak_type(name: str) -> str | None:
    """``"bfloat16"`` for ``"bf16"`` and every spelling of traces; None for types without a peak."""
    text = name.strip()
    dtype = _ALIASES.get(text.lower()) or canonical(text)
    dtype = _ALIASES.get(dtype or "", dtype)
    return dtype if dtype in PEAK_TYPES else None
