"""Findings on what the program had set: they speak where it is recorded as such and costs time, and
are silent where it is set otherwise, not recorded, or hardly costs anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import GEMM, context, finding, launched, one_step
from tests.helpers.traces import Event, call, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import (
    ddp_options,
    deterministic_algorithms,
    launch_blocking,
    optimizer_loop,
    run_detectors,
    single_thread,
    uncached_memory,
)
from torch_tb_profiler.trace.model import Trace

Settings = dict[str, Any]


def traced(events: list[Event], settings: Settings, **header: Any) -> Trace:
    return one_step(events, program_settings=settings, **header)


def env(**variables: str) -> Settings:
    return {"environment": variables}


def kernels(busy_us: float) -> list[Event]:
    """Two kernels that work so long together, each launched in time."""
    return [
        *launched(GEMM, 10, busy_us / 2, 1),
        *launched(GEMM, 500, busy_us / 2, 2),
    ]


@pytest.mark.parametrize(
    "variable", ["CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"]
)
def test_launches_that_wait_while_devices_idle(variable: str) -> None:
    advice = finding(launch_blocking.detect(context(traced(kernels(600), env(**{variable: "1"})))))
    assert advice.measured == pytest.approx(40)
    assert advice.gain_us is None
    assert variable in advice.note().text
    assert advice.rows == [{"setting": variable, "value": "1"}]


@pytest.mark.parametrize(
    ("busy_us", "settings"),
    [
        (960, env(CUDA_LAUNCH_BLOCKING="1")),  # long kernels: the host is early anyway
        (600, env(CUDA_LAUNCH_BLOCKING="0")),
        (600, env(NCCL_DEBUG="INFO", TORCH_DISTRIBUTED_DEBUG="DETAIL")),
        (600, env()),
        (600, {}),
    ],
)
def test_launches_that_do_not_matter(busy_us: float, settings: Settings) -> None:
    assert launch_blocking.detect(context(traced(kernels(busy_us), settings))) is None


def test_memory_without_a_cache() -> None:
    on = env(PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    busy = [*kernels(600), call("cudaMalloc", 320, 30), call("cudaFree", 370, 20)]
    advice = finding(uncached_memory.detect(context(traced(busy, on))))
    assert advice.measured == pytest.approx(5)
    little = [*kernels(600), call("cudaMalloc", 320, 8)]
    assert uncached_memory.detect(context(traced(little, on))) is None
    assert uncached_memory.detect(context(traced(busy, env()))) is None


def held(operator: str, dur: float) -> list[Event]:
    return [
        op(operator, 5, 20, ext=1),
        *launched("a_kernel", 12, dur, 1, ext=1),
        op("aten::mm", 500, 20, ext=2),
        *launched(GEMM, 512, 100, 2, ext=2),
    ]


ON: Settings = {"deterministic_algorithms": True}


@pytest.mark.parametrize("operator", ["aten::scatter_add_", "aten::cudnn_convolution"])
def test_operators_that_are_held_to_determinism(operator: str) -> None:
    advice = finding(deterministic_algorithms.detect(context(traced(held(operator, 300), ON))))
    assert advice.measured == pytest.approx(75)
    assert [row["operator"] for row in advice.rows] == [operator]


@pytest.mark.parametrize(
    ("operator", "dur", "settings"),
    [
        ("aten::mm", 300, ON),
        ("aten::scatter_add_", 9, ON),
        ("aten::scatter_add_", 300, {"deterministic_algorithms": False}),
        ("aten::scatter_add_", 300, {"cudnn_deterministic": True}),  # of convolutions only
        ("aten::scatter_add_", 300, {}),
    ],
)
def test_determinism_that_does_not_matter(operator: str, dur: float, settings: Settings) -> None:
    assert deterministic_algorithms.detect(context(traced(held(operator, dur), settings))) is None


def test_determinism_of_cudnn_alone_is_about_convolutions() -> None:
    events = held("aten::cudnn_convolution", 300)
    seen = context(traced(events, {"deterministic_algorithms": False, "cudnn_deterministic": True}))
    assert "cudnn.deterministic" in finding(deterministic_algorithms.detect(seen)).note().text


def stepping(dur: float) -> list[Event]:
    name = "Optimizer.step#AdamW.step"
    return [op(name, 100, dur, cat="user_annotation"), op("aten::add_", 110, dur / 2)]


UNFUSED: Settings = {"optimizer": "AdamW", "optimizer_fused": False, "optimizer_foreach": False}


def test_an_optimizer_that_loops_on_the_host() -> None:
    advice = finding(optimizer_loop.detect(context(traced(stepping(200), UNFUSED))))
    assert advice.measured == pytest.approx(20)
    assert "AdamW(…, fused=True)" in advice.note().text


@pytest.mark.parametrize(
    ("dur", "settings"),
    [
        (40, UNFUSED),
        (200, {**UNFUSED, "optimizer_fused": True}),
        (200, {**UNFUSED, "optimizer": "Muon"}),  # it has no fused form
        (200, {"optimizer": "AdamW"}),
    ],
)
def test_optimizers_that_do_not_matter(dur: float, settings: Settings) -> None:
    assert optimizer_loop.detect(context(traced(stepping(dur), settings))) is None


def test_with_devices_another_finding_is_responsible() -> None:
    assert optimizer_loop.detect(context(traced([*stepping(200), *kernels(10)], UNFUSED))) is None


def ddp(**options: Any) -> Settings:
    return {"data_parallel": "DDP", "data_parallel_options": options}


def reducing(search_us: float, copy_us: float) -> list[Event]:
    reducer = "torch.distributed.ddp.reducer::"
    return [
        op("DistributedDataParallel.forward", 0, 400),
        op(f"{reducer}search_unused_parameters", 10, search_us),
        op(f"{reducer}copy_bucket_to_grad", 500, copy_us),
    ]


BOTH = ddp(find_unused_parameters=True, gradient_as_bucket_view=False, static_graph=False)


@pytest.mark.parametrize(
    ("search_us", "copy_us", "text"),
    [(50, 20, "static_graph=True"), (5, 20, "gradient_as_bucket_view=True")],
)
def test_options_of_ddp_that_cost(search_us: float, copy_us: float, text: str) -> None:
    advice = finding(ddp_options.detect(context(traced(reducing(search_us, copy_us), BOTH))))
    assert advice.measured == pytest.approx(max(search_us, copy_us) / 10)
    assert text in advice.note().text


@pytest.mark.parametrize(
    "settings",
    [
        ddp(find_unused_parameters=False, gradient_as_bucket_view=True),
        ddp(find_unused_parameters=True, static_graph=True),
        {**BOTH, "data_parallel": "FSDP"},
        {},
    ],
)
def test_options_of_ddp_that_do_not(settings: Settings) -> None:
    assert ddp_options.detect(context(traced(reducing(50, 50), settings))) is None
    assert ddp_options.detect(context(traced(reducing(5, 5), BOTH))) is None


WORK = [op("aten::mm", 10, 800)]


def threads(cores: int, **variables: str) -> Settings:
    return {"cpu_cores": cores, **env(**variables)}


def test_one_thread_of_many_cores() -> None:
    one = threads(8, OMP_NUM_THREADS="1", LOCAL_WORLD_SIZE="2")
    advice = finding(single_thread.detect(context(traced(WORK, one))))
    assert advice.measured == pytest.approx(80)
    assert "each process could have 4 cores" in advice.note().text


@pytest.mark.parametrize(
    ("events", "settings"),
    [
        (WORK, threads(8, OMP_NUM_THREADS="8")),
        (WORK, threads(8)),
        (WORK, threads(1, OMP_NUM_THREADS="1")),
        (WORK, threads(4, OMP_NUM_THREADS="1", LOCAL_WORLD_SIZE="4")),
        (WORK, env(OMP_NUM_THREADS="1")),
        ([op("aten::mm", 10, 300)], threads(8, OMP_NUM_THREADS="1")),
        ([*WORK, *kernels(10)], threads(8, OMP_NUM_THREADS="1")),
    ],
)
def test_one_thread_that_does_not_matter(events: list[Event], settings: Settings) -> None:
    assert single_thread.detect(context(traced(events, settings))) is None


def test_without_settings_the_reason_names_how_to_record_them() -> None:
    rows = run_detectors(traced(kernels(600), {}), Selection()).checks.frame.to_dicts()
    (row,) = (row for row in rows if row["code"] == "launch_blocking")
    assert "torch-tb-profiler record" in row["reason"]
