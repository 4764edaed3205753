"""The distinct call stacks of a snapshot.

A stack is a list of frames ``{"name", "filename", "line"}``, innermost first. In a pickle nearly
all are lists of references to frames that occurred before, and a training loop repeats the same few
thousand stacks: the bytes of such a list identify the stack.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from torch_tb_profiler.budget import LIMITS
from torch_tb_profiler.importers.plain_pickle.opcodes import LONG_BINGET
from torch_tb_profiler.trace.columns import Int64

MAX_FRAMES = 512
MAX_FRAME_CHARS = 1000

NO_STACK = -1
REFERENCES = re.compile(rb"(?:j.{4}|h.)*", re.DOTALL)

Frame = tuple[str, str, int]
"""Name, file, line."""


class Stacks:
    """The distinct stacks of one snapshot.

    Args:
        memo: The memo of the pickle machine.

    Attributes:
        frames: The distinct frames.
        stacks: The distinct stacks, as indices into ``frames``, innermost first.
        most: How many distinct stacks are kept; memory with further ones has no stack.
        left_out: Number of events with these.
    """

    def __init__(self, memo: dict[int, Any]) -> None:
        self.memo = memo
        self._list_numbers: dict[bytes, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._frame_numbers: dict[Frame, int] = {}
        self._by_list: dict[int, tuple[list[Any], int]] = {}
        self.frames: list[Frame] = []
        self.stacks: list[tuple[int, ...]] = []
        self.most = LIMITS["memory_stacks"].floor
        self.left_out = 0

    def list_number(self, body: bytes, times: int = 1) -> int | None:
        """The number of a list of memo references, by its bytes.

        The references may be defined later; :meth:`stacks_of_lists` resolves them.

        Args:
            body: The bytes of the list.
            times: How often it occurs.

        Returns:
            The number; :data:`NO_STACK` beyond ``most``, None if the bytes are something
            else.
        """
        number = self._list_numbers.get(body)
        if number is None:
            if REFERENCES.fullmatch(body) is None:
                return None
            if len(self._list_numbers) >= self.most:
                self.left_out += times
                return NO_STACK
            number = self._list_numbers[body] = len(self._list_numbers)
        return number

    def stacks_of_lists(self) -> Int64:
        """The stack of each list number, after everything is read, followed by one item for
        :data:`NO_STACK`."""
        frame_at = _FrameNumbers(self)
        numbers = [
            self._number(tuple(map(frame_at.__getitem__, _memo_indices(body))))
            for body in self._list_numbers
        ]
        return np.array([*numbers, NO_STACK])

    def stack_number(self, frames: object) -> int:
        """The number of the stack of a list of frames; :data:`NO_STACK` if it is not a list."""
        if not isinstance(frames, list):
            return NO_STACK
        known = self._by_list.get(id(frames))
        if known is not None and known[0] is frames:
            return known[1]
        number = self._number(tuple(map(self.frame_number, frames[:MAX_FRAMES])))
        if len(self._by_list) < self.most:
            self._by_list[id(frames)] = frames, number
        return number

    def _number(self, frames: tuple[int, ...]) -> int:
        if not frames:
            return NO_STACK
        number = self._numbers.get(frames)
        if number is None:
            if len(self.stacks) >= self.most:
                self.left_out += 1
                return NO_STACK
            number = self._numbers[frames] = len(self.stacks)
            self.stacks.append(frames)
        return number

    def frame_number(self, value: object) -> int:
        """The number of a frame."""
        frame = _frame_of(value)
        number = self._frame_numbers.get(frame)
        if number is None:
            number = self._frame_numbers[frame] = len(self.frames)
            self.frames.append(frame)
        return number


class _FrameNumbers(dict[int, int]):
    """Memo index → number of its frame, looked up once."""

    def __init__(self, stacks: Stacks) -> None:
        super().__init__()
        self._stacks = stacks

    def __missing__(self, index: int) -> int:
        number = self[index] = self._stacks.frame_number(self._stacks.memo.get(index))
        return number


_LONG = np.dtype([("opcode", "u1"), ("index", "<u4")])


def _memo_indices(body: bytes) -> list[int]:
    """The memo indices in a list of references."""
    if len(body) % _LONG.itemsize == 0:
        tokens = np.frombuffer(body[: MAX_FRAMES * _LONG.itemsize], _LONG)
        if (tokens["opcode"] == LONG_BINGET).all():
            indices: list[int] = tokens["index"].tolist()
            return indices
    indices = []
    at = 0
    while at < len(body) and len(indices) < MAX_FRAMES:
        size = 4 if body[at] == LONG_BINGET else 1
        indices.append(int.from_bytes(body[at + 1 : at + 1 + size], "little"))
        at += 1 + size
    return indices


def _frame_of(value: object) -> Frame:
    if not isinstance(value, dict):
        return "?", "", 0
    name, file, line = value.get("name"), value.get("filename"), value.get("line")
    return (
        name[:MAX_FRAME_CHARS] if isinstance(name, str) else "?",
        file[:MAX_FRAME_CHARS] if isinstance(file, str) else "",
        line if isinstance(line, int) else 0,
    )
