"""Causes that DLProf had experts for: shapes and types that matrix units do not take, settings,
batches that leave memory free, work that is divided unevenly, recordings without ranges."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.diagnosis import causes_device, editing
from bench.diagnosis.editing import Editor, places
from bench.diagnosis.model import Moment, Rank, Recording, Span
from bench.diagnosis.programs import GPUS
from bench.diagnosis.reading import LAUNCHES
from bench.diagnosis.writer import Writer

TFLOPS = {"A100": (312.0, 19.5), "H100": (989.4, 67.0), "P100": (19.0, 9.5), "V100": (125.0, 15.7)}
"""What GPUs reach in half precision and in float32; of others those of a V100."""
REACHED = 0.65
"""The part of it that good kernels reach."""
ODD_SIZES = (50257, 1001, 30522, 4095, 333, 10005)
"""Vocabularies and widths that are no multiple of eight."""
OFF_UNITS = "ampere_fp16_sgemm_fp16_128x128_nn"
IN_FLOAT32 = (
    "ampere_sgemm_128x128_nn",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4",
)
ON_UNITS = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
CONVOLUTION = "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false>(int)"
FAST_CONVOLUTION = "maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n_nt"
HALF_CONVOLUTION = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize{}_stage4_warpsize2x2x1_"
    "g1_tensor16x8x16_kernel_cudnn"
)


def odd_sizes(recording: Recording, random: Random, amount: float) -> None:
    """Products of sizes that the matrix units do not take: other kernels compute them."""
    _products(recording, random, amount, is_padded=False)


def padded_sizes(recording: Recording, random: Random, amount: float) -> None:
    """The same products, padded to sizes that they take."""
    _products(recording, random, amount, is_padded=True)


def _products(recording: Recording, random: Random, amount: float, *, is_padded: bool) -> None:
    [rank] = recording
    rank.head["record_shapes"] = 1
    editor = Editor(rank)
    size, factor = random.choice(ODD_SIZES), random.uniform(1.6, 3.0)
    inner = random.choice((768, 1024, 4096))
    for step in places(rank):
        chosen = sorted(random.sample(step, min(random.randint(2, 12), len(step))))
        us = amount / len(chosen) / (factor - 1.0)
        rows = _rows(us * _flop_per_us(rank, is_half=True) / (2 * inner * size))
        width = size + (-size % 8 if is_padded else 0)
        args = {"Input Dims": [[rows, inner], [inner, width]], "Input type": ["c10::Half"] * 2}

        def write(writer: Writer, us: float = us, args: dict[str, Any] = args) -> None:
            with writer.span("aten::linear", us=6.0), writer.span("aten::mm", us=10.0, **args):
                writer.kernel(
                    ON_UNITS if is_padded else OFF_UNITS, us if is_padded else us * factor
                )

        for place in chosen:
            editor.insert(place, write)
    editor.finish()


def _flop_per_us(rank: Rank, *, is_half: bool) -> float:
    """What good kernels of the rank's GPU compute."""
    name = str(rank.head["deviceProperties"][0]["name"])
    known = next((both for model, both in TFLOPS.items() if model in name), TFLOPS["V100"])
    return known[0 if is_half else 1] * 1e6 * REACHED


def _rows(count: float) -> int:
    """A number of rows as programs have it: a multiple of 64."""
    return max(64, round(count / 64) * 64)


def float32_products(recording: Recording, random: Random, amount: float) -> None:
    """All products are in float32, with TF32 not allowed; how much slower that is decides alone
    what it costs."""
    del amount
    [rank] = recording
    name, factor = random.choice(IN_FLOAT32), random.uniform(1.6, 3.0)
    has_inputs = random.random() < 0.7
    rank.head["record_shapes"] = int(has_inputs)
    operator: Span | None = None
    for moment in rank.moments:
        if moment.kind == "begin" and moment.span.name == "aten::mm":
            operator = moment.span
        for work in moment.launches if operator is not None else ():
            if not any(work.name == gpu.product for gpu in GPUS):
                continue
            work.name, work.us = name, work.us * factor
            rows = _rows(work.us * _flop_per_us(rank, is_half=False) / (2 * 1024 * 1024))
            if has_inputs and operator is not None:
                operator.args["Input Dims"] = [[rows, 1024], [1024, 1024]]
                operator.args["Input type"] = ["float"] * 2


def no_benchmark(recording: Recording, random: Random, amount: float) -> None:
    """cuDNN takes the first algorithm that works for a few convolutions of equal shapes."""
    recording[0].head["program_settings"] = {"cudnn_benchmark": False}
    _convolutions(recording, random, amount, is_fast=False)


