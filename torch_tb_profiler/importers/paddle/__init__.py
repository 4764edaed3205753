"""Paddle Profiler's exports, which look like Kineto's but for the durations in their names.

The rest is read as far as it resembles a PyTorch trace; a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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


LAYER = re.compile(r"\((Python|C\+\+)\)$")
"""What Paddle writes behind the number and the name of a thread, which has a row for each."""


def thread_of(track: Track) -> Track:
    """The thread that a row is a layer of: what Python began holds what C++ did."""
    name = track.thread_name
    return replace(
        track,
        tid=LAYER.sub("", track.tid),
        thread_name=None if name is None else LAYER.sub("", name),
    )


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
    "pythonop": Category.PYTHON_OPERATOR,
    "operatorinner": Category.HOST_OTHER,
    "dygraphkernellaunch": Category.HOST_OTHER,
    "userdefined": Category.HOST_OTHER,
}
"""Its types of events (``TracerEventType`` of Paddle's ``trace_event.h``) that are none of
Kineto's. Parts of operators (``OperatorInner``, ``DygraphKernelLaunch``) and the framework's own
ranges (``UserDefined``; the user's are ``PythonUserDefined``) are no operators and own nothing."""

DIALECT = Dialect(
    "paddle_trace",
    is_paddle,
    renamed=without_duration,
    words=WORDS,
    thread=thread_of,
    has_exact_starts=True,
)
