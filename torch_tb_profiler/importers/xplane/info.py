"""Metadata of a profile: devices, the framework, the time it began, what it does not hold."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.importers.xplane.lines import device_of
from torch_tb_profiler.importers.xplane.space import PlaneContent
from torch_tb_profiler.trace.info import Capability, DeviceInfo, NotRecorded, TraceInfo
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES

RECORDER = "XLA profiler"
"""Its name in ``knowledge/recorders.toml``."""

ENVIRONMENT, METADATA = "Task Environment", "/host:metadata"
START = "profile_start_time"
LATEST_NS = 2**62
"""Latest valid time since 1970: the year 2116."""

MODEL, VENDOR = "device_type_string", "device_vendor"
MEMORY, CORES = "memory_size", "core_count"
MAJOR, MINOR = "compute_cap_major", "compute_cap_minor"
FRAMEWORKS = (
    ("jax_version", "JAX"),
    ("torch_xla_version", "PyTorch/XLA"),
    ("tf_version", "TensorFlow"),
)
MAX_VERSION_CHARS = 40

GPU = "GPU"

NOT_READ: tuple[tuple[Capability, str], ...] = (
    ("input_shapes", "An XPlane profile has no inputs of operators as values."),
    ("input_types", "An XPlane profile has no inputs of operators as values."),
    ("memory", "Allocations in an XPlane profile are not read."),
    ("modules", "An XPlane profile names scopes of the framework instead of modules: Groups has "
     "them, in the domain 'name scope'."),
    ("occupancy", "An XPlane profile has no occupancy of kernels."),
    ("blocks_per_sm", "An XPlane profile has no blocks per multiprocessor."),
)  # fmt: skip
NO_DEVICE = (
    "The profile has no plane of a device with events: the program ran on the host alone, or the "
    "device was not profiled."
)


def first_time_ns(planes: Iterable[PlaneContent]) -> int:
    """When the profile began, in nanoseconds since 1970; 0 if it does not say."""
    for plane in planes:
        if plane.name == ENVIRONMENT:
            value = plane.stats.scalar(START)
            if isinstance(value, int) and 0 < value < LATEST_NS:
                return value
    return 0


def trace_info(planes: list[PlaneContent], *, has_work: bool) -> TraceInfo:
    """What a profile says apart from its events."""
    framework, version = _framework(planes)
    missing: list[tuple[Capability, str]] = list(NOT_READ)
    missing += [] if has_work else [("kernels", NO_DEVICE)]
    return TraceInfo(
        framework=framework,
        framework_version=version,
        recorder=RECORDER,
        devices=_devices(planes),
        not_recorded=tuple(NotRecorded(capability, reason) for capability, reason in missing),
    )


def _framework(planes: list[PlaneContent]) -> tuple[str | None, str | None]:
    for plane in planes:
        if plane.name == METADATA:
            for stat, name in FRAMEWORKS:
                version = plane.stats.scalar(stat)
                if isinstance(version, str):
                    return name, version[:MAX_VERSION_CHARS]
    return None, None


def _devices(planes: list[PlaneContent]) -> tuple[DeviceInfo, ...]:
    devices = []
    for plane in planes:
        device = device_of(plane)
        if device is None or device.core or device.number >= MAX_DEVICES:
            continue
        name, vendor = plane.stats.scalar(MODEL), plane.stats.scalar(VENDOR)
        is_gpu = device.type == GPU
        devices.append(
            DeviceInfo(
                device=device.number,
                name=name if isinstance(name, str) else vendor if isinstance(vendor, str) else None,
                memory_bytes=_count(plane, MEMORY, MAX_BYTES),
                compute_major=_count(plane, MAJOR, 1000),
                compute_minor=_count(plane, MINOR, 1000),
                sm_count=_count(plane, CORES, 1 << 20) if is_gpu else None,
            )
        )
    return tuple(devices)


def _count(plane: PlaneContent, stat: str, most: int) -> int | None:
    value = plane.stats.scalar(stat)
    return value if isinstance(value, int) and 0 < value <= most else None
