"""Metadata of a recording, the same for every format.

Importers fill it; everybody else reads it. Data without a field here (dumps of the environment, job
tokens, user names) is in no trace, no cache, no page and no log. A field is None if it was not
recorded.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_DEVICES, MAX_RANKS

Count = Annotated[int, Meta(ge=0, lt=2**62)]
Bytes = Annotated[int, Meta(ge=0, le=MAX_BYTES)]
Usage = Annotated[float, Meta(ge=0, le=1e7)]
Rank = Annotated[int, Meta(ge=0, lt=MAX_RANKS)]
Ranks = Annotated[int, Meta(ge=0, le=MAX_RANKS)]
Option = bool | Annotated[int, Meta(ge=0, lt=2**62)] | str
"""The value of an option: a switch, a number or a word."""


class _Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Immutable values; when read from a cache, unknown keys and wrong types are errors."""


class DeviceInfo(_Facts, frozen=True):
    """A device as the recording declares it.

    Attributes:
        device: Its number among the devices of the process.
        name: Name given by its driver.
        memory_bytes: Total memory.
        compute_major: First part of the compute capability.
        compute_minor: Second part of it.
        sm_count: Number of multiprocessors (compute units).
        max_threads_per_sm: Maximum resident threads of a multiprocessor.
        max_threads_per_block: Maximum threads of one block.
        registers_per_sm: Registers of a multiprocessor.
        registers_per_block: Maximum registers of a block.
        warp_size: Threads per warp.
        shared_memory_per_sm_bytes: Shared memory of a multiprocessor.
        shared_memory_per_block_bytes: Maximum shared memory of a block.
        shared_memory_per_block_optin_bytes: The same if the program opts in to more.
    """

    device: Annotated[int, Meta(ge=0, lt=MAX_DEVICES)]
    name: str | None = None
    memory_bytes: Bytes | None = None
    compute_major: Count | None = None
    compute_minor: Count | None = None
    sm_count: Count | None = None
    max_threads_per_sm: Count | None = None
    max_threads_per_block: Count | None = None
    registers_per_sm: Count | None = None
    registers_per_block: Count | None = None
    warp_size: Count | None = None
    shared_memory_per_sm_bytes: Bytes | None = None
    shared_memory_per_block_bytes: Bytes | None = None
    shared_memory_per_block_optin_bytes: Bytes | None = None


class ProcessGroup(_Facts, frozen=True):
    """A group of processes that communicate.

    Attributes:
        name: Its name, which need not be unique to its members.
        description: Its purpose, ``"default_pg"``.
        uid: Distinguishes it from groups with the same name.
        backend: Backend of its collectives, ``"cuda:nccl"``.
        size: Number of members.
        ranks: The members.
    """

    name: str | None = None
    description: str | None = None
    uid: str | None = None
    backend: str | None = None
    size: Ranks | None = None
    ranks: tuple[Rank, ...] | None = None


class JobInfo(_Facts, frozen=True):
    """The distributed job that the process was a part of.

    Attributes:
        backend: Its default backend, ``"nccl"``.
        rank: Rank of this process.
        world_size: Number of processes.
        group_count: Number of groups; ``groups`` may hold fewer.
        groups: The described groups.
        library_version: Version of NCCL or RCCL.
    """

    backend: str | None = None
    rank: Rank | None = None
    world_size: Ranks | None = None
    group_count: Count | None = None
    groups: tuple[ProcessGroup, ...] | None = None
    library_version: str | int | None = None


class RecordingSettings(_Facts, frozen=True):
    """Options of the recorder."""

    record_shapes: bool | None = None
    with_stack: bool | None = None
    profile_memory: bool | None = None
    with_flops: bool | None = None
    with_modules: bool | None = None


