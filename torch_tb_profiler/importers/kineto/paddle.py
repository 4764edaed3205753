"""Paddle Profiler's exports, which look like Kineto's (formats.md §2.1): names without durations.

The rest is read as far as it resembles a PyTorch trace; a note says so.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import Table
from torch_tb_profiler.trace.quality import QualityReport

DURATION = re.compile(r"\[[\d.]+ (ns|us|ms|s)\]$")
"""What Paddle writes behind every name, so that no two calls are called the same."""


def is_paddle(header: dict[str, Any]) -> bool:
    """PyTorch's ``schemaVersion`` is a number, Paddle's a text."""
    return isinstance(header.get("schemaVersion"), str)


def strip_durations(slices: Table, strings: list[str], quality: QualityReport) -> None:
    """Take the durations off the names of slices, in place; equal names become one."""
    quality.add("paddle_trace")
    first: dict[str, int] = {}
    code = np.arange(len(strings) + 1, dtype=np.int32)
    code[-1] = -1
    for old in np.unique(slices["name_code"]).tolist():
        if old >= 0:
            name = DURATION.sub("", strings[old])
            code[old] = first.setdefault(name, old)
            strings[old] = name
    slices["name_code"] = code[slices["name_code"]]
