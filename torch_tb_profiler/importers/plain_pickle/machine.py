"""A pickle machine that builds plain data only: lists, dicts, tuples, sets, texts, bytes, numbers.

Nothing is ever imported or called: an opcode that would is rejected with the name of its target
(:class:`HostilePickleError`). There is no recursion, and memory is bounded by the length of the
file and a number of values (:class:`TooManyValuesError`). Of a truncated stream, everything before
its end is available.

A format whose values are too many for objects of Python subclasses the machine and overrides the
steps that create them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.budget import UNLIMITED, Budget
from torch_tb_profiler.importers.plain_pickle import opcodes as op
from torch_tb_profiler.importers.plain_pickle.errors import (
    HostilePickleError,
    PickleError,
    TooManyValuesError,
    TruncatedPickleError,
)
from torch_tb_profiler.importers.plain_pickle.values import MARGIN_BYTES, ValueOpcodes
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow

CHECK_BYTES = 1 << 20
"""After so many bytes of opcodes, the number of values is checked."""

_MAX_NAME_CHARS = 80
_REFERENCES = re.compile(rb"(?:j.{4}|h.)*(?=e)", re.DOTALL)
_KEYS = (str, int, float, bytes, type(None))


class PickleMachine(ValueOpcodes):
    """The execution of one pickle.

    Args:
        window: The stream.
        progress: Called whenever the window moves.
        budget: How many values and stacks it may hold, by what is read so far. Opcodes that a
            pickler does not write for data count as values, so that none of them is for free.
    """

    def __init__(
        self,
        window: StreamWindow,
        progress: Callable[[], None] = lambda: None,
        budget: Callable[[], Budget] = lambda: UNLIMITED,
    ) -> None:
        super().__init__()
        self._window = window
        self._progress = progress
        self._budget = budget
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._memo_count = 0
        self._counted = 0
        self._result: Any = None
        self._is_done = False
        self._steps = self._table()

    def run(self) -> Any:
        """Read the whole pickle and return its value.

        Raises:
            TruncatedPickleError: the stream ends early (:meth:`partial_value` has the data before).
            HostilePickleError: the pickle would run something.
            TooManyValuesError: it holds more than the budget allows.
            PickleError: the data is not a pickle, or damaged.
            StorageError, OSError: the stream cannot be read.
        """
        at = 0
        steps = self._steps
        try:
            at, safe_end = self._refill(at)
            if self._data[at] != op.PROTO:
                self._of_old_protocol(at)
            checked_end = at
            while not self._is_done:
                if at > checked_end:
                    self._check_values()
                    if at > safe_end:
                        at, safe_end = self._refill(at)
                    checked_end = min(safe_end, at + CHECK_BYTES)
                at = steps[self._data[at]](at + 1)
            self._check_values()
        except (IndexError, struct.error):
            if self._window.is_whole and at + MARGIN_BYTES >= len(self._data):
                raise TruncatedPickleError("it ends in the middle") from None
            raise PickleError("its opcodes do not fit each other") from None
        return self._result

    def partial_value(self) -> Any:
        """The data of a truncated stream, with all open containers closed."""
        while self._marks:
            items = self._pop_to_mark()
            if not self._stack:
                self._stack = items[:1]
                continue
            self._close(self._stack[-1], items)
        return self._stack[0] if self._stack else None

    def _close(self, into: Any, items: list[Any]) -> None:
        if isinstance(into, list):
            into.extend(items)
        elif isinstance(into, dict):
            if len(items) % 2 and len(items) > 1 and isinstance(items[-2], list):
                items[-2].append(items.pop())  # APPEND, for a list of one item, has no mark
            whole = len(items) // 2 * 2
            into.update(
                (key, value)
                for key, value in zip(items[0:whole:2], items[1:whole:2], strict=True)
                if isinstance(key, _KEYS)
            )

    # the stream

    def _refill(self, at: int) -> tuple[int, int]:
        """Move the window to ``at``; return the new offset, and the last one with a full margin."""
        window = self._window
        if not window.is_whole:
            window.forward(at)
            self._data, at = window.data, 0
            self._progress()
        safe_end = len(self._data) - 1 - (0 if window.is_whole else MARGIN_BYTES)
        if at >= len(self._data):
            raise TruncatedPickleError("it ends in the middle")
        return at, safe_end

    def _check_values(self) -> None:
        held = self._counted + len(self._stack) + len(self._marks) + len(self._memo)
        if held > self._budget().limit("objects"):
            raise TooManyValuesError("it has more values than any recording of its size")

    # steps of opcodes: each takes the offset after its opcode and returns that of the next one

    def _table(self) -> list[Callable[[int], int]]:
        table: list[Callable[[int], int]] = [self._unknown] * 256
        for code in op.REJECTED:
            table[code] = self._reject
        for code in op.TEXT_OPCODES:
            table[code] = self._of_old_protocol
        steps: dict[int, Callable[[int], int]] = {
            op.PROTO: self._proto, op.FRAME: lambda at: at + 8, op.STOP: self._stop,
            op.MARK: self._mark, op.POP: self._pop, op.POP_MARK: self._pop_mark, op.DUP: self._dup,
            op.EMPTY_LIST: self._empty(list), op.EMPTY_TUPLE: self._empty(tuple),
            op.EMPTY_SET: self._empty(set), op.EMPTY_DICT: self._empty_dict,
            op.APPEND: self._append, op.APPENDS: self._appends, op.LIST: self._list,
            op.SETITEM: self._setitem, op.SETITEMS: self._setitems, op.DICT: self._dict,
            op.TUPLE: self._tuple, op.TUPLE1: self._tuple_of(1), op.TUPLE2: self._tuple_of(2),
            op.TUPLE3: self._tuple_of(3), op.ADDITEMS: self._additems,
            op.FROZENSET: self._frozenset,
            op.BINGET: self._get(1), op.LONG_BINGET: self._get(4), op.BINPUT: self._put(1),
            op.LONG_BINPUT: self._put(4), op.MEMOIZE: self._memoize,
        }  # fmt: skip
        for code, step in (steps | self._value_steps()).items():
            table[code] = step
        return table

    def _unknown(self, at: int) -> int:
        raise PickleError(f"byte {self._data[at - 1]:#04x} is not an opcode")

    def _of_old_protocol(self, _at: int) -> int:
        raise PickleError("it has protocol 0 or 1, which PyTorch does not use for snapshots")

    def _reject(self, at: int) -> int:
        """Raise an error that names the target of the opcode."""
        code = self._data[at - 1]
        target = ""
        if code in (op.GLOBAL, op.INST):
            lines = self._data[at : at + 2 * _MAX_NAME_CHARS].split(b"\n")[:2]
            target = ".".join(line.decode("utf-8", "replace")[:_MAX_NAME_CHARS] for line in lines)
        elif code == op.STACK_GLOBAL:
            target = ".".join(
                part[:_MAX_NAME_CHARS] for part in self._stack[-2:] if isinstance(part, str)
            )
        name = op.REJECTED[code]
        raise HostilePickleError(f"it wants to run {target or 'something'} ({name})")

    def _proto(self, at: int) -> int:
        self._counted += 1
        if not 2 <= self._data[at] <= 5:
            raise PickleError(f"it has protocol {self._data[at]}; protocols 2 to 5 are supported")
        return at + 1

    def _stop(self, at: int) -> int:
        self._result = self._stack[-1]
        self._is_done = True
        return at

    def _mark(self, at: int) -> int:
        stack = self._stack
        self._marks.append(len(stack))
        if self._data[at] in b"jh" and stack and type(stack[-1]) is list and not stack[-1]:
            return self._references(at)
        return at

    def _references(self, at: int) -> int:
        """Push a whole list of memo references, such as the frames of a stack."""
        match = _REFERENCES.match(self._data, at, at + MARGIN_BYTES)
        if match is None:
            return at
        data, memo, push = self._data, self._memo, self._stack.append
        end = match.end()
        while at < end:
            size = 4 if data[at] == op.LONG_BINGET else 1
            index = int.from_bytes(data[at + 1 : at + 1 + size], "little")
            if index not in memo:
                return at
            push(memo[index])
            at += 1 + size
        return at

    def _pop(self, at: int) -> int:
        self._counted += 1
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._stack.pop()
        return at

    def _pop_mark(self, at: int) -> int:
        self._pop_to_mark()
        return at

    def _dup(self, at: int) -> int:
        self._stack.append(self._stack[-1])
        return at

    # containers

    def _empty(self, kind: Callable[[], Any]) -> Callable[[int], int]:
        def step(at: int) -> int:
            self._counted += 1
            self._stack.append(kind())
            return at

        return step

    def _empty_dict(self, at: int) -> int:
        self._counted += 1
        self._stack.append({})
        return at

    def _pop_to_mark(self) -> list[Any]:
        """Remove and return the values above the last mark."""
        if not self._marks:
            raise PickleError("a container is closed that was not opened")
        self._counted += 1
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _append(self, at: int) -> int:
        self._counted += 1
        value = self._stack.pop()
        self._list_on_top().append(value)
        return at

    def _appends(self, at: int) -> int:
        items = self._pop_to_mark()
        self._list_on_top().extend(items)
        return at

    def _list_on_top(self) -> list[Any]:
        into = self._stack[-1]
        if type(into) is not list:
            raise PickleError("an item is appended to something other than a list")
        return into

    def _list(self, at: int) -> int:
        self._counted += 1
        self._stack.append(self._pop_to_mark())
        return at

    def _setitem(self, at: int) -> int:
        value = self._stack.pop()
        self._set([self._stack.pop(), value])
        return at

    def _setitems(self, at: int) -> int:
        self._set(self._pop_to_mark())
        return at

    def _set(self, items: list[Any]) -> None:
        into = self._stack[-1]
        if type(into) is not dict or len(items) % 2:
            raise PickleError("keys and values are set in something other than a dict")
        into.update(zip(_scalars(items[0::2]), items[1::2], strict=True))

    def _dict(self, at: int) -> int:
        items = self._pop_to_mark()
        self._counted += 1
        self._stack.append({})
        self._set(items)
        return at

    def _tuple(self, at: int) -> int:
        self._counted += 1
        self._stack.append(tuple(self._pop_to_mark()))
        return at

    def _tuple_of(self, count: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            self._counted += 1
            if len(self._stack) < count:
                raise IndexError
            items = tuple(self._stack[-count:])
            del self._stack[-count:]
            self._stack.append(items)
            return at

        return step

    def _additems(self, at: int) -> int:
        items = self._pop_to_mark()
        into = self._stack[-1]
        if type(into) is not set:
            raise PickleError("items are added to something other than a set")
        into.update(_scalars(items))
        return at

    def _frozenset(self, at: int) -> int:
        self._counted += 1
        self._stack.append(frozenset(_scalars(self._pop_to_mark())))
        return at

    # the memo

    def _get(self, size: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            index = self._number(at, size)
            memo = self._memo
            self._stack.append(memo[index] if index in memo else self._not_memoized(index))
            return at + size

        return step

    def _not_memoized(self, index: int) -> Any:
        """The value of a reference to nothing that was memoized."""
        raise PickleError(f"it refers to a value that it does not have ({index})")

    def _put(self, size: int) -> Callable[[int], int]:
        def step(at: int) -> int:
            self._memoize_as(self._number(at, size))
            return at + size

        return step

    def _memoize(self, at: int) -> int:
        self._memoize_as(self._memo_count)
        return at

    def _memoize_as(self, index: int) -> None:
        value = self._stack[-1]
        self._memo_count += 1
        self._memo[index] = value


def _scalars(keys: list[Any]) -> list[Any]:
    """Check that all keys are scalars: hashing deeply nested tuples would recurse as deeply."""
    if not all(isinstance(key, _KEYS) for key in keys):
        raise PickleError("a key is neither text nor number")
    return keys
