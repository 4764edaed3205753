"""Names that are not C++: of Triton, cuBLAS, cuDNN, Tensile and NCCL."""

from __future__ import annotations

import re

from torch_tb_profiler.knowledge.kernel_names.rules import name_rules

READABLE_CHARS = 40
"""Visible characters of a name in a table column; short names are at most this long if possible."""

MAX_CHARS = 1 << 10
"""Of longer names only both ends are used."""

MAX_TAIL = 14
ELLIPSIS = "…"


def plain_name(text: str) -> str:
    """The short form of a name that is not C++."""
    if len(text) > MAX_CHARS:
        text = text[: MAX_CHARS // 2] + text[-MAX_CHARS // 2 :]
    for pattern, fold in name_rules().folds:
        if fold.always or len(text) > READABLE_CHARS:
            folded, count = pattern.subn(fold.to, text)
            text = folded.replace("_", " ") if count and fold.words else folded
    return cut(_end_of_path(text))


def _end_of_path(text: str) -> str:
    """The last parts of a long path (MindSpore names kernels by their path in the model)."""
    parts = text.split("/")
    end = parts[-1]
    if len(text) <= READABLE_CHARS:
        return text
    for part in reversed(parts[:-1]):
        if len(part) + len(end) > READABLE_CHARS - len("…//"):
            break
        end = f"{part}/{end}"
    return end if len(end) == len(text) else f"{ELLIPSIS}/{end}"


def cut(text: str, chars: int = READABLE_CHARS) -> str:
    """``text`` without its middle if it is too long; the last words stay, as numbers distinguish
    generated names."""
    if len(text) <= chars:
        return text
    tail = re.search(r"[_ ]?[^_ ]*$", text[-MAX_TAIL:])
    end = tail.group() if tail and 1 < len(tail.group()) < MAX_TAIL else ""
    return text[: chars - 1 - len(end)].rstrip("_ ,") + ELLIPSIS + end
