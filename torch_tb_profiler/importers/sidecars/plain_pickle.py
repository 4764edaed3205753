"""Unpickler for plain data that never imports or calls anything.

A pickle is a program for a machine that can import and call. This machine implements only the
opcodes that build plain data, so a malicious pickle can do no harm. One exception:
``collections.defaultdict``, which PyTorch pickles, becomes a plain dict. (The reader of memory
snapshots, built for gigabytes of similar entries, rejects that one too.)
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from types import NoneType
from typing import Any

MAX_OPERATIONS = 5_000_000
"""Opcodes of one pickle; a graph node takes about ten."""


_MARK = object()
_DEFAULT_DICT = object()
_FACTORY = object()
_DICT_CLASS = "collections defaultdict"
_FACTORIES = frozenset({"builtins list", "__builtin__ list", "builtins dict", "__builtin__ dict"})

_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, type] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_VALUES = frozenset(
    {
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
        "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
        "BINUNICODE8",
    }
)  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})


class NotPlainDataError(ValueError):
    """The data is not a pickle, or one with more than plain data in it."""


def read_plain(data: bytes) -> Any:
    """Load a pickle of numbers, texts, lists, tuples and dictionaries, of any protocol.

    Raises:
        NotPlainDataError: it holds anything else, is damaged or too large.
    """
    machine = _Machine()
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
            if count >= MAX_OPERATIONS:
                raise NotPlainDataError("too many values")
            machine.run(operation.name, argument)
    except NotPlainDataError:
        raise
    except Exception as error:  # damaged bytes can raise anything
        raise NotPlainDataError(f"damaged ({type(error).__name__})") from error
    if len(machine.stack) != 1:
        raise NotPlainDataError("damaged (not exactly one value)")
    return machine.stack[0]


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        """Execute one opcode.

        Raises:
            NotPlainDataError: it is not one that builds plain data.
        """
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name == "MARK":
            self.stack.append(_MARK)
        elif name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[len(self.memo) if argument is None else argument] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name not in _IGNORED:
            self._build(name, argument)

    def _build(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _TUPLES:
            size = _TUPLES[name]
            stack[-size:] = [tuple(stack[-size:])]
        elif name in ("TUPLE", "LIST", "DICT"):
            values = self._since_mark()
            builders: dict[str, Callable[[list[Any]], Any]] = {
                "TUPLE": tuple,
                "LIST": list,
                "DICT": _paired,
            }
            stack.append(builders[name](values))
        elif name == "APPEND":
            value = stack.pop()
            _checked(stack[-1], list).append(value)
        elif name == "APPENDS":
            values = self._since_mark()
            _checked(stack[-1], list).extend(values)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _checked(stack[-1], dict).update(_paired([key, value]))
        elif name == "SETITEMS":
            values = self._since_mark()
            _checked(stack[-1], dict).update(_paired(values))
        elif name == "POP":
            stack.pop()
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self._name(argument)
        elif name == "REDUCE":
            self._reduce()
        else:
            raise NotPlainDataError(f"not plain data: {name}")

    def _since_mark(self) -> list[Any]:
        at = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def _name(self, argument: Any) -> None:
        if argument is None:
            name, module = self.stack.pop(), self.stack.pop()
            argument = f"{module} {name}"
        if argument == _DICT_CLASS:
            self.stack.append(_DEFAULT_DICT)
        elif argument in _FACTORIES:
            self.stack.append(_FACTORY)
        else:
            raise NotPlainDataError(f"it names {str(argument).replace(' ', '.')[:80]}")

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if function is not _DEFAULT_DICT or arguments != (_FACTORY,):
            raise NotPlainDataError("it calls something")
        self.stack.append({})


def _paired(values: list[Any]) -> dict[Any, Any]:
    """Alternating keys and values as a dict.

    Only scalar keys: hashing deeply nested tuples may take forever or exceed the recursion limit.
    """
    if not all(isinstance(key, str | int | float | NoneType) for key in values[::2]):
        raise NotPlainDataError("a key is neither text nor number")
    return dict(zip(values[::2], values[1::2], strict=True))


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise NotPlainDataError("damaged (wrong kind of value)")
    return value
