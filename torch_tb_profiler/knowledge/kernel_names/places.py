"""What stands at which place of a name, for names to be compared."""

from __future__ import annotations

import re

from torch_tb_profiler.knowledge.kernel_names.reading import KernelNameReader, ParsedName, is_number
from torch_tb_profiler.knowledge.kernel_names.rules import rules

MAX_PLACES = 300
MAX_VALUE_CHARS = 20
"""A longer identifier is compared word by word."""

WORDS = re.compile(r"[_\W]+")
LETTERS = re.compile(r"[A-Za-z]*")

Places = dict[str, str]
"""Place in a name → what stands there."""


def places(text: str) -> Places:
    """Of a plain name its words; of C++ template arguments first, then what is around, then
    parameters."""
    found: Places = {}
    if "<" in text or "(" in text:
        name = KernelNameReader(text, parameters=True).function()
        _add_arguments(name, "", found)
        _add_parameters(name, "", found)
    else:
        _add_words(text, "", found)
    return found


def _add_arguments(name: ParsedName, place: str, found: Places) -> None:
    """Places count from the last part on, for namespaces come and go."""
    if len(found) >= MAX_PLACES:
        return
    for number, part in enumerate(reversed(name.parts)):
        here = f"{place}.{number}"
        for at, argument in enumerate(part.arguments or []):
            _add_arguments(argument, f"{here}<{at}", found)
        if part.number:
            found[here] = f"#{part.number}"
        elif len(part.text) > MAX_VALUE_CHARS:
            _add_words(part.text, here, found)
        elif not number and is_number(part.text):
            found[here] = _value(name)
        elif not number:
            found[here] = " ".join([*name.before, rules().file.types.get(part.text, part.text)])
        else:
            found[here] = part.text
    if name.behind:
        found[f"{place}*"] = name.behind


def _add_parameters(name: ParsedName, place: str, found: Places) -> None:
    for number, part in enumerate(reversed(name.parts)):
        for at, parameter in enumerate(part.parameters or []):
            _add_arguments(parameter, f"{place}.{number}({at}", found)
        for at, argument in enumerate(part.arguments or []):
            _add_parameters(argument, f"{place}.{number}<{at}", found)


def _value(name: ParsedName) -> str:
    text = name.parts[-1].text.rstrip("uUlL")
    return {"0": "false", "1": "true"}.get(text, text) if "bool" in name.before else text


def _add_words(text: str, place: str, found: Places) -> None:
    """The words of an identifier, by their letters: ``MT`` of ``MT128x64x32``."""
    ordinals: dict[str, int] = {}
    for word in WORDS.split(text)[:MAX_PLACES]:
        letters = LETTERS.match(word)
        key = letters.group() if letters else ""
        ordinals[key] = ordinals.get(key, 0) + 1
        found[f"{place} {key} {ordinals[key]}"] = word
