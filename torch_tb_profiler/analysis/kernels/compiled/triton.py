"""Kernels that ``torch.compile`` generated: their time and source location.

Definitions: ``docs/views-compiled.md#triton-kernels``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from msgspec import Struct

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
    """One row per launch of a kernel whose generated code is recorded.

    Columns: slice, name_code, kernel_file_code, kernel_kwargs_code, stack_code (of its launch, else
    of its kernel), flops, bytes, device_ns and kernels (that it launched itself).
    """
    stated = trace.stated.filter(pl.col("kernel_file_code").is_not_null())
    slices = stated["slice"].to_numpy()
    row_of = np.full(trace.slices.height + 1, -1)
    row_of[slices] = np.arange(len(slices))
    work = trace.device_work
    row = row_of[indices(work["owner"])]
    launched = np.flatnonzero((row >= 0) & (work["category"].to_numpy() == Category.KERNEL))
    device_ns, kernels = np.zeros(len(slices), np.int64), np.zeros(len(slices), np.int64)
    np.add.at(device_ns, row[launched], work["dur_ns"].to_numpy()[launched])
    np.add.at(kernels, row[launched], 1)
    stack = indices(stated["stack_code"])
    kernel_stack = _work_stacks(trace)[launched]
    has_own = stack[row[launched]] >= 0
    missing = launched[(kernel_stack >= 0) & ~has_own]
    stack = stack.copy()
    stack[row[missing]] = _work_stacks(trace)[missing]
    calls: pl.DataFrame = stated.select(
        "slice", "kernel_file_code", "kernel_kwargs_code", "flops", "bytes"
    ).with_columns(
        name_code=pl.Series(trace.slices["name_code"].to_numpy()[slices]),
        stack_code=pl.Series(stack),
        device_ns=pl.Series(device_ns),
        kernels=pl.Series(kernels),
    )
    return calls


def _work_stacks(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Per piece of device work the code of its recorded source, -1 for none."""
    by_slice = np.full(trace.slices.height, -1)
    stated = trace.stated.filter(pl.col("stack_code").is_not_null())
    by_slice[stated["slice"].to_numpy()] = indices(stated["stack_code"])
    stacks: np.ndarray[tuple[int], np.dtype[np.int64]] = by_slice[
        trace.device_work["slice"].to_numpy()
    ]
    return stacks


def parse_source_frames(texts: Iterable[str]) -> str | None:
    """The distinct frames of stack traces as a call stack, ``file(line): function``, innermost
    first; None without any.

    Inductor writes Python tracebacks, outermost first; others ``file.py:line``.
    """
    frames: dict[str, None] = {}
    for text in texts:
        parsed = [
            f"{frame['file']}({frame['line']}): {frame['function']}"
            for frame in _PYTHON_FRAME.finditer(text)
        ][::-1] or [f"{frame['file']}({frame['line']}): " for frame in _SHORT_FRAME.finditer(text)]
        frames.update(dict.fromkeys(frame.replace(SEPARATOR, ",") for frame in parsed))
    return SEPARATOR.join(list(frames)[:MAX_FRAMES]) or None


class Provenance(Struct, frozen=True):
    """The source of a generated kernel, from sidecar files.

    Attributes:
        stack: The lines of the program that it computes, as a call stack; None where unknown.
        nodes: The nodes of the model's graph that were fused into it; None where unknown.
    """

    stack: str | None = None
    nodes: str | None = None


@per_trace
def kernel_provenances(trace: Trace) -> Mapping[str, Provenance]:
    """Name of a kernel → its source; empty without a sidecar file."""
    side = trace.side.get("kernel_provenance")
    if side is None:
        return {}
    return {
        kernel: Provenance(parse_source_frames([stacks or ""]), nodes)
        for kernel, stacks, nodes in side.frame.select("kernel", "stacks", "nodes").iter_rows()
    }


def source_line(stack: str | None) -> str | None:
    """``file:line`` of the innermost frame of a call stack that an editor can open, else of the
    innermost with a file."""
    frames = [frame for frame in parse_stack(stack) if frame.file]
    if not frames:
        return None
    frame = next((each for each in frames if each.jumpable), frames[0])
    return f"{frame.file}:{frame.line}"