def benchmark(recording: Recording, random: Random, amount: float) -> None:
    """The same convolutions with the algorithms that are the fastest."""
    recording[0].head["program_settings"] = {"cudnn_benchmark": True}
    _convolutions(recording, random, amount, is_fast=True)


def _convolutions(recording: Recording, random: Random, amount: float, *, is_fast: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    has_units = rank.head["deviceProperties"][0]["computeMajor"] >= 7
    size, factor = random.choice((28, 56, 112)), random.uniform(1.3, 2.5)
    has_inputs = random.random() < 0.7
    if has_units:
        dtype, name = "c10::Half", HALF_CONVOLUTION.format("128x128x32" if is_fast else "64x32x64")
    else:
        dtype, name = "float", FAST_CONVOLUTION if is_fast else CONVOLUTION
    rank.head["record_shapes"] = int(has_inputs)
    for step in places(rank):
        chosen = sorted(random.sample(step, min(random.randint(4, 12), len(step))))
        us = amount / len(chosen) / (factor - 1.0)
        flop = us * _flop_per_us(rank, is_half=has_units)
        batch = max(1, round(flop / (2 * 64 * 64 * 9 * size * size)))
        args: dict[str, Any] = {"Input Dims": [[batch, 64, size, size], [64, 64, 3, 3]]}
        args = args | {"Input type": [dtype] * 2} if has_inputs else {}

        def write(writer: Writer, us: float = us, args: dict[str, Any] = args) -> None:
            with (
                writer.span("aten::conv2d", us=3.0, **args),
                writer.span("aten::convolution", us=3.0, **args),
                writer.span("aten::_convolution", us=3.0, **args),
                writer.span("aten::cudnn_convolution", us=8.0, **args),
            ):
                writer.kernel(name, us if is_fast else us * factor)

        for place in chosen:
            editor.insert(place, write)
    editor.finish()


def uneven_devices(recording: Recording, random: Random, amount: float) -> None:
    """One device of the process has more of every batch than the others."""
    _divide(recording, random, amount, is_even=False)


def even_devices(recording: Recording, random: Random, amount: float) -> None:
    """The same work, divided evenly."""
    _divide(recording, random, amount, is_even=True)


def _divide(recording: Recording, random: Random, amount: float, *, is_even: bool) -> None:
    [rank] = recording
    kernels = [work for work in rank.works if editing.is_kernel(work)]
    devices = sorted({work.stream[0] for work in kernels})
    busiest = random.choice(devices)
    us = sum(work.us for work in kernels if work.stream[0] == busiest)
    lead = amount * len(editing.steps(rank)) / us
    for work in kernels:
        if is_even:
            work.us *= 1.0 + lead / (len(devices) - 1)
        elif work.stream[0] == busiest:
            work.us *= 1.0 + lead * len(devices) / (len(devices) - 1)


def small_batch(recording: Recording, random: Random, amount: float) -> None:
    """Batches are so small that the host can not launch in time, and most of the memory is free."""
    causes_device.small_batch(recording, random, amount)
    _allocate(recording, random)


def graph_of_small_batch(recording: Recording, random: Random, amount: float) -> None:
    """The same, launched without any time of the host."""
    causes_device.graph_of_small_batch(recording, random, amount)
    _allocate(recording, random)


def _allocate(recording: Recording, random: Random) -> None:
    """A recording of memory: every step allocates for its activations, and frees that again."""
    [rank] = recording
    editor = Editor(rank)
    [properties, *_] = rank.head["deviceProperties"]
    capacity = int(properties["totalGlobalMem"])
    model = int(capacity * random.uniform(0.02, 0.2))
    each, reserved = int(capacity * random.uniform(0.02, 0.2)) // 8, capacity // 2
    for step in places(rank):
        for number, place in enumerate(sorted(random.sample(step, min(8, len(step))))):

            def write(writer: Writer, total: int = model + (number + 1) * each) -> None:
                writer.memory(each, total, reserved)

            editor.insert(place, write)

        def free(writer: Writer, size: int = min(8, len(step)) * each) -> None:
            writer.memory(-size, model, reserved)

        editor.insert(step[-1], free)
    editor.finish()


def device_only(recording: Recording, random: Random, amount: float) -> None:
    """Only the device was recorded (activities=[ProfilerActivity.CUDA]): calls of the runtime and
    their work, no operator, no range, no step."""
    del random, amount
    [rank] = recording
    moments: list[Moment] = []
    late = 0.0
    for moment in rank.moments:
        late += moment.gap
        if moment.span.category.lower() in LAUNCHES:
            moment.gap, late = late, 0.0
            moments.append(moment)
    moments[0].gap = 0.0
    rank.moments = moments
