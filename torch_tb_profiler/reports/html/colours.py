"""The colour of a category: the CSS variables of ``light.css``, which are those of the pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VARIABLES = {
    "kernel": "kernel",
    "computation": "kernel",
    "computing": "kernel",
    "busy": "kernel",
    "forward": "kernel",
    "other_kernels": "kernel",
    "merged_computation": "kernel",
    "tensor_core": "tensor-core",
    "backward": "tensor-core",
    "memcpy": "memcpy",
    "memory": "memcpy",
    "merged_copies": "memcpy",
    "memset": "memset",
    "communication": "communication",
    "transfer": "communication",
    "merged_communication": "communication",
    "merged_exposed": "communication",
    "group_backward": "communication",
    "communication_of_others": "communication",
    "runtime": "runtime",
    "synchronization": "runtime",
    "dataloader": "dataloader",
    "data_loading": "dataloader",
    "cpu_exec": "cpu-exec",
    "cpu": "cpu-exec",
    "operator": "cpu-exec",
    "python_operator": "cpu-exec",
    "optimizer": "cpu-exec",
    "group": "cpu-exec",
    "scope": "cpu-exec",
    "launch_bound_(host)": "cpu-exec",
    "wait": "wait",
    "free": "wait",
    "nothing_launched": "wait",
    "merged_idle": "idle",
    "overlap": "tensor-core",
    "merged_overlap": "tensor-core",
    "step": "step",
    "other": "other",
}
"""Name of a category, in lower case → the end of its variable, ``--cat-…``."""

_DARK = frozenset({"kernel", "tensor-core", "memset"})
"""Ends of variables that are dark in the light theme."""

_ORDER = ("kernel", "dataloader", "cpu-exec", "communication", "memcpy", "runtime", "memset")


def colour(name: str) -> str:
    """The colour of one category, ``other`` where it is none."""
    return f"var(--cat-{_VARIABLES.get(_key(name), 'other')})"


def label_class(name: str) -> str:
    """The class of a label on the colour of a category: light on the dark ones."""
    return "on-dark" if _VARIABLES.get(_key(name)) in _DARK else "on"


def colours(names: Sequence[str]) -> list[str]:
    """The colours of the parts of one picture: those without a category get colours that no
    category of the picture has."""
    known = [_VARIABLES.get(_key(name)) for name in names]
    unused = [each for each in _ORDER if each not in known] or list(_ORDER)
    shown, others = [], 0
    for each in known:
        if each is None:
            shown.append(f"var(--cat-{unused[others % len(unused)]})")
            others += 1
        else:
            shown.append(f"var(--cat-{each})")
    return shown


def _key(name: str) -> str:
    return re.sub(r"_(us|ns|bytes|pct)$", "", re.sub(r"[\s-]+", "_", name.strip().lower()))
