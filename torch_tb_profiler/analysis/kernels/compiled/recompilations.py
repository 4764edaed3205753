"""How often each step compiled, and compiled again: for views beside shapes.

Definitions: ``docs/views-compiled.md#compilations``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.kernels.compiled.compilations import compilations
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Recompilations:
    """Per row of ``trace.steps``.

    Attributes:
        compilations: Compilations that began in the step.
        again: Those among them of functions that were compiled before, for other inputs.
        compiling_ns: Time of all of them on the host.
    """

    compilations: Int64
    again: Int64
    compiling_ns: Int64


@per_split
def recompilations(trace: Trace) -> Recompilations:
    """The compilations of each step; made once for each cut."""
    found = compilations(trace)
    step = slice_steps(trace)[found.slice]
    inside = step >= 0
    dur = trace.slices["dur_ns"].to_numpy()[found.slice]
    size = trace.steps.height
    total = np.zeros(size, np.int64)
    np.add.at(total, step[inside], dur[inside])
    return Recompilations(
        np.bincount(step[inside], minlength=size),
        np.bincount(step[inside & found.is_again], minlength=size),
        total,
    )
