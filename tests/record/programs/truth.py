"""What a program of these tests records itself: its steps by its own clock, and its output.

Written to the file in ``TRUTH`` (one per rank); without it nothing is written. A step is given by
two instants: it has started, and it has not ended yet. So the detected end must lie between the
second instant and the first one of the next step, however slow the machine is.
"""

from __future__ import annotations

import atexit
import json
import os
import time
from typing import Any


class Truth:
    """The truth of this process."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._steps: list[dict[str, Any]] = []
        self._printed = ""
        atexit.register(self.save)

    def begin(self, samples: int | None = None, phase: str = "train") -> None:
        """A step has started: its batch is loaded or its model was called."""
        step = {"phase": phase, "begin_ns": time.time_ns(), "samples": samples}
        self._steps.append({**step, "closing_ns": None})

    def closing(self) -> None:
        """The current step has not ended yet: its optimizer is about to step."""
        self._steps[-1]["closing_ns"] = time.time_ns()

    def count(self, samples: int, phase: str) -> None:
        """A step that exists but whose end is unknown."""
        step = {"phase": phase, "begin_ns": 1 << 62, "samples": samples}
        self._steps.append({**step, "closing_ns": 0})

    def say(self, text: str) -> None:
        """Print a line and record it."""
        print(text, flush=True)
        self._printed += text + "\n"

    def save(self) -> None:
        """Write the truth; also done at exit."""
        path = os.environ.get("TRUTH")
        if path is None or os.getpid() != self._pid:
            return
        rank = os.environ.get("RANK")
        with open(path if rank is None else f"{path}.{rank}", "w", encoding="utf-8") as file:
            json.dump(
                {"steps": self._steps, "printed": self._printed, "ended_ns": time.time_ns()}, file
            )
