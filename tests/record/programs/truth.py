"""What a program of these tests knows of itself: its steps by its own clock, and what it printed.

Written to the file that ``TRUTH`` names (of several ranks, one each), and nothing where it names
none. A step is told by two instants: it has begun, and its end has not come yet. So the end that
somebody else saw must lie between the second and the first of the step that follows, however slow
the machine is.
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
        """A step has begun: its batch is there, its model was called."""
        step = {"phase": phase, "begin_ns": time.time_ns(), "samples": samples}
        self._steps.append({**step, "closing_ns": None})

    def closing(self) -> None:
        """The step under way has not ended yet: its optimizer is about to step."""
        self._steps[-1]["closing_ns"] = time.time_ns()

    def count(self, samples: int, phase: str) -> None:
        """A step of which is known that it is one, and not when it ends."""
        step = {"phase": phase, "begin_ns": 1 << 62, "samples": samples}
        self._steps.append({**step, "closing_ns": 0})

    def say(self, text: str) -> None:
        """Print a line, and know it."""
        print(text, flush=True)
        self._printed += text + "\n"

    def save(self) -> None:
        """Write what is known; at the end of the process it is done anyway."""
        path = os.environ.get("TRUTH")
        if path is None or os.getpid() != self._pid:
            return
        rank = os.environ.get("RANK")
        with open(path if rank is None else f"{path}.{rank}", "w", encoding="utf-8") as file:
            json.dump(
                {"steps": self._steps, "printed": self._printed, "ended_ns": time.time_ns()}, file
            )
