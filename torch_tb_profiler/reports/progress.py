"""The bar on a terminal while a trace is parsed; silent when stderr is none."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from torch_tb_profiler.reports.text import shortened, visible

DELAY_S = 0.4
"""A trace that is parsed in this time shows no bar: it would only flicker."""

BAR_CELLS = 24
NAME_CELLS = 32


class Status(Protocol):
    """What a bar needs to know of a trace that is parsed."""

    @property
    def file(self) -> str:
        """Name of the file."""

    @property
    def progress(self) -> float:
        """Done part, 0 to 1."""

    @property
    def mb_per_s(self) -> float | None:
        """Speed of reading."""

    @property
    def eta_s(self) -> float | None:
        """Seconds left."""


class Progress:
    """One line on stderr that is written over, and wiped at the end."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._since_s = time.monotonic()
        self._is_visible = False

    def show(self, status: Status) -> None:
        """Draw how far ``status`` is."""
        if not self._shows or time.monotonic() - self._since_s < DELAY_S:
            return
        print(f"\r\x1b[2K{bar(status)}", end="", file=sys.stderr, flush=True)
        self._is_visible = True

    def wipe(self) -> None:
        """Remove the bar, so that what is printed next stands alone."""
        if self._is_visible:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._is_visible = False


def bar(status: Status) -> str:
    """``status`` as one line of at most 79 cells."""
    filled = round(BAR_CELLS * min(max(status.progress, 0.0), 1.0))
    parts = [
        shortened(visible(status.file), NAME_CELLS),
        f"[{'#' * filled}{'.' * (BAR_CELLS - filled)}]",
        f"{status.progress:4.0%}",
    ]
    if status.mb_per_s is not None:
        parts.append(f"{status.mb_per_s:.0f} MB/s")
    if status.eta_s is not None and status.eta_s >= 1:
        parts.append(f"{status.eta_s:.0f} s left")
    return shortened(" ".join(parts), 79)
