"""One number per device: memory and declared devices under the number that kernels carry.

Torch counts the devices that a program sees, and so do memory events and declared devices; kernels
on ROCm carry the number of the GPU in the machine. Rules:
``docs/metrics.md#one-number-per-device``.
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
_AGREEING = 0.9
"""Share of the operators that allocate on a device which must run their kernels on one device."""

Matches = Mapping[tuple[int, int], int]
"""(Process, device of memory events) → device of kernels, where the two differ."""


def one_number_each(
    memory: pl.DataFrame,
    device_work: pl.DataFrame,
    processes: tuple[Int32, Int32],
    info: TraceInfo,
    quality: QualityReport,
) -> tuple[pl.DataFrame, tuple[DeviceInfo, ...]]:
    """``memory`` and the declared devices of ``info``, numbered as kernels are.

    Args:
        memory: The ``memory`` table.
        device_work: The ``device_work`` table.
        processes: Process of each row of the two, -1 where the file does not tell.
        info: What the recording says of itself.
        quality: Is told what was matched and how, and what could not be.
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
    is_kernel = (device_work["category"] == Category.KERNEL).to_numpy()
    ran = device_work.select("device", "owner", process=pl.Series(processes[1].astype(np.int64)))
    ran = ran.filter(is_kernel | ~is_kernel.any()).drop_nulls("device")
    is_rocm = _is_rocm(info, allocated)
    matches: dict[tuple[int, int], int] = {}
    for process, of_memory, of_kernels in _differing(allocated, ran, info, is_rocm):
        matches |= _matched(process, of_memory, of_kernels, quality)
    used = device_work["device"].drop_nulls().unique().to_list()
    declared = _declared(info.devices, matches, used if is_rocm else [], quality)
    return _renumbered(memory, processes[0], matches), declared


def _is_rocm(info: TraceInfo, allocated: pl.DataFrame) -> bool:
    names = (device.name or "" for device in info.devices)
    return (
        info.hip_runtime_version is not None
        or bool((allocated["type"] == _HIP_TYPE).any())
        or any("AMD" in name for name in names)
    )


def _differing(
    allocated: pl.DataFrame, ran: pl.DataFrame, info: TraceInfo, is_rocm: bool
) -> Iterator[tuple[int, pl.DataFrame, pl.DataFrame]]:
    """Each process that allocates on a device on which none of its kernels run, with its memory
    events and its kernels. Elsewhere than on ROCm one numbering serves all that is declared."""
    declared = {device.device for device in info.devices}
    known = allocated.filter(pl.col("process") != NO_PROCESS)
    for (process,), of_memory in known.group_by("process", maintain_order=True):
        of_kernels = ran.filter(pl.col("process") == process)
        numbers = set(of_memory["device"].unique().to_list())
        others = set(of_kernels["device"].unique().to_list())
        is_one_numbering = numbers <= others or not others
        if not is_rocm:
            is_one_numbering |= bool(numbers & others) or (numbers | others) <= declared
        if not is_one_numbering:
            yield int(str(process)), of_memory, of_kernels


def _matched(
    process: int, of_memory: pl.DataFrame, of_kernels: pl.DataFrame, quality: QualityReport
) -> dict[tuple[int, int], int]:
    numbers = of_memory["device"].unique().sort().to_list()
    others = of_kernels["device"].unique().to_list()
    if len(numbers) == len(others) == 1:
        pairs, how = {numbers[0]: others[0]}, "the process has no other"
    else:
        pairs, how = _by_operators(of_memory, of_kernels), "its operators run their kernels there"
    if pairs and all(number == device for number, device in pairs.items()):
        return {}
    if len(set(pairs.values())) < len(numbers):
        quality.add("device_numbers_unmatched", len(numbers), f"memory's devices {numbers}")
        return {}
    for number, device in pairs.items():
        example = f"device {number} of memory events is GPU {device}: {how}"
        quality.add("device_numbers_matched", int(number != device), example)
    return {(process, number): device for number, device in pairs.items() if number != device}


def _by_operators(of_memory: pl.DataFrame, of_kernels: pl.DataFrame) -> dict[int, int]:
    """Memory's device → the device on which the operators that allocate there run their kernels,
    where nearly all of them agree."""
    both = (
        of_memory.select("device", "owner").drop_nulls().unique()
        .join(of_kernels.select("owner", on="device").drop_nulls().unique(), on="owner")
    )  # fmt: skip
    votes = both.group_by("device", "on").len("votes")
    votes = votes.with_columns(share=pl.col("votes") / pl.col("votes").sum().over("device"))
    return dict(votes.filter(pl.col("share") >= _AGREEING).select("device", "on").iter_rows())


def _renumbered(memory: pl.DataFrame, process: Int32, matches: Matches) -> pl.DataFrame:
    device = pl.col("device")
    renumbered = device
    for (of, number), target in matches.items():
        is_it = (pl.lit(pl.Series(process)) == of) & (device == number)
        is_it &= pl.col("device_type") != _CPU_TYPE
        renumbered = pl.when(is_it).then(target).otherwise(renumbered)
    return memory.with_columns(renumbered.cast(pl.Int64).alias("device"))


def _declared(
    devices: tuple[DeviceInfo, ...], matches: Matches, used: list[int], quality: QualityReport
) -> tuple[DeviceInfo, ...]:
    """The declared devices under the numbers of kernels, as far as those are known.

    A device in ``used`` that is not declared has the properties of those that are, where all of
    them are of one model.
    """
    given = {device.device: device for device in reversed(devices)}
    moved = {number: device for (_, number), device in matches.items()}
    found = {
        device: msgspec.structs.replace(given[number], device=device)
        for number, device in moved.items()
        if number in given
    }
    found |= {
        number: device
        for number, device in given.items()
        if number not in moved and number not in found
    }
    lacking = sorted(set(used) - found.keys())
    models = {msgspec.structs.replace(device, device=0) for device in devices}
    if len(models) == 1:
        for device in lacking:
            found[device] = msgspec.structs.replace(devices[0], device=device)
            example = f"GPU {device} is of the one model that is declared"
            quality.add("device_numbers_matched", 1, example)
        if len(given) == len(used) == len(lacking) == 1:
            del found[devices[0].device]
    return tuple(found.values())
