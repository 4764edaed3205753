"""What kind of work a slice is: by its category's word, its stage, or the row it stands on.

PyTorch's encoder writes Kineto's words for what the host did, none for what its own rows of GPUs
and of overhead hold, and stages for what GPUs did. rocprofv3 has words of its own (its categories:
``hip_api``, ``kernel_dispatch``, ``memory_copy``, …).
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.importers.kineto.event_kinds import EventKind, event_kind
from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.tracks import OVERHEAD_PROCESS
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import DEVICE_LABEL, Int8, Int32, Track

WORD_OF_STAGE = {
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Annotation": "gpu_user_annotation",
    "EventRecord": "graph_event_node",
    "HostNode": "graph_host_node",
}
"""PyTorch's stages → the words that its JSON has for them."""

GPU_WORD = "cuda_sync"
OVERHEAD_WORD = "overhead"

OWN_WORDS: dict[str, Category] = {
    "graph_event_node": Category.DEVICE_OTHER,
    "graph_host_node": Category.DEVICE_OTHER,
    "kernel_dispatch": Category.KERNEL,
    "memory_copy": Category.MEMCPY,
    "scratch_memory": Category.DEVICE_OTHER,
    "hsa_api": Category.RUNTIME,
    "hip_api": Category.RUNTIME,
    "hip_runtime_api": Category.RUNTIME,
    "hip_compiler_api": Category.RUNTIME,
    "rccl_api": Category.HOST_OTHER,
    "rocdecode_api": Category.HOST_OTHER,
    "rocjpeg_api": Category.HOST_OTHER,
    "memory_allocation": Category.HOST_OTHER,
    "marker_api": Category.ANNOTATION,
}
"""Words that Kineto's JSON has not."""


def words_of_stages(word: Int32, stage: Int32, strings: Interner) -> None:
    """Give the slices of GPUs words, in place; of stages nobody knows their own name."""
    names = list(strings)
    for code in np.unique(stage[stage >= 0]).tolist():
        word[stage == code] = strings[WORD_OF_STAGE.get(names[code], names[code])]


def words_of_rows(word: Int32, track: Int32, tracks: list[Track], strings: Interner) -> None:
    """Give the slices without a word those of their rows, in place."""
    rows = np.flatnonzero(word < 0)
    for number in np.unique(track[rows]).tolist():
        row = tracks[number]
        if row.process_label is not None and DEVICE_LABEL.match(row.process_label):
            word[rows[track[rows] == number]] = strings[GPU_WORD]
        elif row.process_label == OVERHEAD_PROCESS:
            word[rows[track[rows] == number]] = strings[OVERHEAD_WORD]


def categories(word: Int32, strings: list[str]) -> tuple[Int8, Int8]:
    """Category (or :data:`UNKNOWN_CATEGORY`) and kind of each slice."""
    category = np.full(len(strings) + 1, UNKNOWN_CATEGORY, np.int8)
    kind = np.full(len(strings) + 1, int(EventKind.OTHER_SLICE), np.int8)
    for code in np.unique(word[word >= 0]).tolist():
        text = strings[code]
        known = OWN_WORDS.get(text)
        category[code] = category_of(text) if known is None else int(known)
        kind[code] = int(event_kind("X", text))
        if category[code] == Category.DEVICE_ANNOTATION:
            kind[code] = int(EventKind.LINK_SLICE)  # JSON has neither device nor stream of it
    return category[word], kind[word]
