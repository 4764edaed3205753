"""What each device of a trace reaches at most: by the vendor's table, or as somebody says.

Definitions: ``docs/peaks.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.knowledge.peaks import PEAK_TYPES, DevicePeaks, peak_type, peaks
from torch_tb_profiler.trace.model import Trace

BANDWIDTH = "bandwidth_gb_per_s"
GIVEN = "given by you"
_VECTOR = "_vector"
_EXAMPLE = "bfloat16=989.4,float32=66.9,bandwidth_gb_per_s=3350"
_SHOWN = 40
_MAX_CHARS = 1000


def device_peaks(trace: Trace, peak: str | None = None) -> dict[int, DevicePeaks]:
    """Device → its peaks, of the devices that anything is known of: by their names, and by
    ``peak`` (:func:`given_peaks`), which comes before the tables and holds for all devices.

    Raises:
        SelectionError: ``peak`` cannot be understood.
    """
    given = given_peaks(peak)
    by_device = {}
    memory_bytes = dict(trace.devices.select("device", "memory_bytes").rows())
    for device, name in _names(trace).items():
        known = peaks(name or "", memory_bytes.get(device))
        if given is not None:
            known = _joined(known, given)
        if known is not None:
            by_device[device] = known
    return by_device


def _names(trace: Trace) -> dict[int, str | None]:
    """Every device that did something or is described, with the name it has."""
    named: dict[int, str | None] = {}
    if trace.device_work.height:
        present = trace.device_work["device"].drop_nulls().unique().sort()
        named = dict.fromkeys(present.to_list())
    rows = trace.devices.select(pl.col("device"), pl.col("name")).rows()
    return named | {int(device): name for device, name in rows if device is not None}


def _joined(known: DevicePeaks | None, given: DevicePeaks) -> DevicePeaks:
    if known is None:
        return given
    return replace(
        known,
        matrix={**known.matrix, **given.matrix},
        vector={**known.vector, **given.vector},
        bandwidth_gb_per_s=given.bandwidth_gb_per_s or known.bandwidth_gb_per_s,
        source=f"{GIVEN}; the rest: {known.source}",
    )


@lru_cache(maxsize=64)
def given_peaks(text: str | None) -> DevicePeaks | None:
    """The peaks that ``text`` gives, None for none::

        bfloat16=989.4,float32=66.9,bandwidth_gb_per_s=3350

    ``<type>`` is the rate of products of that type in TFLOP/s, and of ``float32`` and ``float64``
    that of other work too unless ``<type>_vector`` gives it apart.

    Raises:
        SelectionError: it cannot be understood; the message says what is wrong.
    """
    if not (text or "").strip():
        return None
    assert text is not None
    if len(text) > _MAX_CHARS:
        raise SelectionError(f"peak: {len(text)} characters are too many")
    matrix: dict[str, float] = {}
    vector: dict[str, float] = {}
    bandwidth = None
    for part in (part for part in text.split(",") if part.strip()):
        key, _, amount = part.partition("=")
        key, value = key.strip(), _amount(part, amount)
        dtype = peak_type(key.removesuffix(_VECTOR))
        if key == BANDWIDTH:
            bandwidth = value
        elif dtype is None:
            known = ", ".join((*PEAK_TYPES, BANDWIDTH))
            raise SelectionError(f"peak: {key[:_SHOWN]!r} is none of {known}")
        elif key.endswith(_VECTOR):
            vector[dtype] = value
        else:
            matrix[dtype] = value
    for dtype in ("float32", "float64"):
        if dtype in matrix:
            vector.setdefault(dtype, matrix[dtype])
    return DevicePeaks(matrix, vector, {}, bandwidth, GIVEN)


def _amount(part: str, text: str) -> float:
    """The number behind ``=``.

    Raises:
        SelectionError: there is none, or it is not above 0.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise SelectionError(
            f"peak: {part.strip()[:_SHOWN]!r} needs a number above 0, like {_EXAMPLE}"
        )
    return value


def described(peaks: Mapping[int, DevicePeaks]) -> dict[int, str]:
    """Device → where its peaks are from, for people."""
    return {
        device: known.source if known.note is None else f"{known.source} ({known.note})"
        for device, known in peaks.items()
    }
