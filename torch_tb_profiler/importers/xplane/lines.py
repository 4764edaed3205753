"""What the lines of a plane hold, by the names of both."""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

from torch_tb_profiler.importers.xplane.space import PlaneContent, PlaneLine


class LineKind(IntEnum):
    """What a line holds."""

    HOST = 0
    """Events of a thread of the host."""
    STREAM = 1
    """Kernels and copies of one stream of a GPU."""
    OPERATIONS = 2
    """HLO operations as they ran on a core."""
    MODULES = 3
    """Runs of a whole XLA program."""
    STEPS = 4
    """Steps as the device saw them."""
    DERIVED = 5
    """What repeats or groups other lines, and all that is not known: never work."""


DEVICE_PLANE = re.compile(r"/device:(?P<type>[A-Za-z_]+):(?P<number>\d{1,6})(?P<core> .*)?")
"""``/device:TPU:0`` and ``/device:TPU:0 SparseCore 1``."""

_CORE_NUMBER = re.compile(r"\d{1,6}")
_STREAM = re.compile(r"Stream #(\d{1,18})")
STEPS = "Steps"
_KINDS = {
    "XLA Ops": LineKind.OPERATIONS,
    "Sparse Core Ops": LineKind.OPERATIONS,
    "XLA Modules": LineKind.MODULES,
    "Sparse Core Modules": LineKind.MODULES,
    STEPS: LineKind.STEPS,
}


class PlaneDevice(Struct, frozen=True):
    """The device of a plane.

    Attributes:
        type: ``"TPU"``, ``"GPU"``.
        number: Its number on the host.
        core: Number of the core whose operations the plane has: 0, for others of the device 1 …
    """

    type: str
    number: int
    core: int


def device_of(plane: PlaneContent) -> PlaneDevice | None:
    """The device of a plane; None for planes of the host."""
    match = DEVICE_PLANE.fullmatch(plane.name)
    if match is None or match["type"] == "CUSTOM":
        return None
    core = match["core"]
    number = _CORE_NUMBER.search(core) if core else None
    return PlaneDevice(
        match["type"], int(match["number"]), 0 if not core else 1 + int(number[0] if number else 0)
    )


def has_streams(plane: PlaneContent) -> bool:
    """Whether a plane has the streams of a GPU: what else it has was derived from them."""
    return any(_STREAM.match(line.name) for line in plane.lines)


def kind_of(line: PlaneLine, device: PlaneDevice | None, *, with_streams: bool) -> LineKind:
    """What a line holds.

    Args:
        line: The line.
        device: The device of its plane; None on the host.
        with_streams: Whether its plane has streams.
    """
    if device is None:
        return LineKind.HOST
    if with_streams and _STREAM.match(line.name):
        return LineKind.STREAM
    kind = _KINDS.get(line.name, LineKind.DERIVED)
    return LineKind.DERIVED if with_streams and kind == LineKind.OPERATIONS else kind


def stream_of(line: PlaneLine, device: PlaneDevice) -> int:
    """The stream of work on a line: its number, or the core of operations."""
    match = _STREAM.match(line.name)
    return device.core if match is None else int(match[1])
