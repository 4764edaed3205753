"""Small traces the detector tests share, and how they ask for advice."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from tests.helpers.traces import Event, call, kernel, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note

GEMM = "volta_sgemm_128x32_nn"
TENSOR_CORE_GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>"


def device(
    number: int = 0,
    *,
    name: str = "NVIDIA A100-SXM4-80GB",
    capability: str = "8.0",
    memory: int = 1000,
) -> dict[str, Any]:
    """An entry of ``deviceProperties``."""
    major, _, minor = capability.partition(".")
    return {
        "id": number,
        "name": name,
        "totalGlobalMem": memory,
        "computeMajor": int(major),
        "computeMinor": int(minor),
    }


def launched(
    name: str, at: float, dur: float, corr: int, *, launch_at: float | None = None, **more: Any
) -> list[Event]:
    """A kernel and its launch, by default 2 µs before and 1 µs long."""
    where = at - 2 if launch_at is None else launch_at
    return [call("cudaLaunchKernel", where, 1, corr=corr), kernel(name, at, dur, corr=corr, **more)]


def awaited(events: list[Event], at: float) -> list[Event]:
    """The events, and from ``at`` on the host waits for the last of them."""
    end = max(event["ts"] + event.get("dur", 0) for event in events)
    return [*events, call("cudaDeviceSynchronize", at, end - at)]


def one_step(events: list[Event], *, length: float = 1000, **header: Any) -> Trace:
    """A trace with step 1 of ``length`` µs around the events."""
    return trace([step(1, 0, length), *events], **header)


def context(of: Trace) -> Context:
    """Everything of a trace."""
    return Context(of, Selection())


def load(path: Path) -> Trace:
    """The trace of a sample file."""
    return build_trace(read_text([gzip.decompress(path.read_bytes())], name=path.name))


def finding(advice: Finding | None) -> Finding:
    """The advice, which must be there and make a note."""
    assert advice is not None
    note = advice.note()
    assert note.kind == "advice"
    assert note.text
    assert "{" not in note.text
    return advice


def notes_of(of: Trace, selection: Selection | None = None) -> dict[str, Note]:
    """All advice by code."""
    return {note.code: note for note in run_detectors(of, selection or Selection()).notes}
