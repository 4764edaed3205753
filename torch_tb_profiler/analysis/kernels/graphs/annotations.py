"""What was written to a node of a graph, as a text for people.

PyTorch's ``mark_kernels`` annotates nodes with a text or with a dictionary; where scopes nest, a
node has several. Recorders write them as JSON.
"""

from __future__ import annotations

import json
from typing import Any

NAME_KEYS = ("module_fqn", "fqn", "name", "str", "annotation")
"""Keys whose value is the name of what a node is of; torchtitan writes ``module_fqn``, a text given
to ``mark_kernels`` becomes ``str``."""

_HIDDEN_KEYS = frozenset({"stream"})
"""Keys that tell where a kernel is drawn, not what it is."""

_BETWEEN = " / "
MAX_CHARS = 500
"""Longer texts are cut."""


def annotation_text(written: str) -> str:
    """The annotation of a node, from the JSON text of what was written; other text is itself."""
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        value = written
    return text_of(value)[:MAX_CHARS]


def text_of(value: Any) -> str:
    """The name of an annotation; of a dictionary without one its items; of several all, each
    once."""
    if isinstance(value, list):
        parts = [text_of(each) for each in value]
        return _BETWEEN.join(dict.fromkeys(part for part in parts if part))
    if isinstance(value, dict):
        for key in NAME_KEYS:
            if value.get(key) not in (None, ""):
                return str(value[key])
        shown = {key: each for key, each in value.items() if key not in _HIDDEN_KEYS}
        return ", ".join(f"{key}={each}" for key, each in shown.items())
    return "" if value is None else str(value)
