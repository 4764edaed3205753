"""What the parts of a recording tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

TRAIN, EVALUATION = "train", "evaluation"


@dataclass(frozen=True)
class StepRecord:
    """A step that ended.

    Attributes:
        number: Of the steps of its phase, from 0.
        phase: ``"train"`` (any step that is none of an evaluation) or ``"evaluation"``.
        by: What it was found by: ``"optimizer"``, ``"loader"``, ``"module"``, ``"program"``.
        start_ns: On the clock of :data:`~torch_tb_profiler.recorder.clock.perf_ns`.
        end_ns: Likewise.
    """

    number: int
    phase: str
    by: str
    start_ns: int
    end_ns: int


class Part(Protocol):
    """A part of a recording. The session guards every call: what one raises is told, and the
    part is only stopped after that, so that its hooks are taken back."""

    def start(self) -> None:
        """Begin; torch is imported."""

    def flush(self) -> None:
        """Write what was gathered; called about once a second, by the ticker's thread."""

    def stop(self, reason: str) -> None:
        """Write the rest, take hooks back; called once."""


EVENTS = ("batch_wanted", "batch_given", "loader_ended", "step_ended")
"""What a part hears of if it has a method of that name, as in :class:`Listener`."""


class Listener(Protocol):
    """What is heard of batches and steps, in the thread that they happen in."""

    def batch_wanted(self, loader: int, time_ns: int) -> None:
        """The program asks a data loader for a batch."""

    def batch_given(self, loader: int, time_ns: int, wait_ns: int, samples: int | None) -> None:
        """It got one, after ``wait_ns``, of so many samples."""

    def loader_ended(self, loader: int, time_ns: int) -> None:
        """The loader has no more."""

    def step_ended(self, step: StepRecord) -> None:
        """A step ended."""
