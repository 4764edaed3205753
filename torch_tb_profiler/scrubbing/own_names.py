"""Names of functions, modules and ranges that are of the program: hashed word by word.

Words of the field, those of the rules in ``knowledge/``, stay, as do numbers and punctuation:
steps, phases, layers and kinds of kernels are recognized by them, so that figures stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from torch_tb_profiler import knowledge
from torch_tb_profiler.knowledge.scrubbing import scrubbing_file
from torch_tb_profiler.once import once

_WORD = re.compile(r"[A-Za-z]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
MIN_CHARS = 3
"""Shorter words are no names."""


@once
def _known_words() -> frozenset[str]:
    """The words of all rules, in lower case."""
    words: set[str] = set()
    for path in sorted(Path(knowledge.__file__).parent.glob("*.toml")):
        if path.name != "scrubbing.toml":
            words.update(_PART.findall(path.read_text(encoding="utf-8")))
    words.update(scrubbing_file().library.words)
    return frozenset(word.lower() for word in words)


def is_known_word(text: str) -> bool:
    """Whether a text is a word of the field, which rules recognize names by."""
    return text.lower() in _known_words()


@once
def _library_pattern() -> re.Pattern[str]:
    patterns = scrubbing_file().library.patterns
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.DOTALL)


def is_library_name(text: str) -> bool:
    """Whether a name is one of torch, of a known library or of a profiler.

    >>> is_library_name("aten::mm"), is_library_name("train.py(3): step")
    (True, False)
    """
    return _library_pattern().fullmatch(text) is not None


def is_own_name(text: str) -> bool:
    """Whether a name holds words of the program."""
    return not is_library_name(text) and any(
        len(part) >= MIN_CHARS and part.lower() not in _known_words()
        for part in _PART.findall(text)
    )


def hash_own_words(text: str, hashed: Callable[[str], str]) -> str:
    """The text with the words of the program hashed; frames of stacks one by one."""
    frames = text.split(";") if "(" in text else [text]
    return ";".join(
        frame if is_library_name(frame.strip()) else _hash_words(frame, hashed) for frame in frames
    )


def _hash_words(text: str, hashed: Callable[[str], str]) -> str:
    return _WORD.sub(lambda word: _PART.sub(partial(_hash_part, hashed), word[0]), text)


def _hash_part(hashed: Callable[[str], str], match: re.Match[str]) -> str:
    """A hash is written as its word is: names of operators and classes are recognized by that."""
    part, lower = match[0], match[0].lower()
    if len(part) < MIN_CHARS or lower in _known_words():
        return part
    result = hashed(lower)
    if part.isupper():
        return result.upper()
    return result.capitalize() if part[0].isupper() else result
