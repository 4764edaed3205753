"""Opcodes of a pickle that build numbers, texts and bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.importers.plain_pickle import opcodes as op
from torch_tb_profiler.importers.plain_pickle.errors import HostilePickleError

MARGIN_BYTES = 1 << 20
"""Bytes available after an opcode that is executed, or the rest of the stream."""

MAX_TEXT_BYTES = MARGIN_BYTES - 16
MAX_INTEGER_BYTES = 64


class ValueOpcodes:
    """The window that is read, the stack of values, and the opcodes that push values."""

    def __init__(self) -> None:
        self._data = b""
        self._stack: list[Any] = []

    def _value_steps(self) -> dict[int, Callable[[int], int]]:
        """Opcode → its step, which takes the offset after the opcode and returns that of the
        next."""
        return {
            op.NONE: self._constant(None), op.TRUE: self._constant(True),
            op.FALSE: self._constant(False), op.BININT: self._binint, op.BININT1: self._binint1,
            op.BININT2: self._binint2, op.LONG1: self._long(1), op.LONG4: self._long(4),
            op.BINFLOAT: self._binfloat,
            op.SHORT_BINUNICODE: self._text(1), op.BINUNICODE: self._text(4),
            op.BINUNICODE8: self._text(8), op.SHORT_BINSTRING: self._text(1),
            op.BINSTRING: self._text(4), op.SHORT_BINBYTES: self._bytes(1),
            op.BINBYTES: self._bytes(4), op.BINBYTES8: self._bytes(8),
            op.BYTEARRAY8: self._bytes(8),
        }  # fmt: skip

    def _read(self, at: int, size: int, limit: int = MAX_TEXT_BYTES) -> bytes:
        if size > limit:
            raise HostilePickleError(f"it claims {size} bytes for one value")
        data = self._data[at : at + size]
        if len(data) < size:
            raise IndexError
        return data

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._read(at, size), "little")

    def _constant(self, value: Any) -> Callable[[int], int]:
        def step(at: int) -> int:
            self._stack.append(value)
            return at

        return step

    def _binint(self, at: int) -> int:
        self._stack.append(int.from_bytes(self._read(at, 4), "little", signed=True))
        return at + 4

    def _binint1(self, at: int) -> int:
        self._stack.append(self._data[at])
        return at + 1

    def _binint2(self, at: int) -> int:
        self._stack.append(self._number(at, 2))
        return at + 2

    def _long(self, size: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            count = self._number(at, size)
            data = self._read(at + size, count, MAX_INTEGER_BYTES)
            self._stack.append(int.from_bytes(data, "little", signed=True))
            return at + size + count

        return step

    def _binfloat(self, at: int) -> int:
        self._stack.append(struct.unpack(">d", self._read(at, 8))[0])
        return at + 8

    def _text(self, size: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            count = self._number(at, size)
            data = self._read(at + size, count)
            self._stack.append(data.decode("utf-8", "replace"))
            return at + size + count

        return step

    def _bytes(self, size: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            count = self._number(at, size)
            self._stack.append(self._read(at + size, count))
            return at + size + count

        return step
