"""Stacks and allocator settings of a snapshot → side tables."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.importers.snapshot.mechanism_frames import is_mechanism
from torch_tb_profiler.importers.snapshot.stacks import Frame, Stacks
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_FRAMES = 60
MAX_SETTINGS = 200
_FRAMEWORK = ("/torch/", "/torch_npu/", "<frozen ", "/runpy.py", "/threading.py")
"""Files of frames that are framework code, not the allocating program."""

_UNKNOWN_FILE = "??"
"""The file of a symbol without debug information."""

_MODULE_CALL_NAMES = ("_call_impl", "_wrapped_call_impl")


def stacks_frame(stacks: Stacks) -> pl.DataFrame:
    """The distinct stacks as text: Python frames, innermost first; of stacks without any, the other
    frames without those of the mechanism, with a known line where some have one."""
    texts = [_text(frame) for frame in stacks.frames]
    is_python = [file.endswith(".py") for _, file, _ in stacks.frames]
    is_user_code = [
        python and _is_user_code(frame)
        for frame, python in zip(stacks.frames, is_python, strict=True)
    ]
    is_purpose = [not is_mechanism(name, file) for name, file, _ in stacks.frames]
    rows = []
    for stack in stacks.stacks:
        python = [frame for frame in stack if is_python[frame]]
        purpose = [frame for frame in stack if is_purpose[frame]] or list(stack)
        shown = python or [frame for frame in purpose if stacks.frames[frame][2]] or purpose
        first = next((frame for frame in shown if is_user_code[frame]), shown[0])
        rows.append((texts[first], "\n".join(texts[frame] for frame in shown[:MAX_FRAMES])))
    return pl.DataFrame(rows, SIDE_SCHEMAS["snapshot_stacks"], orient="row")


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
