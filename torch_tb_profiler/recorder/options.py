"""The options of a recording, and how they reach the processes of a program."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields

VARIABLE = "TORCH_TB_PROFILER_RECORD"
"""The environment variable that carries the options, as JSON."""

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
"""The folder on ``PYTHONPATH`` whose ``sitecustomize`` starts the recording."""


@dataclass(frozen=True)
class Options:
    """The options of ``torch-tb-profiler record``.

    Attributes:
        folder: Folder of this run, absolute.
        steps: First and last step to record with the profiler; None: according to the schedule.
        delay_s: Seconds between the start of the program and the start of the profiler.
        duration_s: Seconds that the profiler records.
        wait: Steps skipped before each window.
        warmup: Steps in which the profiler runs and the results are discarded.
        active: Steps per window.
        repeat: Number of windows; 0: until the program ends.
        memory: Record allocations.
        stacks: Record Python frames.
        shapes: Record shapes and types of operator inputs.
        flops: Estimate FLOPs.
        modules: Record modules of TorchScript programs; ``stacks`` has those of others.
        timer_only: No profiler: step times and samples only.
        sample_every_ms: Interval between samples of host and devices; 0 disables sampling.
        stop_after: End the program once all requested windows are recorded.
        trigger: Name of a signal, or path of a file, that starts a window.
        program_range: Record what the program marks with ``torch.cuda.profiler``.
        nsys: Nsight Systems records; the windows are marked for it.
        program: Base name of the program.
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
    program_range: bool = False
    nsys: bool = False
    program: str = ""

    def to_json(self) -> str:
        """Serialize for :func:`from_json`."""
        return json.dumps(asdict(self))


def from_json(text: str) -> Options:
    """Parse options; keys written by another version are ignored.

    Raises:
        ValueError, TypeError, KeyError: the text is invalid.
    """
    values = json.loads(text)
    known = {field.name for field in fields(Options)}
    values = {key: value for key, value in values.items() if key in known}
    if values.get("steps") is not None:
        first, last = values["steps"]
        values["steps"] = (int(first), int(last))
    return Options(**values)
