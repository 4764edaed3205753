"""Events that the parts of a session exchange, and the interface of a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

TRAIN, EVALUATION = "train", "evaluation"


@dataclass(frozen=True)
class StepRecord:
    """A completed step.

    Attributes:
        number: Index within its phase, from 0.
        phase: ``"train"`` (every step outside an evaluation, so inference too) or ``"evaluation"``.
        by: How it was detected: ``"optimizer"``, ``"loader"``, ``"module"``, ``"program"``.
        start_ns: Time of :data:`~torch_tb_profiler.recorder.clock.perf_ns`.
        end_ns: Likewise.
    """

    number: int
    phase: str
    by: str
    start_ns: int
    end_ns: int


class SessionPart(Protocol):
    """A part of a session. The session guards every call: an exception is recorded as a reason, and
    the part then only gets its ``stop``, which removes its hooks."""

    def start(self) -> None:
        """Start recording; torch is imported."""

    def flush(self) -> None:
        """Write collected data; called about once a second from the ticker thread."""

    def stop(self, reason: str) -> None:
        """Write the remaining data and remove all hooks; called once."""


EVENTS = ("batch_requested", "batch_delivered", "loader_exhausted", "step_ended")
"""Events passed to every part that has a method of that name, see :class:`EventListener`."""


class EventListener(Protocol):
    """Events about batches and steps; called in the thread in which they happen."""

    def batch_requested(self, loader: int, time_ns: int) -> None:
        """The program requests a batch from a data loader."""

    def batch_delivered(self, loader: int, time_ns: int, wait_ns: int, samples: int | None) -> None:
        """The loader delivered a batch of ``samples`` samples after ``wait_ns``."""

    def loader_exhausted(self, loader: int, time_ns: int) -> None:
        """The loader has no more batches in this epoch."""

    def step_ended(self, step: StepRecord) -> None:
        """A step is complete."""
