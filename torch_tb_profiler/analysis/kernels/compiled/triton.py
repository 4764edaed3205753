"""Kernels that ``torch.compile`` generated: what each took, and where its source stands.

Definitions: ``docs/views-compiled.md#triton-kernels``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.operators.call_stacks import SEPARATOR, parse_stack
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_PYTHON_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)')
_SHORT_FRAME = re.compile(r"(?P<file>[^\s:,;()]+\.py):(?P<line>\d+)")
MAX_FRAMES = 64
"""Further frames of one kernel are left out."""


@per_trace
def generated_calls(trace: Trace) -> pl.DataFrame:
    """One row per launch of a kernel whose generated code the recorder names; made once.

    Columns: slice, name_code, kernel_file_code, kernel_kwargs_code, stack_code (of its launch, else
    of its kernel), flops, bytes, device_ns and kernels (that it launched itself).
    """
    stated = trace.stated.filter(pl.col("kernel_file_code").is_not_null())
    slices = stated["slice"].to_numpy()
    place = np.full(trace.slices.height + 1, -1)
    place[slices] = np.arange(len(slices))
    work = trace.device_work
    at = place[indices(work["owner"])]
    launched = np.flatnonzero((at >= 0) & (work["category"].to_numpy() == Category.KERNEL))
    device_ns, kernels = np.zeros(len(slices), np.int64), np.zeros(len(slices), np.int64)
    np.add.at(device_ns, at[launched], work["dur_ns"].to_numpy()[launched])
    np.add.at(kernels, at[launched], 1)
    stack = indices(stated["stack_code"])
    of_kernel = _stacks_of_work(trace)[launched]
    has_own = stack[at[launched]] >= 0
    told = launched[(of_kernel >= 0) & ~has_own]
    stack = stack.copy()
    stack[at[told]] = _stacks_of_work(trace)[told]
    made: pl.DataFrame = stated.select(
        "slice", "kernel_file_code", "kernel_kwargs_code", "flops", "bytes"
    ).with_columns(
        name_code=pl.Series(trace.slices["name_code"].to_numpy()[slices]),
        stack_code=pl.Series(stack),
        device_ns=pl.Series(device_ns),
        kernels=pl.Series(kernels),
    )
    return made


def _stacks_of_work(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Per piece of device work the code of the source that it states itself, -1 for none."""
    of_slice = np.full(trace.slices.height, -1)
    stated = trace.stated.filter(pl.col("stack_code").is_not_null())
    of_slice[stated["slice"].to_numpy()] = indices(stated["stack_code"])
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = of_slice[
        trace.device_work["slice"].to_numpy()
    ]
    return found


def frames_of_source(texts: Iterable[str]) -> str | None:
    """The places that stack traces name, as a call stack of this house: ``file(line): function``,
    innermost first, each once; None of nothing.

    Inductor writes Python's tracebacks, outermost first; others ``file.py:line``.
    """
    frames: dict[str, None] = {}
    for text in texts:
        found = [
            f"{frame['file']}({frame['line']}): {frame['function']}"
            for frame in _PYTHON_FRAME.finditer(text)
        ][::-1] or [f"{frame['file']}({frame['line']}): " for frame in _SHORT_FRAME.finditer(text)]
        frames.update(dict.fromkeys(frame.replace(SEPARATOR, ",") for frame in found))
    return SEPARATOR.join(list(frames)[:MAX_FRAMES]) or None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a generated kernel is from, of files beside the trace.

    Attributes:
        stack: The lines of the program that it computes, as a call stack; None where not told.
        nodes: The nodes of the model's graph that were fused into it, likewise.
    """

    stack: str | None = None
    nodes: str | None = None


@per_trace
def provenances(trace: Trace) -> Mapping[str, Provenance]:
    """Name of a kernel → where it is from; empty where no file beside the trace tells."""
    side = trace.side.get("kernel_provenance")
    if side is None:
        return {}
    return {
        kernel: Provenance(frames_of_source([stacks or ""]), nodes)
        for kernel, stacks, nodes in side.frame.select("kernel", "stacks", "nodes").iter_rows()
    }


def source_line(stack: str | None) -> str | None:
    """The innermost place of a call stack that an editor can be sent to, else the innermost that
    has a file: ``file:line``."""
    frames = [frame for frame in parse_stack(stack) if frame.file]
    if not frames:
        return None
    frame = next((each for each in frames if each.jumpable), frames[0])
    return f"{frame.file}:{frame.line}"
