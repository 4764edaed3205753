"""The annotation of a node of a graph, as display text.

PyTorch's ``mark_kernels`` annotates nodes with a text or with a dictionary; where scopes nest, a
node has several. Recorders write them as JSON.
"""

from __future__ import annotations

import json
from typing import Any

NAME_KEYS = ("module_fqn", "fqn", "name", "str", "annotation")
"""Keys whose value is the name of an annotation; torchtitan writes ``module_fqn``, a text given to
``mark_kernels`` becomes ``str``."""

_HIDDEN_KEYS = frozenset({"stream"})
"""Keys about where a kernel is drawn, not what it is."""

_BETWEEN = " / "
MAX_CHARS = 500
"""Longer texts are cut."""


def annotation_text(written: str) -> str:
    """The annotation of a node from its JSON text; text that is not JSON is unchanged."""
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        value = written
    return _annotation_name(value)[:MAX_CHARS]


def _annotation_name(value: Any) -> str:
    """The name of an annotation; of a dictionary without one its items; of a list all distinct
    names."""
    if isinstance(value, list):
        parts = [_annotation_name(each) for each in value]
        return _BETWEEN.join(dict.fromkeys(part for part in parts if part))
    if isinstance(value, dict):
        for key in NAME_KEYS:
            if value.get(key) not in (None, ""):
                return str(value[key])
        shown = {key: each for key, each in value.items() if key not in _HIDDEN_KEYS}
        return ", ".join(f"{key}={each}" for key, each in shown.items())
    return "" if value is None else str(value)
