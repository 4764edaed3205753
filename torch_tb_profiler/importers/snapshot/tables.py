"""Stacks and allocator settings of a snapshot → side tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.importers.snapshot.mechanism_frames import is_mechanism
from torch_tb_profiler.importers.snapshot.stacks import Frame, Stacks
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_FRAMES = 60
MAX_SETTINGS = 200
MIN_CHARS = 1000
"""So many characters of a stack are shown, however many stacks there are."""

_BATCH_STACKS = 1 << 14
_FRAMEWORK = ("/torch/", "/torch_npu/", "<frozen ", "/runpy.py", "/threading.py")
"""Files of frames that are framework code, not the allocating program."""

_UNKNOWN_FILE = "??"
"""The file of a symbol without debug information."""

_MODULE_CALL_NAMES = ("_call_impl", "_wrapped_call_impl")


class _FrameFacts(Struct, frozen=True):
    """What is known of each distinct frame: its text, and whether it is of Python, of user code, of
    the purpose of a stack, and has a known line."""

    text: pl.Series
    is_python: Bools
    is_user_code: Bools
    is_purpose: Bools
    has_line: Bools

    @classmethod
    def of(cls, frames: Sequence[Frame]) -> _FrameFacts:
        is_python = np.array([file.endswith(".py") for _, file, _ in frames], np.bool_)
        return cls(
            pl.Series(map(_text, frames), dtype=pl.String),
            is_python,
            is_python & np.array([_is_user_code(frame) for frame in frames], np.bool_),
            np.array([not is_mechanism(name, file) for name, file, _ in frames], np.bool_),
            np.array([line != 0 for _, _, line in frames], np.bool_),
        )


def stacks_frame(stacks: Stacks, budget: Budget, quality: QualityReport) -> pl.DataFrame:
    """The distinct stacks as text: Python frames, innermost first; of stacks without any, the other
    frames without those of the mechanism, with a known line where some have one.

    A file refers to each text many times: a stack whose text is longer than its share of all texts
    loses its outermost frames.

    Args:
        stacks: The stacks.
        budget: The limit of all texts.
        quality: Gets the number of stacks that were cut.
    """
    facts = _FrameFacts.of(stacks.frames)
    most_chars = max(MIN_CHARS, budget.count("all_text_chars") // max(1, len(stacks.stacks)))
    parts = [pl.DataFrame(schema=SIDE_SCHEMAS["snapshot_stacks"])]
    cut = 0
    for first in range(0, len(stacks.stacks), _BATCH_STACKS):
        part, cut_here = _stack_texts(
            facts, stacks.stacks[first : first + _BATCH_STACKS], most_chars
        )
        parts.append(part)
        cut += cut_here
    quality.add("stacks_cut", cut, budget.described("all_text_chars"))
    return pl.concat(parts)


def _stack_texts(
    facts: _FrameFacts, stacks: Sequence[tuple[int, ...]], most_chars: int
) -> tuple[pl.DataFrame, int]:
    """The rows of some stacks, each of at least one frame, and how many of them were cut."""
    size = np.fromiter(map(len, stacks), np.int64, len(stacks))
    stack = np.repeat(np.arange(len(stacks)), size)
    frame = np.fromiter(chain.from_iterable(stacks), np.int64, len(stack))
    purpose = _where_any(facts.is_purpose[frame], stack)
    shown = _where_any(purpose & facts.has_line[frame], stack, purpose)
    shown = _where_any(facts.is_python[frame], stack, shown)
    stack, frame = stack[shown], frame[shown]
    is_first = np.diff(stack, prepend=-1) != 0
    start = np.flatnonzero(is_first)
    own = np.flatnonzero(facts.is_user_code[frame])
    stacks_with_own, at = np.unique(stack[own], return_index=True)
    first = start.copy()
    first[stacks_with_own] = own[at]
    chars = facts.text.str.len_chars().to_numpy()[frame] + 1
    before = np.cumsum(chars) - chars
    within = before - before[start][stack] + chars <= most_chars + 1
    is_near = np.arange(len(frame)) - start[stack] < MAX_FRAMES
    is_left_out = is_near & ~within & ~is_first
    used = is_near & (within | is_first)
    texts = pl.DataFrame({"stack": stack[used], "text": facts.text.gather(frame[used])})
    joined = texts.group_by("stack", maintain_order=True).agg(pl.col("text").str.join("\n"))
    rows = [facts.text.gather(frame[first]), joined["text"]]
    names = SIDE_SCHEMAS["snapshot_stacks"]
    return pl.DataFrame(rows, names), len(np.unique(stack[is_left_out]))


def _where_any(wanted: Bools, stack: Int64, otherwise: Bools | None = None) -> Bools:
    """The ``wanted`` frames of stacks that have any; of others those in ``otherwise``, or all."""
    count = int(stack[-1]) + 1 if len(stack) else 0
    has_any = np.bincount(stack[wanted], minlength=count)[stack] > 0
    result: Bools = np.where(has_any, wanted, True if otherwise is None else otherwise)
    return result


def _text(frame: Frame) -> str:
    """``"train.py:7 forward"``; without a file or a line that is known."""
    name, file, line = frame
    location = f"{file}:{line}" if line else file
    return f"{location} {name}" if file not in ("", _UNKNOWN_FILE) else name


def _is_user_code(frame: Frame) -> bool:
    name, file, _ = frame
    return name not in _MODULE_CALL_NAMES and not any(part in file for part in _FRAMEWORK)


def settings_frame(settings: object) -> pl.DataFrame:
    """The allocator settings with plain values."""
    rows = []
    for key, value in list(settings.items())[:MAX_SETTINGS] if isinstance(settings, dict) else []:
        if isinstance(value, str | int | float | bool | None):
            rows.append((str(key)[:80], "" if value is None else str(value)[:400]))
    return pl.DataFrame(rows, SIDE_SCHEMAS["snapshot_settings"], orient="row")
