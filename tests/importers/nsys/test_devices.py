"""One number for each GPU, regardless of the device numbers of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    SYNC,
    call,
    columns_of,
    global_pid,
    global_tid,
    kernel,
    strings,
    trace_of,
)


def gpu(number: int, name: str, host: int = 1, **columns: Any) -> dict[str, Any]:
    return {"vmId": host << 48, "id": number, "name": name, "uuid": None, **columns}


def devices_of(path: Path, tables: dict[str, Any]) -> list[int]:
    columns = columns_of(path, {"StringIds": strings("f"), **tables})
    device: list[int] = columns.tables["device"]["device"].tolist()
    return device


TWO = [kernel(0, 1, globalPid=global_pid(10)), kernel(0, 1, globalPid=global_pid(11))]
"""Two processes, each of which calls its GPU 0."""


def test_each_process_has_its_own_device_numbers(tmp_path: Path) -> None:
    seen = [
        {"gpuId": 2, "cudaId": 0, "pid": 10, "uuid": None, "numMultiprocessors": 108},
        {"gpuId": 5, "cudaId": 0, "pid": 11, "uuid": None, "numMultiprocessors": 132},
    ]
    tables: dict[str, Any] = {KERNEL: TWO, "TARGET_INFO_CUDA_DEVICE": seen}
    assert devices_of(tmp_path, tables) == [2, 5]
    described = trace_of(tmp_path, {"StringIds": strings("f"), **tables}).devices
    assert described.select("device", "sm_count").rows() == [(2, 108), (5, 132)]


def test_gpus_are_matched_by_uuid(tmp_path: Path) -> None:
    gpus = [gpu(0, "A", uuid="aaaa", cuDevice=0), gpu(1, "B", uuid="bbbb", cuDevice=1)]
    seen = [
        {"gpuId": 0, "cudaId": 0, "pid": 10, "uuid": "GPU-BBBB"},
        {"gpuId": 0, "cudaId": 0, "pid": 11, "uuid": "aaaa"},
    ]
    tables = {KERNEL: TWO, "TARGET_INFO_GPU": gpus, "TARGET_INFO_CUDA_DEVICE": seen}
    assert devices_of(tmp_path, tables) == [1, 0]


def test_cuda_order_differs_from_machine_order(tmp_path: Path) -> None:
    gpus = [gpu(0, "small", cuDevice=1), gpu(1, "large", cuDevice=0)]
    tables = {KERNEL: [kernel(0, 1), kernel(0, 1, deviceId=1)], "TARGET_INFO_GPU": gpus}
    assert devices_of(tmp_path, tables) == [1, 0]


def test_without_a_table_the_ordinal_counts(tmp_path: Path) -> None:
    assert devices_of(tmp_path, {KERNEL: TWO}) == [0, 0]
    bad = [kernel(0, 1, deviceId=None), kernel(0, 1, deviceId=-4), kernel(0, 1, deviceId=10**9)]
    assert max(devices_of(tmp_path, {KERNEL: bad})) < 0


def test_two_machines(tmp_path: Path) -> None:
    kernels = [
        kernel(0, 1, deviceId=device, globalPid=global_pid(10, host), correlationId=host)
        for host in (1, 2)
        for device in (0, 1)
    ]
    gpus = [
        gpu(number, f"of {host}", host, cuDevice=number) for host in (1, 2) for number in (0, 1)
    ]
    calls = [
        call(0, 1, 1, globalTid=global_tid(10, 10, host), correlationId=host) for host in (1, 2)
    ]
    tables = {KERNEL: kernels, "TARGET_INFO_GPU": gpus, CALL: calls}
    assert devices_of(tmp_path, tables) == [0, 1, 2, 3]
    assert devices_of(tmp_path, {KERNEL: kernels}) == [0, 1, 2, 3]
    trace = trace_of(tmp_path, {"StringIds": strings("f"), **tables})
    assert trace.devices["name"].to_list() == ["of 1", "of 1", "of 2", "of 2"]
    assert set(trace.tracks["process"].drop_nulls()) == {0, 1}
    launch = trace.slices["track"].gather(trace.device_work["launch"])
    assert trace.tracks["pid"].gather(launch).to_list() == ["1.10", "1.10", "2.10", "2.10"]


def test_waits_belong_to_the_gpu_of_their_context(tmp_path: Path) -> None:
    kernels = [kernel(0, 1), kernel(0, 1, deviceId=1, contextId=2)]
    waits = [
        {**kernel(5, 9, contextId=context, streamId=stream), "syncType": 3}
        for context, stream in ((1, 7), (2, 7), (2, 0xFFFFFFFF), (9, 7))
    ]
    columns = columns_of(tmp_path, {"StringIds": strings("f"), KERNEL: kernels, SYNC: waits})
    work = columns.tables["device"]
    assert work["device"].tolist() == [0, 1, 0, 1, 1, 0]
    assert columns.tracks[columns.tables["slices"]["track"][4]].thread_name == "no stream"


def test_all_properties_of_a_gpu(tmp_path: Path) -> None:
    gpu_row = gpu(
        0, "NVIDIA H100", totalMemory=80 << 30, smCount=132, computeMajor=9, computeMinor=0,
        maxWarpsPerSm=64, threadsPerWarp=32, maxThreadsPerBlock=1024, maxRegistersPerSm=65536,
        maxRegistersPerBlock=65536, maxShmemPerSm=233472, maxShmemPerBlock=49152,
        maxShmemPerBlockOptin=232448,
    )  # fmt: skip
    (info,) = columns_of(
        tmp_path, {"TARGET_INFO_GPU": [gpu_row], KERNEL: [kernel(0, 1)]}
    ).info.devices
    assert (info.name, info.memory_bytes, info.sm_count) == ("NVIDIA H100", 80 << 30, 132)
    assert (info.compute_major, info.compute_minor) == (9, 0)
    assert (info.max_threads_per_sm, info.warp_size, info.max_threads_per_block) == (2048, 32, 1024)
    assert (info.registers_per_sm, info.shared_memory_per_sm_bytes) == (65536, 233472)
    assert info.shared_memory_per_block_optin_bytes == 232448


def test_odd_values_of_a_gpu_are_left_out(tmp_path: Path) -> None:
    gpu_row = [gpu(0, "x", smCount=-1, totalMemory=2**63 - 1, computeMajor="?"), gpu(None, "none")]  # type: ignore[arg-type]
    (info,) = columns_of(
        tmp_path, {"TARGET_INFO_GPU": gpu_row, KERNEL: [kernel(0, 1)]}
    ).info.devices
    assert (info.name, info.sm_count, info.memory_bytes, info.compute_major) == ("x", *[None] * 3)
