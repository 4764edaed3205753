"""Describes classes and functions of the installed torch."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from torch_tb_profiler.recorder.torch_api.expectations import Description


def resolve(target: str) -> tuple[Any, str]:
    """The object that has the last name of a target as its attribute, and that name.

    Raises:
        ImportError, AttributeError: torch has no such module or class.
    """
    module_name, _, path = target.partition(":")
    # import_module may return an attribute of the same name: torch.autograd.gradcheck
    import_module(module_name)
    owner: Any = sys.modules[module_name]
    *parents, name = path.split(".")
    for each in parents:
        owner = getattr(owner, each)
    return owner, name


def describe(target: str) -> Description | None:
    """See :data:`~torch_tb_profiler.recorder.torch_api.expectations.Describe`. Functions that
    others have replaced are not known: they are used as they are."""
    try:
        owner, name = resolve(target)
        value = getattr(owner, name)
    except (ImportError, AttributeError):
        return None
    file = getattr(sys.modules[target.partition(":")[0]], "__file__", None)
    if isinstance(value, type):
        return Description(None, _names_of_class(value, file))
    code = _code(value)
    return Description(_parameters(value), _names(code) if _is_of(code, file) else None)


def _parameters(function: Any) -> tuple[str, ...] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not written in Python
        return None
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return None if any(each.kind in several for each in parameters) else _list(parameters)


def _list(parameters: Any) -> tuple[str, ...]:
    return tuple(each.name for each in parameters)


def _names_of_class(kind: type, file: str | None) -> frozenset[str] | None:
    names = {*vars(kind), *getattr(kind, "__annotations__", ())}
    for each in list(vars(kind).values()):
        code = _code(getattr(each, "fget", None) or getattr(each, "__func__", each))
        if code is None:
            continue
        if not _is_of(code, file) and not code.co_filename.startswith("<"):
            return None
        names |= _names(code)
    return frozenset(names)


def _code(function: Any) -> CodeType | None:
    original = inspect.unwrap(function) if callable(function) else None
    return original.__code__ if isinstance(original, FunctionType) else None


def _is_of(code: CodeType | None, file: str | None) -> bool:
    return code is not None and code.co_filename == file


def _names(code: CodeType | None) -> frozenset[str]:
    return frozenset() if code is None else frozenset(_names_in(code))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names_in(each)
