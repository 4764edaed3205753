"""Values by their position in a name, for the comparison of names."""

from __future__ import annotations

import re

from torch_tb_profiler.knowledge.kernel_names.reading import KernelNameReader, ParsedName, is_number
from torch_tb_profiler.knowledge.kernel_names.rules import name_rules

MAX_POSITIONS = 300
MAX_VALUE_CHARS = 20
"""Longer identifiers are compared word by word."""

WORDS = re.compile(r"[_\W]+")
LETTERS = re.compile(r"[A-Za-z]*")

PositionValues = dict[str, str]
"""Position in a name → the text there."""


def position_values(text: str) -> PositionValues:
    """The words of a plain name; of a C++ name first template arguments, then the parts of the
    name, then parameters."""
    values: PositionValues = {}
    if "<" in text or "(" in text:
        name = KernelNameReader(text, parameters=True).function()
        _add_arguments(name, "", values)
        _add_parameters(name, "", values)
    else:
        _add_words(text, "", values)
    return values


def _add_arguments(name: ParsedName, position: str, values: PositionValues) -> None:
    """Positions count from the last part, as namespaces vary."""
    if len(values) >= MAX_POSITIONS:
        return
    for number, part in enumerate(reversed(name.parts)):
        here = f"{position}.{number}"
        for index, argument in enumerate(part.arguments or []):
            _add_arguments(argument, f"{here}<{index}", values)
        if part.number:
            values[here] = f"#{part.number}"
        elif len(part.text) > MAX_VALUE_CHARS:
            _add_words(part.text, here, values)
        elif not number and is_number(part.text):
            values[here] = _value(name)
        elif not number:
            values[here] = " ".join(
                [*name.before, name_rules().file.types.get(part.text, part.text)]
            )
        else:
            values[here] = part.text
    if name.behind:
        values[f"{position}*"] = name.behind


def _add_parameters(name: ParsedName, position: str, values: PositionValues) -> None:
    for number, part in enumerate(reversed(name.parts)):
        for index, parameter in enumerate(part.parameters or []):
            _add_arguments(parameter, f"{position}.{number}({index}", values)
        for index, argument in enumerate(part.arguments or []):
            _add_parameters(argument, f"{position}.{number}<{index}", values)


def _value(name: ParsedName) -> str:
    text = name.parts[-1].text.rstrip("uUlL")
    return {"0": "false", "1": "true"}.get(text, text) if "bool" in name.before else text


def _add_words(text: str, position: str, values: PositionValues) -> None:
    """The words of an identifier, by their letters: ``MT`` of ``MT128x64x32``."""
    ordinals: dict[str, int] = {}
    for word in WORDS.split(text)[:MAX_POSITIONS]:
        letters = LETTERS.match(word)
        key = letters.group() if letters else ""
        ordinals[key] = ordinals.get(key, 0) + 1
        values[f"{position} {key} {ordinals[key]}"] = word
