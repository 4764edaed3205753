"""Arguments of events that may contain secrets, by their names and values."""

from __future__ import annotations

import re

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME_IN_VALUE = re.compile(r'"((?:[^"\\]|\\.){1,200})"\s*:')
_SCALAR = re.compile(r"-?[\d.]+(?:[eE][+-]?\d+)?|true|false|null")


class ArgumentsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``arguments.toml``; its comments explain each key."""

    words: tuple[str, ...]
    endings: tuple[tuple[str, ...], ...]
    values: tuple[str, ...]
    secret_names: tuple[str, ...]
    plain_names: tuple[str, ...]
    secret_values: tuple[str, ...]
    plain_values: tuple[str, ...]


@once
def arguments_file() -> ArgumentsFile:
    """The entries of the file."""
    return load("arguments.toml", ArgumentsFile)


@once
def _secret_values() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in arguments_file().values))


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name is a secret."""
    words = tuple(word.lower() for word in _WORD.findall(name))
    known = arguments_file()
    return not set(known.words).isdisjoint(words) or any(
        words[-len(ending) :] == ending for ending in known.endings
    )


def is_secret(name: str, json_text: str) -> bool:
    """Whether the value of an argument may be, or contain, a secret.

    Args:
        name: The argument.
        json_text: Its value as JSON. Numbers, booleans and null are never secret.
    """
    if _SCALAR.fullmatch(json_text):
        return False
    return (
        is_secret_name(name)
        or _secret_values().search(json_text) is not None
        or any(is_secret_name(inner) for inner in _NAME_IN_VALUE.findall(json_text))
    )
