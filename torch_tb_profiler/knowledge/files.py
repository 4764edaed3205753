"""Reading the TOML files of this package into typed structs."""

from __future__ import annotations

from importlib import resources
from typing import TypeVar

import msgspec

T = TypeVar("T")


class KnowledgeError(ValueError):
    """A knowledge file that breaks its own schema; the message names the file and the place."""


def load(file_name: str, schema: type[T]) -> T:
    """The contents of one TOML file of this package as ``schema``.

    Callers keep the result (the files never change while the program runs), and ask for it through
    :func:`torch_tb_profiler.once.once`: two threads must not be the first to decode a schema.

    Raises:
        KnowledgeError: the file is no TOML or does not fit ``schema``.
    """
    data = resources.files(__package__).joinpath(file_name).read_bytes()
    try:
        return msgspec.toml.decode(data, type=schema)
    except msgspec.DecodeError as error:
        raise KnowledgeError(f"{file_name}: {error}") from error
