"""The step as a bar of characters, which needs no colour: each category has its own sign."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.reports.step_bar import StepBar, StepPart
from torch_tb_profiler.reports.text import visible

_SIGNS = {
    "Kernel": "█",
    "Memcpy": "▚",
    "Memset": "▞",
    "Communication": "▓",
    "Runtime": "#",
    "DataLoader": "▒",
    "CPU Exec": "░",
    "Other": "·",
}
"""Category → its sign in the bar."""

_OTHERS = "%@&=+~"
"""For categories that a device calls otherwise, in order."""


def bar_text(bar: StepBar, width: int) -> str:
    """The bar in ``width`` signs; every category has one at least."""
    signs = _signs(bar.parts)
    total = sum(part.duration_us for part in bar.parts)
    counts = [max(1, round(part.duration_us / total * width)) for part in bar.parts]
    while sum(counts) != width:
        longest = max(range(len(counts)), key=counts.__getitem__)
        if counts[longest] == 1:
            break
        counts[longest] += 1 if sum(counts) < width else -1
    return "".join(sign * count for sign, count in zip(signs, counts, strict=True))


def legend_texts(bar: StepBar) -> list[str]:
    """What each sign means, with share and time."""
    return [
        f"{sign} {visible(part.name)} {part.pct:.1f} %"
        for sign, part in zip(_signs(bar.parts), bar.parts, strict=True)
    ]


def _signs(parts: Sequence[StepPart]) -> list[str]:
    others = iter(_OTHERS * len(parts))
    return [_SIGNS.get(part.name) or next(others) for part in parts]
