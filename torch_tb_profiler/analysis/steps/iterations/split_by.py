"""What a recording is cut by, as the text of the parameter ``iterations_by`` says it.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from torch_tb_profiler.analysis.selection import SelectionError

CutKind = Literal["steps", "default", "auto", "name", "start"]

_PLAIN: dict[str, CutKind] = {"default": "default", "steps": "steps", "auto": "auto"}
_NAMED: dict[str, CutKind] = {"name": "name", "start": "start"}

_SHOWN = 40
"""How much of a text from outside an error repeats."""


class SplitBy(Struct, frozen=True):
    """What cuts.

    Attributes:
        kind: ``steps`` of the recording; ``default``: those, or without them a clear key node;
            ``auto``: those, or the best key node;
            ``name``: each end of a range or operator of that name; ``start``: each start of one.
        name: The name, in which ``*`` stands for any text; empty for the first three.
    """

    kind: CutKind
    name: str = ""


def parse_split_by(text: str | None) -> SplitBy:
    """What ``text`` says; None is ``default``.

    Raises:
        SelectionError: it is none of ``default``, ``steps``, ``auto``, ``name:…`` and ``start:…``.
    """
    kind, colon, name = (text or "default").partition(":")
    if not colon and kind in _PLAIN:
        return SplitBy(_PLAIN[kind])
    if name.strip() and kind in _NAMED:
        return SplitBy(_NAMED[kind], name)
    raise SelectionError(
        f"iterations_by: {(text or '')[:_SHOWN]!r} is none of default, steps, auto, "
        "name:<operator or range> and start:<operator or range>"
    )
