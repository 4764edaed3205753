"""Code to copy that records what a recording lacks: a recipe of ``recorders.toml`` with options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from torch_tb_profiler.knowledge.recorders import Recipe, RecordingOption
from torch_tb_profiler.knowledge.surroundings import can_be_one_version

NEWEST = "99.0 and newer"
"""Taken for the version of torch where it is unknown: options to copy are current ones."""

_ARGUMENTS = "{arguments}"
_ARGUMENT_LINE = re.compile(r"^( *)\{arguments\}\n", re.MULTILINE)
_LINES_TOO_MANY = re.compile(r"\n{3,}")


def options_for(
    recipe: Recipe, needed: Collection[str], torch_version: str | None
) -> list[RecordingOption]:
    """The options of ``recipe`` that record any of ``needed``, in its order.

    Args:
        recipe: The recipe.
        needed: Capabilities, or recordings of another kind.
        torch_version: The version of torch, or a range of versions; None if unknown, taken for
            the newest. Options that it does not have are omitted.
    """
    return [
        option
        for option in recipe.options
        if not set(option.records).isdisjoint(needed) and _is_in(torch_version, option)
    ]


def recording_code(recipe: Recipe, options: Sequence[RecordingOption]) -> str:
    """The code of ``recipe`` with ``options``, without a line end."""
    arguments = list(dict.fromkeys(each.argument for each in options if each.argument))
    if recipe.language == "shell":
        code = recipe.code.replace(_ARGUMENTS, "".join(f" {each}" for each in arguments))
    else:
        code = _ARGUMENT_LINE.sub(
            lambda match: "".join(f"{match[1]}{each},\n" for each in arguments), recipe.code
        ).replace(_ARGUMENTS, ", ".join(arguments))
    code = code.replace("{before}", _joined(each.before for each in options))
    code = code.replace("{after}", _joined(each.after for each in options))
    return _LINES_TOO_MANY.sub("\n\n", code).strip("\n")


def _is_in(torch_version: str | None, option: RecordingOption) -> bool:
    if option.versions is None:
        return True
    return can_be_one_version(torch_version or NEWEST, option.versions)


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(dict.fromkeys(block.strip("\n") for block in blocks if block))
