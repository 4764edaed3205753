"""Names of the nodes of a graph, so that equal work is one row.

Definitions: ``docs/views-critical-path.md#rows``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.idle.critical_path.step_graph import StepGraph
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def node_keys(trace: Trace, nodes: StepGraph) -> Int64:
    """Per node the key of its row: the code of its slice's name; for time in no slice but its step,
    a key above all codes that stands for its part."""
    names = gather(trace.slices["name_code"].to_numpy(), nodes.slice)
    category = gather(trace.slices["category"].to_numpy(), nodes.slice)
    return np.where(
        (names >= 0) & (category != Category.STEP), names, len(trace.strings) + nodes.part
    )


def key_texts(trace: Trace, keys: list[int], titles: dict[int, str]) -> list[str]:
    """The full names of rows.

    Args:
        trace: The recording.
        keys: Keys.
        titles: Names of time without a slice, by part.
    """
    count = len(trace.strings)
    return [str(trace.strings[key]) if key < count else titles[key - count] for key in keys]


def short_texts(trace: Trace, keys: list[int], titles: dict[int, str]) -> list[str]:
    """The displayed names of rows: those of kernels are short."""
    shorts = kernel_names(trace).shorts
    full = key_texts(trace, keys, titles)
    return [shorts.get(key, text) for key, text in zip(keys, full, strict=True)]
