"""What the nodes of a graph are called, so that equal work is one row.

Definitions: ``docs/views-critical-path.md#rows``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.idle.critical_path.build import StepGraph
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def node_keys(trace: Trace, of: StepGraph) -> Int64:
    """Per node a number of its row: the code of its slice's name, or for time in no slice but its
    step a number beyond all codes by what it is."""
    names = gather(trace.slices["name_code"].to_numpy(), of.slice)
    category = gather(trace.slices["category"].to_numpy(), of.slice)
    return np.where((names >= 0) & (category != Category.STEP), names, len(trace.strings) + of.part)


def key_texts(trace: Trace, keys: list[int], titles: dict[int, str]) -> list[str]:
    """The full names of rows.

    Args:
        trace: The recording.
        keys: Keys.
        titles: What time without a slice is called, by part.
    """
    count = len(trace.strings)
    return [str(trace.strings[key]) if key < count else titles[key - count] for key in keys]


def short_texts(trace: Trace, keys: list[int], titles: dict[int, str]) -> list[str]:
    """The names of rows for people: those of kernels are short."""
    shorts = kernel_names(trace).shorts
    full = key_texts(trace, keys, titles)
    return [shorts.get(key, text) for key, text in zip(keys, full, strict=True)]
