"""The call stacks of a snapshot: each is kept once, whoever has it.

A stack is a list of frames, innermost first, ``{"name", "filename", "line"}``. In a pickle nearly
all are written as references to frames that stand further in front, and a training loop repeats
the same few thousand: the bytes of such a list tell which stack it is.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from torch_tb_profiler.importers.snapshot.opcodes import LONG_BINGET
from torch_tb_profiler.trace.columns import Int64

MAX_STACKS = 300_000
"""Distinct stacks that are told apart; the memory of others counts without a stack."""

MAX_FRAMES = 512
MAX_FRAME_CHARS = 1000

NO_STACK = -1
REFERENCES = re.compile(rb"(?:j.{4}|h.)*", re.DOTALL)

Frame = tuple[str, str, int]
"""Name, file, line."""


class Stacks:
    """The distinct stacks of one snapshot.

    Args:
        memo: What the pickle told so far, by the number that it is referred to with.

    Attributes:
        frames: The distinct frames.
        stacks: The distinct stacks, as places in ``frames``, innermost first.
        left_out: How many stacks were beyond :data:`MAX_STACKS`.
    """

    def __init__(self, memo: dict[int, Any]) -> None:
        self.memo = memo
        self._bodies: dict[bytes, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._frame_numbers: dict[Frame, int] = {}
        self._of_list: dict[int, tuple[list[Any], int]] = {}
        self.frames: list[Frame] = []
        self.stacks: list[tuple[int, ...]] = []
        self.left_out = 0

    def of_body(self, body: bytes, times: int = 1) -> int | None:
        """The number of a list of references by its bytes, which was met so many times; None where
        they are something else. What it refers to may be told only later: :meth:`of_bodies`."""
        number = self._bodies.get(body)
        if number is None:
            if REFERENCES.fullmatch(body) is None:
                return None
            if len(self._bodies) >= MAX_STACKS:
                self.left_out += times
                return NO_STACK
            number = self._bodies[body] = len(self._bodies)
        return number

    def of_bodies(self) -> Int64:
        """The stack of each list of references, by its number, when everything was read; at the
        end one more for :data:`NO_STACK`."""
        frame_at = _FrameAt(self)
        numbers = [
            self._number(tuple(map(frame_at.__getitem__, _referred(body)))) for body in self._bodies
        ]
        return np.array([*numbers, NO_STACK])

    def of_list(self, frames: object) -> int:
        """The number of a list of frames; :data:`NO_STACK` for none."""
        if not isinstance(frames, list):
            return NO_STACK
        known = self._of_list.get(id(frames))
        if known is not None and known[0] is frames:
            return known[1]
        number = self._number(tuple(map(self.frame, frames[:MAX_FRAMES])))
        if len(self._of_list) < MAX_STACKS:
            self._of_list[id(frames)] = frames, number
        return number

    def _number(self, frames: tuple[int, ...]) -> int:
        if not frames:
            return NO_STACK
        number = self._numbers.get(frames)
        if number is None:
            if len(self.stacks) >= MAX_STACKS:
                self.left_out += 1
                return NO_STACK
            number = self._numbers[frames] = len(self.stacks)
            self.stacks.append(frames)
        return number

    def frame(self, value: object) -> int:
        """The number of a frame."""
        frame = _frame_of(value)
        number = self._frame_numbers.get(frame)
        if number is None:
            number = self._frame_numbers[frame] = len(self.frames)
            self.frames.append(frame)
        return number


class _FrameAt(dict[int, int]):
    """The number of the frame that stands somewhere in the memo, looked up once."""

    def __init__(self, stacks: Stacks) -> None:
        super().__init__()
        self._stacks = stacks

    def __missing__(self, index: int) -> int:
        number = self[index] = self._stacks.frame(self._stacks.memo.get(index))
        return number


_LONG = np.dtype([("opcode", "u1"), ("index", "<u4")])


def _referred(body: bytes) -> list[int]:
    """Where the memo has what a list of references holds."""
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
