"""Columns of device properties, and the reasons for missing ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from torch_tb_profiler.views.schema import Column

DEVICE_MEMORY = Column(
    "memory_bytes", "Memory", "integer", "bytes", "Memory capacity of the device."
)
COMPUTE_CAPABILITY = Column(
    "compute_capability",
    "Compute Capability",
    "string",
    None,
    "Compute capability of the device, as major.minor.",
)
SM_COUNT = Column(
    "sm_count",
    "Multiprocessors",
    "integer",
    "count",
    "Number of multiprocessors of the device (SMs, compute units).",
)

NOT_DECLARED = "The recording does not describe this device."
_MISSING = {
    "name": "The recording has no name for this device.",
    DEVICE_MEMORY.key: "The recording has no memory capacity for this device.",
    COMPUTE_CAPABILITY.key: "The recording has no compute capability for this device.",
    SM_COUNT.key: "The recording has no number of multiprocessors for this device.",
}
ALWAYS = ("name", DEVICE_MEMORY.key, COMPUTE_CAPABILITY.key)
"""The properties that every table of devices shows."""

_PROPERTIES = ("name", "memory_bytes", "compute_major", "sm_count", "max_threads_per_sm")


def compute_capability(device: Mapping[str, Any]) -> str | None:
    """``"9.0"`` for a row of ``trace.devices``, None where the file gives none."""
    major = device.get("compute_major")
    return None if major is None else f"{major}.{device.get('compute_minor') or 0}"


def property_reasons(
    devices: Iterable[Mapping[str, Any]], keys: Collection[str] = ALWAYS
) -> dict[str, str]:
    """Column → why one of the properties ``keys`` of some of these rows of ``trace.devices`` is
    null: the recording does not describe a device, or lacks this property."""
    reasons: dict[str, set[str]] = {key: set() for key in keys}
    for device in devices:
        is_described = any(device.get(key) is not None for key in _PROPERTIES)
        values = {
            "name": device.get("name"),
            DEVICE_MEMORY.key: device.get("memory_bytes"),
            COMPUTE_CAPABILITY.key: compute_capability(device),
            SM_COUNT.key: device.get("sm_count"),
        }
        for key, texts in reasons.items():
            if values[key] is None:
                texts.add(_MISSING[key] if is_described else NOT_DECLARED)
    return {key: " ".join(sorted(texts)) for key, texts in reasons.items() if texts}
