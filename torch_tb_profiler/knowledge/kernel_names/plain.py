"""Names that are no C++: Triton's, cuBLAS', cuDNN's, Tensile's, NCCL's."""

from __future__ import annotations

import re

from torch_tb_profiler.knowledge.kernel_names.rules import rules

READABLE_CHARS = 40
"""So much of a name is read in a column of a table, and a short name is no longer if it can be."""

MAX_CHARS = 1 << 10
"""A longer name is looked at by its two ends."""

MAX_TAIL = 14
ELLIPSIS = "…"


def plain_name(text: str) -> str:
    """The short form of a name that is no C++."""
    if len(text) > MAX_CHARS:
        text = text[: MAX_CHARS // 2] + text[-MAX_CHARS // 2 :]
    for pattern, fold in rules().folds:
        if fold.always or len(text) > READABLE_CHARS:
            found, count = pattern.subn(fold.to, text)
            text = found.replace("_", " ") if count and fold.words else found
    return cut(_end_of_path(text))


def _end_of_path(text: str) -> str:
    """Of a long path (MindSpore names kernels by their place in the model) its last parts."""
    parts = text.split("/")
    kept = parts[-1]
    if len(text) <= READABLE_CHARS:
        return text
    for part in reversed(parts[:-1]):
        if len(part) + len(kept) > READABLE_CHARS - len("…//"):
            break
        kept = f"{part}/{kept}"
    return kept if len(kept) == len(text) else f"{ELLIPSIS}/{kept}"


def cut(text: str, chars: int = READABLE_CHARS) -> str:
    """``text`` with its middle left out where it is too long; the last words stay, for a number is
    what tells generated names apart."""
    if len(text) <= chars:
        return text
    tail = re.search(r"[_ ]?[^_ ]*$", text[-MAX_TAIL:])
    kept = tail.group() if tail and 1 < len(tail.group()) < MAX_TAIL else ""
    return text[: chars - 1 - len(kept)].rstrip("_ ,") + ELLIPSIS + kept
