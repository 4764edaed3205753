"""Traces of matrix products whose FLOPs, bytes and peak are counted by hand."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import Event, call, kernel, op, trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import View

H100: dict[str, Any] = {"name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}
M = 4096
FLOPS = 2 * M**3
BYTES = 3 * 2 * M * M
PEAK_US = FLOPS / 989.4e6
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"


def product(
    at: float, dur: float, number: int, *, name: str = GEMM, dtype: str = "c10::BFloat16",
    size: int = M, device: int = 0,
) -> list[Event]:  # fmt: skip
    """A square product on the host for 10 µs, and its kernel."""
    types: dict[str, Any] = {"Input type": [dtype, dtype]}
    shape = [[size, size], [size, size]]
    return [
        op("aten::mm", at, 10, ext=number, shape=shape, **types),
        call("cudaLaunchKernel", at + 1, 2, corr=number, ext=number),
        kernel(name, at + 20, dur, corr=number, ext=number, device=device),
    ]


def traced(*events: list[Event], devices: int = 1, name: str = H100["name"]) -> Trace:
    properties = [{**H100, "id": number, "name": name} for number in range(devices)]
    return trace([one for group in events for one in group], deviceProperties=properties)


def rows(view: View, table: str = "operators") -> list[dict[str, Any]]:
    return view.tables[table].frame.rows(named=True)


def facts(view: View) -> dict[tuple[str, str | None], object]:
    return {(fact.key, fact.scope): fact.value for fact in view.facts}
