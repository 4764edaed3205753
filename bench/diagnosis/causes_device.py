"""Causes between host and device: waits, copies, and too many small launches."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bench.diagnosis import editing
from bench.diagnosis.editing import Editor, before_optimizer, places, steps
from bench.diagnosis.model import Rank, Recording, Span, Wait, Work
from bench.diagnosis.programs import OPTIMIZER, PASSES
from bench.diagnosis.writer import Writer

WAIT_US = 60.0
"""About what a wait costs until the device has work again."""
SMALL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float> > >(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(int)",
)
ADAM = ("aten::mul_", "aten::add_", "aten::addcmul_", "aten::sqrt", "aten::div", "aten::addcdiv_")


def synchronization(recording: Recording, random: Random, amount: float) -> None:
    """The program waits for the device at some places of every step."""
    is_device = random.random() < 0.5

    def write(writer: Writer) -> None:
        writer.synchronize(None if is_device else writer.compute)

    _waits(recording, random, amount, write)


def item(recording: Recording, random: Random, amount: float) -> None:
    """The program fetches values at some places of every step."""

    def write(writer: Writer) -> None:
        with writer.span("aten::item", us=2.0), writer.span("aten::_local_scalar_dense", us=4.0):
            writer.copy("DtoH", 1.5, is_blocking=False, size=4)
            writer.synchronize(writer.compute)

    _waits(recording, random, amount, write)


def _waits(
    recording: Recording, random: Random, amount: float, write: Callable[[Writer], None]
) -> None:
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        after_work = _after_work(rank, step)
        count = max(1, min(int(amount / WAIT_US), len(after_work)))
        for place in sorted(random.sample(after_work, count)):
            editor.insert(place, write)
    editor.finish()


def _after_work(rank: Rank, step: list[int]) -> list[int]:
    """The first place after every launch, where there is something to wait for."""
    found, since = [], 0
    for place in step:
        if any(moment.launches for moment in rank.moments[since:place]):
            found.append(place)
        since = place
    return found


def pageable_copy(recording: Recording, random: Random, amount: float) -> None:
    """Batches are copied from pageable memory."""
    _batches(recording, random, amount, is_pageable=True)


def pinned_copy(recording: Recording, random: Random, amount: float) -> None:
    """The same batches, copied from pinned memory meanwhile."""
    _batches(recording, random, amount, is_pageable=False)


def _batches(recording: Recording, random: Random, amount: float, *, is_pageable: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        us = amount * random.uniform(0.8, 1.2)
        copy_us, place = us * random.uniform(0.05, 0.3), step[0]

        def write(writer: Writer, us: float = us, copy_us: float = copy_us) -> None:
            with writer.span("aten::_to_copy", us=8.0), writer.span("aten::copy_", us=2.0):
                writer.copy(
                    "HtoD",
                    copy_us,
                    staging_us=us - copy_us if is_pageable else 0.0,
                    is_blocking=is_pageable,
                    is_pageable=is_pageable,
                    size=int(us * 6000),
                )

        editor.insert(place, write)
    editor.finish()


def fetched_results(recording: Recording, random: Random, amount: float) -> None:
    """Large results are copied to the host at the end of every step."""
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        us = amount * random.uniform(0.8, 1.2)

        def write(writer: Writer, us: float = us) -> None:
            with writer.span("aten::to", us=4.0), writer.span("aten::copy_", us=4.0):
                writer.copy("DtoH", us, is_blocking=True, size=int(us * 6000))

        editor.insert(step[-1], write)
    editor.finish()


def many_launches(recording: Recording, random: Random, amount: float) -> None:
    """At one place of every step many small kernels are launched one by one."""
    _chain(recording, random, amount, is_graph=False)


def one_launch(recording: Recording, random: Random, amount: float) -> None:
    """The same kernels, launched at once, as a graph."""
    _chain(recording, random, amount, is_graph=True)


def _chain(recording: Recording, random: Random, amount: float, *, is_graph: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    operator_us, kernel_us = random.uniform(12.0, 40.0), random.uniform(1.5, 4.0)
    for step in places(rank):
        place = random.choice(step)
        count = max(8, int(amount / (operator_us + 6.0)))

        def write(writer: Writer, count: int = count) -> None:
            if is_graph:
                writer.graph([(SMALL[number % 3], kernel_us) for number in range(count)])
                return
            for number in range(count):
                with writer.span("aten::mul" if number % 2 else "aten::add", us=operator_us):
                    writer.kernel(SMALL[number % 3], kernel_us)

        editor.insert(place, write)
    editor.finish()


def optimizer_loop(recording: Recording, random: Random, amount: float) -> None:
    """The optimizer launches several kernels per parameter."""
    _optimizers(recording, random, amount, is_fused=False)


def fused_optimizer(recording: Recording, random: Random, amount: float) -> None:
    """The same optimizer, fused; it moves half as many bytes."""
    _optimizers(recording, random, amount, is_fused=True)


def _optimizers(recording: Recording, random: Random, amount: float, *, is_fused: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    operator_us, kernel_us = random.uniform(10.0, 25.0), random.uniform(1.5, 6.0)
    count = max(25, int(amount / (operator_us + 6.0) / len(ADAM)))
    for step in places(rank):

        def write(writer: Writer) -> None:
            with writer.span("Optimizer.step#Adam.step", writer.style.annotation, 30.0):
                if is_fused:
                    with writer.span("aten::_fused_adam_", us=20.0):
                        writer.kernel(OPTIMIZER, kernel_us * count * len(ADAM) / 2)
                    return
                for _ in range(count):
                    for number, name in enumerate(ADAM):
                        with writer.span(name, us=operator_us):
                            writer.kernel(SMALL[number % 2], kernel_us)

        editor.insert(before_optimizer(rank, step), write)
    editor.finish()


def unfused_passes(recording: Recording, random: Random, amount: float) -> None:
    """Elementwise kernels run one after the other, each over all of a large tensor."""
    _passes(recording, random, amount, is_fused=False)


def fused_passes(recording: Recording, random: Random, amount: float) -> None:
    """The same, fused pair by pair."""
    _passes(recording, random, amount, is_fused=True)


def _passes(recording: Recording, random: Random, amount: float, *, is_fused: bool) -> None:
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        chosen = sorted(random.sample(step, min(12, len(step))))
        us = amount / len(chosen) / 4

        def write(writer: Writer, us: float = us) -> None:
            for number in range(2 if is_fused else 4):
                with writer.span("aten::mul" if number % 2 else "aten::add", us=8.0):
                    writer.kernel(PASSES[2], us)

        for place in chosen:
            editor.insert(place, write)
    editor.finish()


def throttled_clock(recording: Recording, random: Random, amount: float) -> None:
    """The last steps (less than half) compute more slowly."""
    [rank] = recording
    spans = steps(rank)
    slow = random.randint(1, max(1, (len(spans) - 1) // 2))
    since = spans[-slow][0]
    works = [work for moment in rank.moments[since:] for work in moment.launches]
    kernels = [work for work in works if editing.is_kernel(work)]
    factor = 1.0 + amount * len(spans) / max(sum(work.us for work in kernels), 1.0)
    for work in kernels:
        work.us *= factor


def small_batch(recording: Recording, random: Random, amount: float) -> None:
    """Kernels are so short that the host can not launch them in time."""
    [rank] = recording
    factor = small_batch_factor(recording, random, amount)
    editing.scale(rank, lambda work: factor if editing.is_kernel(work) else 1.0)


def small_batch_factor(recording: Recording, random: Random, amount: float) -> float:
    """How much shorter kernels are in small batches: the host needs longer than they do."""
    [rank] = recording
    host_us = sum(moment.gap for moment in rank.moments)
    kernel_us = sum(work.us for work in rank.works)
    return min(1.0, (host_us / kernel_us) * random.uniform(0.2, 0.8)) + 0 * amount


def graph_of_small_batch(recording: Recording, random: Random, amount: float) -> None:
    """The same short kernels, launched without any time of the host."""
    small_batch(recording, random, amount)
    [rank] = recording
    for moment in rank.moments:
        moment.gap = min(moment.gap, 0.01)
        for work in moment.launches:
            work.after_launch = min(work.after_launch, 2.0)


def blocking_launches(recording: Recording, random: Random, amount: float) -> None:
    """Every launch of some steps returns when its kernel has ended (CUDA_LAUNCH_BLOCKING)."""
    del random, amount
    [rank] = recording
    launched: dict[Span, list[Work]] = {}
    for moment in rank.moments:
        if moment.launches:
            launched[moment.span] = moment.launches
        elif moment.kind == "end" and moment.wait is None and moment.span in launched:
            moment.wait = Wait(launched[moment.span][-1], 3.0)


def released_memory(recording: Recording, random: Random, amount: float) -> None:
    """Every step gives its memory back to the driver, which waits for the device."""
    [rank] = recording
    editor = Editor(rank)
    each_us = random.uniform(80.0, 600.0)
    count = max(1, int(amount / each_us))
    for step in places(rank):
        place = random.choice(_after_work(rank, step) or step)

        def write(writer: Writer) -> None:
            for number in range(count):
                writer.call("Free", each_us, wait=Wait(None, 3.0) if number == 0 else None)

        editor.insert(place, write)
    editor.finish()
