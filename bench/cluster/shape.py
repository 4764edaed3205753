"""The shape of a job: its dimensions, its model, its machines, and how its groups are named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.cluster.hardware import DEVICES, Device

DATA_PARALLEL = ("ddp", "zero", "fsdp")
NAMINGS = ("megatron", "mesh", "deepspeed", "unnamed")


@dataclass(frozen=True)
class Noise:
    """How far from ideal a healthy job is.

    Attributes:
        kernel: Standard deviation of the logarithm of a kernel's duration.
        device: The same of the speed of a device, for the whole job.
        host: The same of the host's time for a call.
        network: The same of the time of a transfer.
        hiccup: Share of calls that the host is interrupted at, for up to a millisecond.
        routing: The same of the tokens of an expert rank, per layer.
        start_ns: Ranks begin within this time.
        offset_ns: Clocks of nodes differ by up to this much.
        drift_ppm: and by this much more each second.
    """

    kernel: float = 0.015
    device: float = 0.004
    host: float = 0.08
    network: float = 0.03
    hiccup: float = 0.002
    routing: float = 0.05
    start_ns: float = 1e6
    offset_ns: float = 3e6
    drift_ppm: float = 20.0


NONE = Noise(0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Shape:
    """A job.

    Attributes:
        data, tensor, pipeline: Ranks along each dimension; their product is the number of ranks.
        expert: Ranks that share the experts of a layer, a divisor of ``data``; 1 without experts.
        layers: Layers of each pipeline stage.
        microbatches: Per step.
        tokens, hidden: Of a microbatch, of the model.
        vocabulary: Columns of the output layer, over all tensor-parallel ranks.
        steps: Recorded steps.
        device: The kind of GPU.
        node_size: GPUs of a node.
        switch_nodes: Nodes of a switch.
        sharding: How data-parallel ranks synchronize, one of ``DATA_PARALLEL``.
        naming: How process groups are named, one of ``NAMINGS``.
        is_fine: Whether a layer is many small kernels, or few.
        has_sync: Whether the host waits for the device at the end of each step, else for the end of
            the step before.
        has_stack: Whether Python functions are recorded.
        has_sequence: Whether collectives are numbered in the recording.
        host_ns: Time of the host per operator, including its launch.
        first_step: Number of the first recorded step.
        noise: How far from ideal it is.
    """

    data: int
    tensor: int
    pipeline: int
    expert: int
    layers: tuple[int, ...]
    microbatches: int
    tokens: int
    hidden: int
    vocabulary: int
    steps: int
    device: Device
    node_size: int
    switch_nodes: int
    sharding: str
    naming: str
    is_fine: bool
    has_sync: bool
    has_stack: bool
    has_sequence: bool
    host_ns: float
    first_step: int
    noise: Noise

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.data * self.tensor * self.pipeline

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return -(-self.ranks // self.node_size)

    @property
    def switches(self) -> int:
        """Number of switches."""
        return -(-self.nodes // self.switch_nodes)


def draw(chance: np.random.Generator, ranks: int, needs: frozenset[str] = frozenset()) -> Shape:
    """A random job.

    Args:
        chance: Decides.
        ranks: How many, a power of two from 8 on.
        needs: What it must have: ``expert``, ``pipeline``, ``data``, ``nodes``, ``switches``.

    Raises:
        ValueError: jobs of so many ranks have not all of that.
    """
    for _ in range(1000):
        shape = _draw(chance, ranks)
        present = {
            "expert": shape.expert > 1,
            "pipeline": shape.pipeline > 2,
            "data": shape.data > 2,
            "nodes": shape.nodes > 2,
            "switches": shape.switches > 2,
        }
        if all(present[need] for need in needs):
            return shape
    raise ValueError(f"no job of {ranks} ranks has {sorted(needs)}")


def _draw(chance: np.random.Generator, ranks: int) -> Shape:
    def pick(*choices: int) -> int:
        return int(chance.choice(choices))

    node_size = pick(8, 8, 8, 4) if ranks > 8 else 8
    tensor = min(pick(1, 1, 2, 4, 8), node_size, ranks)
    pipeline = min(pick(1, 1, 2, 4, 4, 8), ranks // tensor)
    data = ranks // tensor // pipeline
    expert = min(pick(1, 1, 2, 4, 8), data)
    microbatches = max(pipeline, pick(4, 8)) if pipeline > 1 else pick(1, 1, 2)
    is_fine = bool(chance.random() < 0.5) and ranks <= 256 and microbatches <= 4
    budget = (40 if ranks > 256 else 72) / (18 if is_fine else 11)
    layers = max(1, min(8, int(budget / microbatches)))
    sharding = str(chance.choice(DATA_PARALLEL if pipeline == 1 else DATA_PARALLEL[:2]))
    device = DEVICES[pick(*range(len(DEVICES)))]
    hidden = pick(2048, 3072, 4096, 6144)
    tokens = pick(4096, 8192, 16384, 32768)
    flops = 24.0 * tokens * hidden**2 / tensor / (6 if is_fine else 3)
    mean_ns = max(flops / device.flops, 20e3)
    head = 0.1 * 12 * hidden * layers
    return Shape(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        expert=expert,
        layers=(layers,) * pipeline,
        microbatches=microbatches,
        tokens=tokens,
        hidden=hidden,
        vocabulary=max(1024, int(head * chance.uniform(0.5, 2.0)) // 1024 * 1024),
        steps=pick(3, 4, 5, 6) if ranks <= 256 else 3,
        device=device,
        node_size=node_size,
        switch_nodes=pick(2, 2, 4),
        sharding=sharding,
        naming=str(chance.choice(NAMINGS)),
        is_fine=is_fine,
        has_sync=bool(chance.random() < 0.75),
        has_stack=bool(chance.random() < 0.5),
        has_sequence=bool(chance.random() < 0.85),
        host_ns=float(np.clip(mean_ns * chance.uniform(0.2, 0.6), 12e3, 600e3)),
        first_step=pick(0, 10, 100, 2000),
        noise=Noise(
            kernel=chance.uniform(0.01, 0.03),
            network=chance.uniform(0.01, 0.05),
            host=chance.uniform(0.04, 0.12),
            routing=chance.uniform(0.02, 0.08),
            offset_ns=float(chance.choice([0.0, 2e5, 3e6, 2e7])),
        ),
    )
