"""Paddle Profiler's exports, which look like Kineto's but for the durations in their names.

The rest is read as far as it resembles a PyTorch trace; a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Track

DURATION = re.compile(r"\[[\d.]+ (ns|us|ms|s)\]$")
"""What Paddle writes behind every name, so that no two calls are called the same."""


def is_paddle(header: Mapping[str, Any], _tracks: Sequence[Track]) -> bool:
    """PyTorch's ``schemaVersion`` is a number, Paddle's a text (``"1.0.3"``)."""
    return isinstance(header.get("schemaVersion"), str)


def without_duration(name: str) -> str:
    """``"conv2d[2.765 ms]"`` → ``"conv2d"``."""
    return DURATION.sub("", name)


WORDS: dict[str, Category] = {
    "profilestep": Category.STEP,
    "dataloader": Category.DATALOADER,
    "forward": Category.ANNOTATION,
    "backward": Category.ANNOTATION,
    "optimization": Category.OPTIMIZER,
    "pythonuserdefined": Category.ANNOTATION,
    "communication": Category.ANNOTATION,
    "cudaruntime": Category.RUNTIME,
    "mluruntime": Category.RUNTIME,
}
"""Its types of events (``TracerEventType`` of Paddle's ``trace_event.h``) that are none of
Kineto's. Those of parts of operators (``OperatorInner``) are no operators."""

DIALECT = Dialect("paddle_trace", is_paddle, renamed=without_duration, words=WORDS)
