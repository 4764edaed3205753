"""Generated programs: training steps of random shape, on one rank or several, that lose no time.

The device sets the pace: kernels take several times as long as the host needs to launch them,
communication runs while the backward pass computes, batches come from loader processes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from bench.diagnosis.model import Rank, Recording, Stream, Work
from bench.diagnosis.writer import Style, Writer

COMPUTE: Stream = (0, 7)
COMMUNICATION: Stream = (0, 20)
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


@dataclass(frozen=True)
class Gpu:
    """A GPU and the names of its kernels for products."""

    name: str
    capability: tuple[int, int]
    memory: int
    processors: int
    product: str
    vendor: str = "cuda"


GPUS = (
    Gpu(
        "NVIDIA A100-SXM4-80GB",
        (8, 0),
        85_198_045_184,
        108,
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    ),
    Gpu(
        "NVIDIA H100 80GB HBM3",
        (9, 0),
        85_018_279_936,
        132,
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNN",
    ),
    Gpu("Tesla P100-PCIE-16GB", (6, 0), 17_066_885_120, 56, "maxwell_sgemm_128x128_tn"),
)
PASSES = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
    "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}>(int)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
)
OPTIMIZER = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
    "FusedAdamMathFunctor<float, 4> >(int)"
)


@dataclass(frozen=True)
class Shape:
    """The shape of a program, µs."""

    gpu: Gpu
    steps: int
    layers: int
    products: int
    product_us: float
    pass_us: float
    operator_us: float
    python_us: float
    bucket_us: float
    ranks: int
    has_frames: bool
    ends_with_item: bool


def random_shape(random: Random, ranks: int = 1) -> Shape:
    """A shape whose kernels take clearly longer than their launches."""
    operator_us = random.uniform(6.0, 25.0)
    python_us = random.uniform(2.0, 15.0)
    launch_us = operator_us + python_us + 5.0
    return Shape(
        gpu=random.choice(GPUS),
        steps=random.randint(3, 6),
        layers=random.randint(4, 16),
        products=random.randint(2, 6),
        product_us=launch_us * random.uniform(3.0, 8.0),
        pass_us=launch_us * random.uniform(0.5, 1.0),
        operator_us=operator_us,
        python_us=python_us,
        bucket_us=0.0 if ranks == 1 else launch_us * random.uniform(2.0, 4.0),
        ranks=ranks,
        has_frames=random.random() < 0.5,
        ends_with_item=random.random() < 0.5,
    )


def program(shape: Shape, random: Random) -> Recording:
    """The recording of a program; ranks differ by a per cent."""
    return [_rank(shape, number, Random(random.random())) for number in range(shape.ranks)]


def _rank(shape: Shape, number: int, random: Random) -> Rank:
    thread = (4000 + number, 4000 + number)
    writer = Writer(thread, Style(vendor=shape.gpu.vendor, has_frames=shape.has_frames), COMPUTE)
    step = _Step(shape, writer, random)
    for index in range(shape.steps):
        step.write(index)
    writer.synchronize(None)
    backend = {"backend": "nccl", "rank": number, "world_size": shape.ranks}
    head = {
        "schemaVersion": 1,
        "deviceProperties": [_properties(shape.gpu)],
        "cuda_runtime_version": 12040,
        "record_shapes": 0,
        "with_stack": int(shape.has_frames),
        "trace_id": f"{number:032X}",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1751410836000000000,
    }
    if shape.ranks > 1:
        head["distributedInfo"] = json.loads(json.dumps(backend))
    return Rank(writer.end(), head, [], thread)


def _properties(gpu: Gpu) -> dict[str, object]:
    return {
        "id": 0,
        "name": gpu.name,
        "totalGlobalMem": gpu.memory,
        "computeMajor": gpu.capability[0],
        "computeMinor": gpu.capability[1],
        "numSms": gpu.processors,
        "warpSize": 32,
    }


class _Step:
    """Writes steps of one rank."""

    def __init__(self, shape: Shape, writer: Writer, random: Random) -> None:
        self.shape, self.writer, self.random = shape, writer, random
        self.buckets: list[Work] = []

    def write(self, index: int) -> None:
        """One step."""
        shape, writer = self.shape, self.writer
        with writer.span(f"ProfilerStep#{index + 3}", writer.style.annotation, 20.0):
            writer.slice(LOADER, 60.0, writer.style.annotation)
            with writer.span("aten::to", us=10.0):
                writer.copy("HtoD", 40.0, is_blocking=False, is_pageable=False)
            self._python("train.py(31): forward", self._forward)
            self._python("torch/_tensor.py(520): backward", self._backward, index)
            self._optimizer()
            if shape.ends_with_item:
                with writer.span("aten::item", us=2.0), writer.span("aten::_local_scalar_dense"):
                    writer.copy("DtoH", 1.5, is_blocking=False)
                    writer.synchronize(COMPUTE)

    def _python(self, name: str, body: object, *arguments: object) -> None:
        style = self.writer.style
        assert callable(body)
        if not style.has_frames:
            body(*arguments)
            return
        identity = {"Python id": next(self.writer.ids)}
        with self.writer.span(name, style.frame, 2.0, **identity):
            body(*arguments)

    def _forward(self) -> None:
        for _ in range(self.shape.layers):
            for _ in range(self.shape.products):
                self._operator("aten::mm", self.shape.gpu.product, self.shape.product_us)
            self._operator("aten::gelu", self.random.choice(PASSES), self.shape.pass_us)

    def _backward(self, step: int) -> None:
        buckets: list[Work] = []
        for layer in range(self.shape.layers):
            node = "autograd::engine::evaluate_function: MmBackward0"
            with self.writer.span(node, us=4.0):
                for _ in range(self.shape.products):
                    product_us = 2 * self.shape.product_us
                    self._operator("aten::mm", self.shape.gpu.product, product_us)
                self._operator("aten::mul", self.random.choice(PASSES), self.shape.pass_us)
            if self.shape.bucket_us and layer % 2:
                buckets.append(self._bucket((step, layer)))
        if buckets:
            self.writer.call("StreamWaitEvent", 1.0)
        self.buckets = buckets

    def _bucket(self, key: tuple[object, ...]) -> Work:
        us = self.shape.bucket_us
        stream, writer = COMMUNICATION, self.writer
        last = next(
            moment.launches[-1]
            for moment in reversed(writer.moments)
            if moment.launches and moment.launches[-1].stream == COMPUTE
        )
        work = writer.collective(key, "allreduce", us, stream, 4 << 20)
        work.waits_for.append((last, 1.5))
        return work

    def _optimizer(self) -> None:
        writer = self.writer
        with writer.span("Optimizer.step#AdamW.step", writer.style.annotation, 20.0):
            for _ in range(2):
                work = self._operator("aten::_fused_adamw_", OPTIMIZER, self.shape.product_us)
                if self.buckets:
                    work.waits_for.append((self.buckets[-1], 1.5))

    def _operator(self, name: str, kernel: str, kernel_us: float) -> Work:
        vary = self.random.uniform(0.97, 1.03)
        self.writer.host(self.shape.python_us * vary)
        with self.writer.span(name, us=self.shape.operator_us * vary):
            return self.writer.kernel(kernel, kernel_us * vary)
