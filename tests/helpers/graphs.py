"""Traces of graphs: a launch on the host, and the kernels it ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.helpers.traces import Event, annotation, call, kernel

FLASH = "void flash::flash_fwd_splitkv_kernel<x>"
GEMM = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
REDUCE = "vllm::cross_device_reduce_1stage<bf16, 2>"
FUSED = "triton_poi_fused_silu_1"
LAYER = (FLASH, GEMM, REDUCE, FUSED)


def launch(
    at: float,
    corr: int,
    names: Sequence[str] = LAYER,
    *,
    graph: int | None = 5,
    dur: float = 4,
    gap: float = 1,
    **args: Any,
) -> list[Event]:
    """A call that launches a graph, and its kernels one after the other from 10 µs later on, with
    a gap between them; without a graph nothing names graph or node."""
    events = [call("cudaGraphLaunch", at, 5, corr=corr)]
    for place, name in enumerate(names):
        ids: dict[str, Any] = {"graph id": graph, "graph node id": place + 1}
        if graph is None:
            ids = {}
        start = at + 10 + place * (dur + gap)
        events.append(kernel(name, start, dur, corr=corr, **ids, **args))
    return events


def decode_step(at: float, corr: int, *, batch: int = 8, **more: Any) -> list[Event]:
    """A step of vLLM that replays a graph."""
    name = f"execute_context_0(0)_generation_{batch}({batch})"
    return [annotation(name, at - 1, 8), *launch(at, corr, **more)]
