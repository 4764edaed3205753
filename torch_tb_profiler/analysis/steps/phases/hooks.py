"""What lies between the hooks that a framework runs before and behind a module's pass.

Definitions: ``docs/views-phases.md#how-phases-are-found``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.steps.phases.evidence import PHASES_BY_NAME, marks
from torch_tb_profiler.knowledge import phases as knowledge
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class Hooked(NamedTuple):
    """From where a hook before a module's pass begins to where the one behind it ends; aligned."""

    track: Int64
    start_ns: Int64
    end_ns: Int64
    phase: Int8


@per_trace
def hooked_passes(trace: Trace) -> Hooked:
    """The passes whose two hooks are recorded: on one thread, of one module, and no other of them
    between. What the recording began or ended in has one of them and is none. Made once."""
    markers = marks(trace)
    ids = markers.slice[~np.isin(markers.phase, [int(phase) for phase in markers.whole])]
    ids = ids[trace.slices["category"].to_numpy()[ids] == Category.ANNOTATION]
    number: dict[knowledge.HookedModule, int] = {}

    def kind_of(name: str) -> int:
        hook = knowledge.hooked_module(name)
        return -1 if hook is None else number.setdefault(hook, len(number))

    of_name = codes.map_names(trace, trace.slices["name_code"].to_numpy()[ids], kind_of, np.int32)
    hooks = list(number)
    of_module: dict[tuple[str, str], int] = {}
    module = np.array(
        [of_module.setdefault((hook.phase, hook.module), len(of_module)) for hook in hooks],
        np.int64,
    )
    phase = np.array([PHASES_BY_NAME[hook.phase] for hook in hooks], np.int8)
    is_behind = np.array([hook.is_behind for hook in hooks], np.bool_)
    ids, of_name = ids[of_name >= 0], of_name[of_name >= 0]
    track = trace.slices["track"].to_numpy()[ids].astype(np.int64)
    start = trace.slices["start_ns"].to_numpy()[ids]
    end = start + trace.slices["dur_ns"].to_numpy()[ids]
    order = np.lexsort((start, module[of_name], track))
    track, start, end, of_name = track[order], start[order], end[order], of_name[order]
    same = (track[1:] == track[:-1]) & (module[of_name[1:]] == module[of_name[:-1]])
    pairs = np.flatnonzero(same & ~is_behind[of_name[:-1]] & is_behind[of_name[1:]])
    return Hooked(track[pairs], start[pairs], end[pairs + 1], phase[of_name[pairs]])
