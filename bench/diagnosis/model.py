"""A recording as a program that can be replayed: moments of the host, and the work they launch.

Times are µs. Host threads of a process are one sequence of moments: what delays one delays all
that come later. A moment comes a fixed time after the one before it, unless it waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Stream = tuple[int, int]
"""Device and stream."""
Key = tuple[object, ...]
"""Names a collective on all ranks."""


@dataclass(eq=False, slots=True)
class Span:
    """A slice of the host, or (``phase``) an instant or one end of an arrow."""

    name: str
    category: str
    pid: object
    tid: object
    args: dict[str, Any] = field(default_factory=dict)
    phase: str = "X"
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Work:
    """A kernel, copy or set. It starts when the last of these has passed: its launch by
    ``after_launch``, the work before it in its stream by ``after_stream``, and every work that it
    ``waits_for`` by the time beside it. A collective ends on all ranks together, ``us`` after the
    last rank has started it."""

    name: str
    category: str
    stream: Stream
    us: float
    after_launch: float = 5.0
    after_stream: float = 1.0
    waits_for: list[tuple[Work, float]] = field(default_factory=list)
    args: dict[str, Any] = field(default_factory=dict)
    collective: Key | None = None


@dataclass(eq=False, slots=True)
class Wait:
    """A host call that ends ``us`` after device work: one work, or all that a stream (None: every
    stream) has been given."""

    on: Work | Stream | None
    us: float = 2.0


@dataclass(eq=False, slots=True)
class Moment:
    """A begin or end of a slice, or an instant, ``gap`` after the moment before it."""

    span: Span
    kind: Literal["begin", "end", "point"]
    gap: float
    wait: Wait | None = None
    launches: list[Work] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Rank:
    """The recording of one process.

    Attributes:
        moments: What its host did, in order.
        head: What the file holds beside events.
        names: Events that name processes and threads.
        thread: Process and thread that trains.
    """

    moments: list[Moment]
    head: dict[str, Any]
    names: list[dict[str, Any]]
    thread: tuple[object, object]

    @property
    def works(self) -> list[Work]:
        """All device work, in the order of its launches."""
        return [work for moment in self.moments for work in moment.launches]

    @property
    def is_on_device(self) -> bool:
        """Whether it has device work."""
        return any(moment.launches for moment in self.moments)


Recording = list[Rank]
"""One rank or several."""
