"""What a recording was told to do, and how that reaches the processes of a program."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

VARIABLE = "TORCH_TB_PROFILER_RECORD"
"""The environment variable that carries the options, as JSON."""


@dataclass(frozen=True)
class Options:
    """The options of ``torch-tb-profiler record``.

    Attributes:
        folder: Where this run is written, absolute.
        steps: First and last step to record with the profiler; None: as the schedule says.
        delay_s: Seconds after the start of the program before the profiler starts.
        duration_s: Seconds that it records.
        wait: Steps left out before each window.
        warmup: Steps in which the profiler runs and nothing is kept.
        active: Steps of a window.
        repeat: Windows; 0: until the program ends.
        memory: Record allocations.
        stacks: Record python frames.
        shapes: Record shapes and types of inputs.
        flops: Estimate FLOPs.
        modules: Record the hierarchy of modules.
        timer_only: No profiler: times of steps and samples only.
        sample_every_ms: Between two samples of host and devices; 0: none are taken.
        stop_after: End the program once everything asked for is recorded.
        trigger: The name of a signal, or the path of a file, that starts a window.
        nsys: Nsight Systems records: windows are marked for it.
        program: What is recorded, by its base name.
    """

    folder: str
    steps: tuple[int, int] | None = None
    delay_s: float | None = None
    duration_s: float | None = None
    wait: int | None = None
    warmup: int | None = None
    active: int | None = None
    repeat: int | None = None
    memory: bool = False
    stacks: bool = False
    shapes: bool = True
    flops: bool = False
    modules: bool = False
    timer_only: bool = False
    sample_every_ms: int = 100
    stop_after: bool = False
    trigger: str | None = None
    nsys: bool = False
    program: str = ""

    def to_json(self) -> str:
        """The text that :func:`from_json` reads."""
        return json.dumps(asdict(self))


def from_json(text: str) -> Options:
    """The options in a text; keys that another version wrote are left out.

    Raises:
        ValueError, TypeError, KeyError: it is no such text.
    """
    values = json.loads(text)
    known = {field.name for field in fields(Options)}
    values = {key: value for key, value in values.items() if key in known}
    if values.get("steps") is not None:
        first, last = values["steps"]
        values["steps"] = (int(first), int(last))
    return Options(**values)
