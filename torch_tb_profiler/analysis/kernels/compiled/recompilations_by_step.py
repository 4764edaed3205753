"""Compilations and recompilations of each step.

Definitions: ``docs/views-compiled.md#compilations``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.kernels.compiled.compilations import compilations
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace


class Recompilations(Struct, frozen=True, eq=False):
    """Per row of ``trace.steps``.

    Attributes:
        compilations: Compilations that started in the step.
        again: Those of functions that were compiled before, for other inputs.
        compiling_ns: Host time of all of them.
    """

    compilations: Int64
    again: Int64
    compiling_ns: Int64


@per_split
def recompilations(trace: Trace) -> Recompilations:
    """The compilations of each step."""
    compiled = compilations(trace)
    step = slice_steps(trace)[compiled.slice]
    inside = step >= 0
    dur = trace.slices["dur_ns"].to_numpy()[compiled.slice]
    size = trace.steps.height
    total = np.zeros(size, np.int64)
    np.add.at(total, step[inside], dur[inside])
    return Recompilations(
        np.bincount(step[inside], minlength=size),
        np.bincount(step[inside & compiled.is_again], minlength=size),
        total,
    )
