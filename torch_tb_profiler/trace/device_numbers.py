"""One number per device: memory events and declared devices get the number that kernels have.

Torch numbers the devices that a program sees, and so do memory events and declared devices; kernels
on ROCm have the number of the GPU in the machine. Rules: ``docs/metrics.md#one-number-per-device``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int32
from torch_tb_profiler.trace.info import DeviceInfo, TraceInfo
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport

_CPU_TYPE, _HIP_TYPE = 0, 6
MIN_AGREEMENT = 0.9
"""Minimum share of the operators allocating on a device that run their kernels on one device."""

DeviceNumberMap = Mapping[tuple[int, int], int]
"""(Process, device of memory events) → device of kernels, where the two differ."""


def unify_device_numbers(
    memory: pl.DataFrame,
    device_work: pl.DataFrame,
    processes: tuple[Int32, Int32],
    info: TraceInfo,
    quality: QualityReport,
) -> tuple[pl.DataFrame, tuple[DeviceInfo, ...]]:
    """``memory`` and the declared devices of ``info``, with the device numbers of kernels.

    Args:
        memory: The ``memory`` table.
        device_work: The ``device_work`` table.
        processes: Process of each row of the two, -1 where it is unknown.
        info: Metadata of the recording.
        quality: Receives what was matched and how, and what could not be matched.
    """
    if not device_work.height:
        return memory, _declared(info.devices, {}, [], quality)
    allocated = pl.DataFrame(
        {
            "process": processes[0].astype(np.int64),
            "device": memory["device"],
            "type": memory["device_type"],
            "owner": memory["owner"],
        }
    ).filter(pl.col("type") != _CPU_TYPE, pl.col("device") >= 0)
    is_rocm = _is_rocm(info, allocated)
    matches: dict[tuple[int, int], int] = {}
    if allocated.height:
        kernel_work = _kernel_work(device_work, processes[1])
        for process, memory_events, kernel_rows in _processes_to_match(
            allocated, kernel_work, info, is_rocm
        ):
            matches |= _match(process, memory_events, kernel_rows, quality)
    used = device_work["device"].unique().drop_nulls().to_list()
    declared = _declared(info.devices, matches, used if is_rocm else [], quality)
    return _renumbered(memory, processes[0], matches), declared


def _kernel_work(device_work: pl.DataFrame, process: Int32) -> pl.DataFrame:
    """Device, owner and process of the kernels; of all work if there are none."""
    is_kernel = (device_work["category"] == Category.KERNEL).to_numpy()
    work = device_work.select("device", "owner", process=pl.Series(process.astype(np.int64)))
    return work.filter(is_kernel | ~is_kernel.any()).drop_nulls("device")


def _is_rocm(info: TraceInfo, allocated: pl.DataFrame) -> bool:
    names = (device.name or "" for device in info.devices)
    return (
        info.hip_runtime_version is not None
        or bool((allocated["type"] == _HIP_TYPE).any())
        or any("AMD" in name for name in names)
    )


def _processes_to_match(
    allocated: pl.DataFrame, kernel_work: pl.DataFrame, info: TraceInfo, is_rocm: bool
) -> Iterator[tuple[int, pl.DataFrame, pl.DataFrame]]:
    """Each process that allocates on a device on which none of its kernels run, with its memory
    events and its kernels. Other than on ROCm, declared devices share one numbering."""
    declared = {device.device for device in info.devices}
    known = allocated.filter(pl.col("process") != NO_PROCESS)
    for (process,), memory_events in known.group_by("process", maintain_order=True):
        kernel_rows = kernel_work.filter(pl.col("process") == process)
        numbers = set(memory_events["device"].unique().to_list())
        others = set(kernel_rows["device"].unique().to_list())
        same_numbers = numbers <= others or not others
        if not is_rocm:
            same_numbers |= bool(numbers & others) or (numbers | others) <= declared
        if not same_numbers:
            yield int(str(process)), memory_events, kernel_rows


def _match(
    process: int, memory_events: pl.DataFrame, kernel_rows: pl.DataFrame, quality: QualityReport
) -> dict[tuple[int, int], int]:
    numbers = memory_events["device"].unique().sort().to_list()
    others = kernel_rows["device"].unique().to_list()
    if len(numbers) == len(others) == 1:
        pairs, reason = {numbers[0]: others[0]}, "the process has only one"
    else:
        pairs, reason = (
            _by_operators(memory_events, kernel_rows),
            "its operators run their kernels there",
        )
    if pairs and all(number == device for number, device in pairs.items()):
        return {}
    if len(set(pairs.values())) < len(numbers):
        quality.add("device_numbers_unmatched", len(numbers), f"memory's devices {numbers}")
        return {}
    for number, device in pairs.items():
        example = f"device {number} of memory events is GPU {device}: {reason}"
        quality.add("device_numbers_matched", int(number != device), example)
    return {(process, number): device for number, device in pairs.items() if number != device}


def _by_operators(memory_events: pl.DataFrame, kernel_rows: pl.DataFrame) -> dict[int, int]:
    """Device of memory events → the device on which the operators that allocate there run their
    kernels, where nearly all of them agree."""
    both = (
        memory_events.select("device", "owner").drop_nulls().unique()
        .join(kernel_rows.select("owner", on="device").drop_nulls().unique(), on="owner")
    )  # fmt: skip
    votes = both.group_by("device", "on").len("votes")
    votes = votes.with_columns(share=pl.col("votes") / pl.col("votes").sum().over("device"))
    return dict(votes.filter(pl.col("share") >= MIN_AGREEMENT).select("device", "on").iter_rows())


def _renumbered(memory: pl.DataFrame, process: Int32, matches: DeviceNumberMap) -> pl.DataFrame:
    device = pl.col("device")
    renumbered = device
    for (matched_process, number), target in matches.items():
        is_match = (pl.lit(pl.Series(process)) == matched_process) & (device == number)
        is_match &= pl.col("device_type") != _CPU_TYPE
        renumbered = pl.when(is_match).then(target).otherwise(renumbered)
    return memory.with_columns(renumbered.cast(pl.Int64).alias("device"))


def _declared(
    devices: tuple[DeviceInfo, ...],
    matches: DeviceNumberMap,
    used: list[int],
    quality: QualityReport,
) -> tuple[DeviceInfo, ...]:
    """The declared devices with the numbers of kernels, as far as those are known.

    A device in ``used`` that is not declared gets the properties of the declared ones if all of
    those are of one model.
    """
    by_number = {device.device: device for device in reversed(devices)}
    moved = {number: device for (_, number), device in matches.items()}
    renamed = {
        device: msgspec.structs.replace(by_number[number], device=device)
        for number, device in moved.items()
        if number in by_number
    }
    renamed |= {
        number: device
        for number, device in by_number.items()
        if number not in moved and number not in renamed
    }
    undeclared = sorted(set(used) - renamed.keys())
    models = {msgspec.structs.replace(device, device=0) for device in devices}
    if len(models) == 1:
        for device in undeclared:
            renamed[device] = msgspec.structs.replace(devices[0], device=device)
            example = f"GPU {device} has the one declared model"
            quality.add("device_numbers_matched", 1, example)
        if len(by_number) == len(used) == len(undeclared) == 1:
            del renamed[devices[0].device]
    return tuple(renamed.values())