class ProgramSettings(_Facts, frozen=True):
    """Settings of the program while it was recorded, and the system it ran on.

    Attributes:
        torch_version: Version of torch, ``"2.13.0+cu130"``.
        python_version: ``"3.12.3"``.
        cuda_version: CUDA version that torch was built with, ``"13.0"``; None with ROCm.
        cudnn_version: ``"9.10.2"``.
        nccl_version: ``"2.27.5"``.
        driver_version: Version of the GPU driver, ``"580.65.06"``.
        cpu_model: Name of the processor.
        cpu_cores: Logical cores available to the process.
        gpu_names: Names of the GPUs visible to the process, in order.
        gpu_memory_bytes: Memory of each of them.
        cudnn_benchmark: Whether cuDNN benchmarks its algorithms.
        cudnn_deterministic: Whether cuDNN uses deterministic algorithms only.
        deterministic_algorithms: Whether torch does.
        tf32_matmul: Whether float32 matrix products may run in TF32 on CUDA.
        tf32_cudnn: Whether float32 convolutions may.
        matmul_precision: Precision of float32 matrix products, ``"highest"``, ``"high"`` or
            ``"medium"``.
        autocast: The dtype that operators are cast to, ``"bfloat16"``; empty if it is off.
        anomaly_mode: Whether autograd checks for NaN.
        gradcheck: Whether gradients were checked by ``torch.autograd.gradcheck``.
        compile_mode: Mode of ``torch.compile``, ``"default"`` or ``"max-autotune"``, or its backend
            if that is not inductor; empty if nothing was compiled.
        parameters: Number of parameter elements, trained or not; for a sharded model those of its
            shards in this process.
        optimizer: Class, ``"AdamW"``; several are joined by ``", "``.
        optimizer_fused: Whether it effectively uses fused kernels.
        optimizer_foreach: Whether it effectively uses multi-tensor kernels.
        data_parallel: ``"DDP"``, ``"FSDP"``, ``"FSDP2"`` or ``"DataParallel"``; empty for none.
        data_parallel_options: Name of an option of that → its value.
        loader_workers: Number of data loading processes.
        batch_size: Samples of one step.
        pin_memory: Whether batches are copied to pinned memory.
        prefetch_factor: Batches that each of those processes prefetches.
        persistent_workers: Whether they outlive an epoch.
        environment: Variable of :mod:`torch_tb_profiler.known_environment` → its value.
    """

    torch_version: str | None = None
    python_version: str | None = None
    cuda_version: str | None = None
    cudnn_version: str | None = None
    nccl_version: str | None = None
    driver_version: str | None = None
    cpu_model: str | None = None
    cpu_cores: Count | None = None
    gpu_names: tuple[str, ...] | None = None
    gpu_memory_bytes: tuple[Bytes, ...] | None = None
    cudnn_benchmark: bool | None = None
    cudnn_deterministic: bool | None = None
    deterministic_algorithms: bool | None = None
    tf32_matmul: bool | None = None
    tf32_cudnn: bool | None = None
    matmul_precision: str | None = None
    autocast: str | None = None
    anomaly_mode: bool | None = None
    gradcheck: bool | None = None
    compile_mode: str | None = None
    parameters: Count | None = None
    optimizer: str | None = None
    optimizer_fused: bool | None = None
    optimizer_foreach: bool | None = None
    data_parallel: str | None = None
    data_parallel_options: dict[str, Option] | None = None
    loader_workers: Count | None = None
    batch_size: Count | None = None
    pin_memory: bool | None = None
    prefetch_factor: Count | None = None
    persistent_workers: bool | None = None
    environment: dict[str, str] | None = None


Capability = Literal[
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "memory",
    "runtime", "kernels", "copies", "occupancy", "blocks_per_sm", "shared_memory", "registers",
    "launches", "communication", "collective_sizes", "graph_kernels", "device_properties",
    "counters", "flops", "steps", "ranges", "gpu_metrics",
    "throughput", "host_samples", "gpu_samples", "data_loading", "loader_stages",
    "loader_queues", "settings", "times", "moments",
]  # fmt: skip
"""What a recording may or may not contain, as named by :class:`NotRecorded`."""

CAPABILITIES: tuple[Capability, ...] = get_args(Capability)


class NotRecorded(_Facts, frozen=True):
    """Data that a recording lacks, with the recording's own reason.

    Attributes:
        capability: What it lacks; ``what`` in the cache.
        reason: A sentence for people, without any text of the recorded program.
    """

    capability: Capability = msgspec.field(name="what")
    reason: str


class TraceInfo(_Facts, frozen=True):
    """Metadata of a recording.

    Attributes:
        framework: Framework that ran the model, ``"pytorch-lightning"``.
        framework_version: Its version.
        recorder: Name of the recorder in ``knowledge/recorders.toml``, which states how to make it
            record more; None if unknown.
        recorder_version: Version of the recorder, or of the layout it writes.
        host_name: The machine.
        cuda_runtime_version: In CUDA's encoding: 12040 is 12.4; -1 if the recorder found none.
        cuda_driver_version: The newest CUDA version that the driver supports, likewise.
        hip_runtime_version: In HIP's encoding: 60443483 is 6.4.43483.
        devices: The declared devices.
        job: The distributed job, None without one.
        process_cpu_pct: CPU time of the process ÷ elapsed time; above 100 on several cores.
        system_cpu_pct: Busy time of the machine's cores ÷ all their time.
        recording: Options of the recorder.
        settings: Settings of the program.
        not_recorded: Data that is missing for a reason specific to the recording: its format, its
            level, its options.
    """

    framework: str | None = None
    framework_version: str | None = None
    recorder: str | None = None
    recorder_version: str | None = None
    host_name: str | None = None
    cuda_runtime_version: int | None = None
    cuda_driver_version: int | None = None
    hip_runtime_version: int | None = None
    devices: tuple[DeviceInfo, ...] = ()
    job: JobInfo | None = None
    process_cpu_pct: Usage | None = None
    system_cpu_pct: Usage | None = None
    recording: RecordingSettings = RecordingSettings()
    settings: ProgramSettings = ProgramSettings()
    not_recorded: tuple[NotRecorded, ...] = ()
