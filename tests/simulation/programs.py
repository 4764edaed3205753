"""Worked programs: each has one cause that an expert would name first, or looks as if it had."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation.program import (
    COMMUNICATION,
    COMPUTE,
    Collective,
    Copy,
    Graph,
    Launch,
    Loading,
    OnThread,
    Operation,
    Program,
    StreamWait,
    Synchronize,
    Work,
    frame,
    item,
    launching,
    operator,
    steps,
)

SGEMM = "volta_sgemm_128x32_nn"
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"
TF32 = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


@dataclass(frozen=True)
class Case:
    """A program; the codes of which one must be the first finding (none: nothing about time may
    be said), and the codes that must not speak at all."""

    program: Program
    first: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def _products(count: int, kernel_us: float, us: float = 5.0) -> tuple[Operation, ...]:
    return tuple(launching("aten::mm", GEMM, kernel_us, us) for _ in range(count))


def _small(count: int, us: float = 10.0, kernel_us: float = 4.0) -> tuple[Operation, ...]:
    return tuple(launching("aten::add", ADD, kernel_us, us) for _ in range(count))


def _region(number: int, *body: Operation) -> tuple[Operation, ...]:
    """A compiled region, with what calling it costs."""
    entering = operator("AOTDispatcher Runtime Wrapper Prologue", us=5.0)
    region = operator(f"Torch-Compiled Region: {number}/0", entering, *body)
    return operator("TorchDynamo Cache Lookup", us=15.0), region


def _broken(parts: int, *body: Operation) -> tuple[Operation, ...]:
    """A region that goes on in others after graph breaks."""
    inside: tuple[Operation, ...] = ()
    for number in range(parts, -1, -1):
        inside = _region(number, *body, *inside)
    return inside


def _checked(*body: Operation) -> Operation:
    """A node of a backward pass under anomaly detection."""
    isnan = operator("aten::isnan", Launch(ADD, 5.0))
    any_true = operator("aten::_is_any_true", Launch(ADD, 5.0))
    name = "autograd::engine::evaluate_function: MmBackward0"
    return operator(name, *body, isnan, any_true, item(), us=0.0)


WAITS = ("host_synchronization",)
LAUNCHES = ("launch_bound",)

CASES: dict[str, Case] = {
    # The host launches 20 kernels ahead, then waits for them and leaves the device idle.
    "item after every ten products": Case(
        steps(3, *(2 * (*_products(10, 60.0, us=20.0), item()))),
        first=WAITS,
        silent=("launch_bound", "pageable_copies"),
    ),
    "device synchronization in every step": Case(
        steps(3, *_products(20, 60.0, us=15.0), Synchronize(), operator("aten::prepare", us=300.0)),
        first=WAITS,
        silent=("launch_bound",),
    ),
    # 17 µs on a device that had nothing to do, then 13.3 s without any.
    "short wait on an idle device": Case(
        steps(1, *_products(5, 10.0), Work(500.0), Synchronize(call_us=17.0), Work(13_300_000.0)),
        first=("unrecorded_host",),
        silent=("host_synchronization", "launch_bound"),
    ),
    # 630 ms idle of which 619 are data loading.
    "data loading after a wait": Case(
        steps(2, *_products(50, 200.0), item(), Work(5_500.0), Loading(619_000.0), Work(5_500.0)),
        first=("dataloader_bound",),
        silent=("launch_bound",),
    ),
    # A 6 µs wait after which the recording holds no host event for 247 ms.
    "nothing recorded after a wait": Case(
        steps(2, *_products(50, 200.0), Work(11_000.0), Synchronize(call_us=6.0), Work(247_000.0)),
        first=("unrecorded_host",),
        silent=("host_synchronization", "launch_bound", "dataloader_bound"),
    ),
    # The copy waits 53 ms for kernels; the device is idle for 4.5 ms in all.
    "fetching results waits for kernels": Case(
        steps(
            2,
            *_products(50, 1060.0),
            operator("aten::to", Copy("DtoH", 20.0, waits=True)),
            Work(4400.0),
        ),
        silent=("pageable_copies", "memcpy_share", "launch_bound"),
    ),
    # 129.6 ms in a copy during which the device works 128.7.
    "one long fetch": Case(
        steps(2, *_products(100, 1287.0, us=1.0), operator("aten::to", Copy("DtoH", 900.0, True))),
        silent=("pageable_copies", "launch_bound", "host_synchronization"),
    ),
    "pageable batches": Case(
        steps(
            3,
            operator("aten::to", Copy("HtoD", 4000.0, waits=True, staging_us=6000.0)),
            *_products(20, 500.0),
        ),
        first=("pageable_copies", "memcpy_share"),
        silent=("launch_bound", "host_synchronization"),
    ),
    "pinned batches": Case(
        steps(
            3,
            operator("aten::to", Copy("HtoD", 100.0, waits=False, is_pageable=False)),
            *_products(20, 500.0),
        ),
        silent=("pageable_copies", "memcpy_share", "launch_bound", "host_synchronization"),
    ),
    # Weights come over the bus for every layer: kernels can hide little of it.
    "weights are streamed": Case(
        steps(
            3,
            *(
                10
                * (
                    operator("aten::to", Copy("HtoD", 900.0, waits=False, is_pageable=False)),
                    *_products(2, 20.0),
                )
            ),
        ),
        first=("memcpy_share",),
        silent=("pageable_copies", "launch_bound", "host_synchronization"),
    ),
    "small kernels one by one": Case(steps(3, *_small(150)), first=LAUNCHES),
    "small kernels behind a long queue": Case(
        steps(2, *_small(40, us=1.0, kernel_us=9.0), *_products(2, 3000.0)),
        silent=LAUNCHES,
    ),
    # SGLang decode: a blocking copy, then a graph whose kernels are hardly recorded.
    "decode by graph after a blocking copy": Case(
        steps(
            1,
            operator(
                "aten::copy_",
                Graph(
                    tuple((ADD, 4.0) for _ in range(100_000)), recorded=30, call="hipGraphLaunch"
                ),
                Copy("DtoH", 10.0, waits=True, call="hipMemcpyWithStream"),
            ),
            *_small(20, us=50.0),
        ),
        first=("blocked_host",),
        silent=LAUNCHES,
    ),
    # Its prefill twin: the same call takes half of the trace, with work under way beside it.
    "prefill with a blocking copy": Case(
        steps(
            1,
            *_products(300, 1600.0, us=1.0),
            operator("aten::copy_", Copy("DtoH", 10.0, True, call="hipMemcpyWithStream")),
            operator("aten::prepare", us=200_000.0),
            *_products(30, 1000.0),
        ),
        silent=(*LAUNCHES, "pageable_copies"),
    ),
    # The call takes half of the trace and no device works meanwhile.
    "prefill with a slow copy": Case(
        steps(
            1,
            *_products(300, 1600.0, us=1.0),
            Synchronize(),
            frame(
                "scheduler.py(88): process_batch_result",
                operator(
                    "aten::copy_",
                    Copy("DtoH", 10.0, True, staging_us=493_000.0, call="hipMemcpyWithStream"),
                ),
            ),
        ),
        first=("blocked_host",),
        silent=(*LAUNCHES, "host_bound", "python_code", "pageable_copies"),
    ),
    "replayed graphs": Case(
        steps(3, Graph(60 * ((ADD, 4.0),), call_us=30.0), Work(400.0)),
        first=("launch_bound", "host_bound", "python_code"),
    ),
    "code is loaded inside launches": Case(
        steps(
            1,
            *(operator("aten::add", Launch(ADD, 6.0, loading_us=3500.0)) for _ in range(8)),
            *_small(40),
        ),
        first=("long_calls",),
        silent=LAUNCHES,
    ),
    # 71 % of the time only operators of the host run, though kernels are long.
    "host-bound with long kernels": Case(
        steps(3, *_products(60, 100.0, us=120.0)),
        first=("host_bound",),
        silent=("host_synchronization", "launch_bound"),
    ),
    "data loading": Case(
        steps(3, Loading(9_000.0), *_products(20, 300.0)),
        first=("dataloader_bound",),
        silent=("launch_bound", "host_synchronization"),
    ),
    "data loading behind kernels": Case(
        steps(3, *_products(20, 1000.0), Loading(9_000.0)),
        silent=("dataloader_bound", "launch_bound", "host_synchronization"),
    ),
    "the queue is full": Case(
        steps(1, *_products(1200, 30.0, us=0.5)),
        silent=("launch_bound", "host_synchronization"),
    ),
    "waiting behind work that is there": Case(
        steps(3, *_products(60, 300.0), Synchronize(), *_products(2, 300.0, us=2.0)),
        silent=("host_synchronization", "launch_bound"),
    ),
    "exposed all-reduce": Case(
        steps(
            3,
            *_products(20, 200.0),
            StreamWait(COMMUNICATION, COMPUTE),
            Collective(3000.0),
            StreamWait(COMPUTE, COMMUNICATION),
            *_products(5, 200.0),
        ),
        first=("exposed_communication", "communication_share"),
        silent=("launch_bound", "host_synchronization"),
    ),
    "hidden all-reduce": Case(
        steps(3, *_products(10, 200.0), Collective(1500.0), *_products(20, 200.0)),
        silent=("exposed_communication", "launch_bound", "host_synchronization"),
    ),
    "backward on its own thread": Case(
        steps(3, *_products(20, 300.0), OnThread(2, _products(40, 300.0)), item()),
        silent=("launch_bound", "host_synchronization"),
    ),
    "python between operators": Case(
        steps(3, *(20 * (frame("train.py(7): metrics", Work(300.0)), *_products(1, 100.0)))),
        first=("host_bound", "python_code"),
        silent=("host_synchronization", "launch_bound"),
    ),
    "long python between kernels": Case(
        steps(3, *_products(20, 300.0), item(), frame("eval.py(3): metrics", Work(9000.0))),
        first=("python_code",),
        silent=("launch_bound", "host_bound"),
    ),
    "unfused elementwise kernels": Case(
        steps(3, *(4 * (*_products(1, 200.0), *_small(8, kernel_us=150.0)))),
        first=("unfused_kernels",),
        silent=("launch_bound", "host_bound", "host_synchronization"),
    ),
    # The host sets the pace: fusing saves its operators' time, not the kernels'.
    "unfused kernels behind a slow host": Case(
        steps(3, *(4 * (*_products(1, 60.0, us=100.0), *_small(8, us=100.0, kernel_us=60.0)))),
        first=("host_bound",),
        silent=("launch_bound", "host_synchronization"),
    ),
    "matrix products in float32": Case(
        steps(3, *(20 * (launching("aten::mm", SGEMM, 500.0),))),
        first=("tensor_cores_unused",),
        silent=("launch_bound", "host_bound", "host_synchronization"),
    ),
    "matrix products in TF32": Case(
        steps(3, *(20 * (launching("aten::mm", TF32, 500.0),))),
        first=("mixed_precision",),
        silent=("launch_bound", "host_bound", "tensor_cores_unused"),
    ),
    "compilation in a step": Case(
        steps(3, *_small(20), operator("entire_frame_compile", us=20_000.0), *_small(20)),
        first=("compilation",),
        silent=("python_code", "launch_bound", "host_bound"),
    ),
    "compilation overlapping kernels": Case(
        steps(3, *_products(40, 1500.0), operator("entire_frame_compile", us=2000.0)),
        silent=("launch_bound", "host_bound"),
    ),
    "garbage collection between kernels": Case(
        steps(3, *_products(10, 100.0), item(), frame("Python GC", Work(3000.0))),
        first=("garbage_collection",),
        silent=("python_code",),
    ),
    "garbage collection overlapping kernels": Case(
        steps(3, *_products(10, 1000.0), frame("Python GC", Work(3000.0))),
        silent=("garbage_collection", "python_code"),
    ),
    "graph breaks in front of small kernels": Case(
        steps(3, *_broken(12, launching("aten::mm", GEMM, 20.0))),
        silent=("host_synchronization",),
    ),
    "graph breaks behind a long queue": Case(
        steps(3, *_products(4, 3000.0), *_broken(12, launching("aten::mm", GEMM, 20.0))),
        silent=("graph_breaks", "launch_bound", "host_bound"),
    ),
    "anomaly detection": Case(
        steps(3, *(20 * (_checked(launching("aten::mm", GEMM, 100.0)),))),
        first=("slow_api",),
        silent=("host_synchronization",),
    ),
    "matrix products behind a slow host": Case(
        steps(3, *(20 * (launching("aten::mm", SGEMM, 100.0, us=200.0),))),
        first=("host_bound",),
    ),
}

OPERATIONS: dict[str, tuple[Operation, ...]] = {
    "long kernels": _products(4, 400.0),
    "short kernels": _small(12),
    "slow host": _products(4, 50.0, us=150.0),
    "item": (item(),),
    "synchronize": (Synchronize(),),
    "short synchronize": (Synchronize(COMPUTE, call="cudaStreamSynchronize"),),
    "python": (Work(700.0),),
    "frame": (frame("train.py(7): metrics", Work(400.0)),),
    "loading": (Loading(900.0),),
    "pageable batch": (operator("aten::to", Copy("HtoD", 300.0, waits=True, staging_us=200.0)),),
    "pinned batch": (operator("aten::to", Copy("HtoD", 150.0, waits=False, is_pageable=False)),),
    "fetch": (operator("aten::to", Copy("DtoH", 40.0, waits=True)),),
    "graph": (Graph(40 * ((ADD, 5.0),)),),
    "loading code": (operator("aten::add", Launch(ADD, 6.0, loading_us=2500.0)),),
    "all-reduce": (
        StreamWait(COMMUNICATION, COMPUTE),
        Collective(500.0),
        StreamWait(COMPUTE, COMMUNICATION),
    ),
    "hidden all-reduce": (StreamWait(COMMUNICATION, COMPUTE), Collective(500.0)),
    "float32": 3 * (launching("aten::mm", SGEMM, 300.0),),
    "passes": _small(6, kernel_us=120.0),
    "backward": (OnThread(2, _products(6, 200.0)),),
}
"""Pieces of random programs."""
