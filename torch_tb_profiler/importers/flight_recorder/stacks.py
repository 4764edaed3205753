"""Call stacks of a dump, each distinct one once."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.importers.flight_recorder.values import dict_of, list_of, number_of, text_of
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_FRAMES = 64
MAX_STACKS = 100_000
MAX_FRAME_CHARS = 300
MAX_CHARS_OF_ALL = 32 << 20
"""Frames are repeated by reference in a pickle, and written out as text in the table."""
NO_STACK = -1
_OF_TORCH = ("/torch/", "\\torch\\", "/torch_npu/", "<frozen ", "/contextlib.py", "/threading.py")
"""In the path of files that are not the user's program."""


class DumpStacks:
    """The distinct stacks.

    Attributes:
        left_out: DumpEntries whose stack is one too many.
    """

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._frames: list[Any] = []
        self._numbers: dict[tuple[str, ...], int] = {}
        self.left_out = 0
        self._chars = 0

    def number(self, frames: Any) -> int:
        """The number of the stack of a list of frames, innermost first; :data:`NO_STACK` for
        none."""
        stack = tuple(map(self._text, list_of(frames)[:MAX_FRAMES]))
        if not stack:
            return NO_STACK
        number = self._numbers.get(stack)
        if number is None:
            self._chars += sum(map(len, stack))
            if len(self._numbers) >= MAX_STACKS or self._chars > MAX_CHARS_OF_ALL:
                self.left_out += 1
                return NO_STACK
            number = self._numbers[stack] = len(self._numbers)
        return number

    def _text(self, frame: Any) -> str:
        """``"train.py:7 step"``. Dumps repeat the object of a frame, which is read once."""
        text = self._texts.get(id(frame))
        if text is None:
            values = dict_of(frame)
            file = text_of(values.get("filename"), MAX_FRAME_CHARS)
            name = text_of(values.get("name"), MAX_FRAME_CHARS)
            line = number_of(values.get("line"))
            text = f"{file}:{line} {name}" if file and line else name or file or "?"
            text = self._texts[id(frame)] = " ".join(text.split())
            self._frames.append(frame)  # its id stays its own
        return text

    def frame(self) -> pl.DataFrame:
        """The stacks as a table."""
        rows = [(_innermost(stack), "\n".join(stack)) for stack in self._numbers]
        return pl.DataFrame(rows, SIDE_SCHEMAS["flight_stacks"], orient="row")


def _innermost(stack: tuple[str, ...]) -> str:
    """The innermost frame that is not of torch; the innermost one where all are."""
    return next((text for text in stack if not any(part in text for part in _OF_TORCH)), stack[0])
