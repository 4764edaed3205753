"""Reads a tree of Proton."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.proton.layout import lay_out
from torch_tb_profiler.importers.proton.tree import ProtonTree, read_tree
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import Capability, DeviceInfo, NotRecorded, TraceInfo
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "proton"
RECORDER = "Proton"
"""Its name in ``knowledge/recorders.toml``."""

SUMS_ALONE = (
    "Proton adds the calls of a kernel in a scope up: a .hatchet file has sums, not the times of "
    'single calls (data="trace" of proton.start records those).'
)
NO_HOST = "Proton records scopes of the program and kernels, no operators of a framework."
NOT_RECORDED: tuple[tuple[Capability, str], ...] = (
    ("moments", SUMS_ALONE),
    ("launches", SUMS_ALONE),
    ("runtime", SUMS_ALONE),
    ("steps", SUMS_ALONE),
    ("operators", NO_HOST),
    ("input_shapes", NO_HOST),
    ("python", "Proton's scopes stand for Python code: it records no frames."),
    ("modules", "Proton's scopes stand for modules: Groups has them."),
    ("occupancy", "Proton records no occupancy of kernels."),
    ("blocks_per_sm", "Proton records no blocks of kernels."),
    ("memory", "Proton records no memory."),
)
MAX_CALLS = 1_000_000
"""So many slices of kernels at most; the calls of those with the most are merged."""


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a tree.

    Raises:
        TraceFormatError: it is damaged from its start, or holds no times of kernels.
        StorageError, OSError: it cannot be read.
    """
    assert isinstance(source, Source), "a tree of Proton is a file"
    quality = QualityReport()
    with closing(source.unpacked()) as unpacked:
        data = b"".join(unpacked)
    tree = read_tree(data, source.name, quality)
    reading.progress(source.taken_bytes)
    if not any(node.is_kernel for node in tree.nodes):
        raise _no_kernels(source.name, tree)
    layout = lay_out(tree, MAX_CALLS, quality)
    return EventColumns(
        FORMAT,
        layout.tables,
        layout.strings,
        layout.tracks,
        0,
        1,
        TraceInfo(
            recorder=RECORDER,
            devices=_devices(tree.devices),
            not_recorded=tuple(NotRecorded(each, reason) for each, reason in NOT_RECORDED),
        ),
        quality,
        owner=layout.owner,
    )


def _no_kernels(name: str, tree: ProtonTree) -> TraceFormatError:
    if tree.has_cycles:
        return TraceFormatError(
            "no_events",
            f"{name} is a profile of Proton inside kernels: it has cycles of their parts, no times "
            "of kernels.",
            'Record without backend="instrumentation" as well.',
        )
    return TraceFormatError(
        "no_events",
        f"{name} is a profile of Proton without kernels.",
        "No kernel ran between proton.start and proton.finalize, or its device was not profiled.",
    )


def _devices(devices: Mapping[tuple[str, int], Mapping[str, Any]]) -> tuple[DeviceInfo, ...]:
    infos = []
    for (kind, number), properties in sorted(devices.items()):
        arch, count = str(properties.get("arch", "")), properties.get("num_sms")
        is_capability = kind == "CUDA" and arch.isascii() and arch.isdigit() and len(arch) in (2, 3)
        infos.append(
            DeviceInfo(
                device=number,
                name=f"AMD {arch}"[:40] if kind == "HIP" and arch else None,
                compute_major=int(arch[:-1]) if is_capability else None,
                compute_minor=int(arch[-1]) if is_capability else None,
                sm_count=count if isinstance(count, int) and 0 < count < 1 << 20 else None,
            )
        )
    return tuple(infos)
