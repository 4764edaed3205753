"""Element types in the names of kernels, by the rules of ``kernel_dtypes.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class NamedType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One element type.

    Attributes:
        name: Canonical name, as in ``dtypes.toml``; ``"tf32"`` is rounded float32.
        words: Regular expression of whole words that name it, case-insensitive.
        examples: Names of kernels that must contain it (tests check each).
    """

    name: str
    words: str
    examples: tuple[str, ...]


class AccumulatorRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a family of names has types that only intermediate results have.

    Attributes:
        pattern: Regular expression whose groups are such types.
        examples: Names in which it must match (tests check each).
    """

    pattern: str
    examples: tuple[str, ...]


class KernelTypeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``kernel_dtypes.toml``.

    Attributes:
        tensile: Regular expression whose group is the letter of the inputs of a Tensile kernel.
        tensile_letters: Letter → canonical name.
        joined: Regular expression of the parts that a word may consist of, with or without an x
            between them.
        accumulators: Types of sums and of intermediate results, which are no operands.
        types: The types, widest first.
    """

    tensile: str
    tensile_letters: dict[str, str]
    joined: str
    accumulators: tuple[AccumulatorRule, ...]
    types: tuple[NamedType, ...]


@once
def kernel_type_file() -> KernelTypeFile:
    """The entries of the file."""
    return load("kernel_dtypes.toml", KernelTypeFile)


class _Patterns(msgspec.Struct, frozen=True):
    tensile: re.Pattern[str]
    joined: re.Pattern[str]
    part: re.Pattern[str]
    accumulators: tuple[re.Pattern[str], ...]
    types: tuple[tuple[re.Pattern[str], str], ...]


@once
def _patterns() -> _Patterns:
    entries = kernel_type_file()
    return _Patterns(
        re.compile(entries.tensile),
        re.compile(f"(?:{entries.joined})(?:x?(?:{entries.joined}))+", re.IGNORECASE),
        re.compile(entries.joined, re.IGNORECASE),
        tuple(re.compile(rule.pattern) for rule in entries.accumulators),
        tuple((re.compile(entry.words, re.IGNORECASE), entry.name) for entry in entries.types),
    )


MAX_NAME_CHARS = 4096
"""Only this many characters of a name are searched."""

_WORD = re.compile(r"[A-Za-z0-9]+")


@lru_cache(maxsize=65536)
def types_in_name(name: str) -> tuple[str, ...]:
    """``("float32", "bfloat16")``: the types of operands and results in a kernel's name, widest
    first; empty if there are none."""
    text = demangled(name)[:MAX_NAME_CHARS]
    tensile = _patterns().tensile.match(text)
    if tensile is not None:
        letter = kernel_type_file().tensile_letters.get(tensile[1])
        return () if letter is None else (letter,)
    head, parameters = split_parameters(text)
    return _named(_without_accumulators(head)) or _named(parameters)


def _without_accumulators(text: str) -> str:
    spans = [
        match.span(group)
        for pattern in _patterns().accumulators
        for match in pattern.finditer(text)
        for group in range(1, pattern.groups + 1)
        if match[group] is not None
    ]
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


def split_parameters(text: str) -> tuple[str, str]:
    """A name split before its parameter list, which is empty if there is none."""
    if not text.endswith(")"):
        return text, ""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] == ")") - (text[position] == "(")
        if depth == 0:
            return text[:position], text[position:]
    return text, ""


def _named(text: str) -> tuple[str, ...]:
    names = {name for word in set(_WORD.findall(text)) for name in _types_of_word(word)}
    return tuple(entry.name for entry in kernel_type_file().types if entry.name in names)


@lru_cache(maxsize=65536)
def _types_of_word(word: str) -> tuple[str, ...]:
    patterns = _patterns()
    words = patterns.part.findall(word) if patterns.joined.fullmatch(word) else [word]
    return tuple(
        name for part in words for pattern, name in patterns.types if pattern.fullmatch(part)
    )
