"""Operator arguments as Ascend's tools write them → as PyTorch writes them."""

from __future__ import annotations

import json
import re

SEPARATOR = re.compile(r";[\r\n]*")
DIMENSION = re.compile(r"-?\d+")


def shapes(text: str) -> str:
    """``"32,3;;64"`` (with line breaks after the semicolons) → ``"[[32, 3], [], [64]]"``; a list of
    tensors stays one item, and what is not a number is left out."""
    return json.dumps([[int(d) for d in DIMENSION.findall(part)] for part in _parts(text)])


def types(text: str) -> str:
    """``"float;Scalar;"`` → ``'["float", "Scalar", ""]'``."""
    return json.dumps(_parts(text))


def stack(text: str) -> str:
    """Frames joined by ``;``, innermost first (the order in which the tools write them)."""
    return ";".join(part for part in _parts(text) if part)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in SEPARATOR.split(text)]
