"""Devices and links: round figures of public data sheets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A kind of GPU.

    Attributes:
        name: As the recording names it.
        flops: Dense bfloat16 operations per nanosecond that matrix products reach.
        memory: Bytes per nanosecond that elementwise kernels reach.
        link: Bytes per nanosecond between two GPUs of a node.
        nic: Bytes per nanosecond between nodes, per GPU.
        properties: What the header of the recording says of it besides its name.
    """

    name: str
    flops: float
    memory: float
    link: float
    nic: float
    properties: dict[str, int]


def _properties(memory_gb: int, major: int, sms: int) -> dict[str, int]:
    return {
        "totalGlobalMem": memory_gb * 1_000_000_000,
        "computeMajor": major,
        "computeMinor": 0,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": 49152,
        "numSms": sms,
        "regsPerMultiprocessor": 65536,
    }


DEVICES = (
    Device("NVIDIA A100-SXM4-80GB", 160e3, 1.5e3, 220.0, 22.0, _properties(85, 8, 108)),
    Device("NVIDIA H100 80GB HBM3", 480e3, 2.5e3, 330.0, 42.0, _properties(85, 9, 132)),
    Device("NVIDIA H200", 500e3, 3.6e3, 330.0, 42.0, _properties(150, 9, 132)),
    Device("NVIDIA B200", 1000e3, 6.0e3, 650.0, 42.0, _properties(191, 10, 148)),
)
"""What jobs run on; ``flops`` is per nanosecond, so that 480e3 is 480 TFLOP/s."""
