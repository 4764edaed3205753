"""Reading the TOML files of this package into typed structs."""

from __future__ import annotations

from importlib import resources
from typing import TypeVar

import msgspec

T = TypeVar("T")


class KnowledgeError(ValueError):
    """A knowledge file that does not fit its schema; the message names file and position."""


def load(file_name: str, schema: type[T]) -> T:
    """The contents of one TOML file of this package as ``schema``.

    Callers cache the result with :func:`torch_tb_profiler.once.once` (files do not change while the
    program runs), also because two threads must not decode a schema for the first time at once.

    Raises:
        KnowledgeError: the file is no TOML or does not fit ``schema``.
    """
    data = resources.files(__package__).joinpath(file_name).read_bytes()
    try:
        return msgspec.toml.decode(data, type=schema)
    except msgspec.DecodeError as error:
        raise KnowledgeError(f"{file_name}: {error}") from error
