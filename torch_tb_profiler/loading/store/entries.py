"""What the store of traces knows of one file: how far it is, its trace, and what that takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.loading.ingest.rank import Part
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.status import reading_status
from torch_tb_profiler.loading.store.trace_memory import TraceMemory
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import SpanState, SpanStatus
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

Key = tuple[str, Part]
"""URL of a file, and what of it."""


@dataclass(slots=True, eq=False)
class Entry:
    """One file, or its summary.

    Attributes:
        file: It, in the state in which it was found.
        part: What of it.
        state: What happens to it.
        is_wanted: False when nobody wants it any more: reading stops.
        was_taken: Whether somebody has got the trace.
        is_ahead: Whether it was begun before a question needed it.
        may_be_kept: Whether it is a summary that may lie in the cache folder of this machine.
        estimate_bytes: What the trace is expected to take.
        opened: The trace and the state it belongs to, when it is open.
        memory: What the trace takes.
        derived_count: How many derived values that includes.
        problem: Why it could not be opened.
        backoff: When that may be tried again, where the file is not to blame.
    """

    file: SpanFile
    part: Part
    estimate_bytes: int
    state: SpanState = "queued"
    is_wanted: bool = True
    was_taken: bool = False
    is_ahead: bool = False
    may_be_kept: bool = False
    opened: OpenedFile | None = None
    memory: TraceMemory = field(default_factory=lambda: TraceMemory(0, 0))
    derived_count: int = 0
    problem: Problem | None = None
    backoff: Backoff | None = None
    started_s: float = 0.0
    read_s: float = 0.0
    done_bytes: int = 0

    @property
    def key(self) -> Key:
        """Under what the store keeps it."""
        return self.file.location.url, self.part

    @property
    def trace(self) -> Trace | None:
        """The trace, when it is open."""
        return None if self.opened is None else self.opened.trace

    @property
    def is_settled(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.state in ("ready", "failed")

    @property
    def used_bytes(self) -> int:
        """The memory of its trace, with what is derived from it."""
        return self.memory.content_bytes + self.memory.derived_bytes

    @property
    def is_due_again(self) -> bool:
        """Whether it failed for something that may be over by now."""
        if self.state != "failed" or self.backoff is None:
            return False
        return time.monotonic() >= self.backoff.next_try_s

    def is_of(self, file: SpanFile) -> bool:
        """Whether it is what there is to know of ``file``.

        When the file was already another one than was found when it was opened, that is what
        there is, until the catalog has looked again (:meth:`settle_on`).
        """
        return file.state == self.file.state or self._is_read_from(file)

    def settle_on(self, file: SpanFile | None) -> bool:
        """Whether it is still true now that the catalog has found ``file``, and nothing else,
        under its URL."""
        if file is None:
            return False
        if self.opened is None:
            return file.state == self.file.state
        if self._is_read_from(file):
            self.file = file
            return True
        return False

    def _retry_s(self) -> float | None:
        if self.state != "failed" or self.backoff is None:
            return None
        return max(0.0, round(self.backoff.next_try_s - time.monotonic(), 1))

    def _is_read_from(self, file: SpanFile) -> bool:
        return self.opened is not None and self.opened.state == file.state

    def drop_derived(self) -> int:
        """Forget what was derived from the trace; returns the bytes that are free for it."""
        if self.trace is None:
            return 0
        self.trace.derived.drop()
        freed_bytes = self.memory.derived_bytes
        self.memory = TraceMemory(self.memory.content_bytes, 0)
        self.derived_count = 0
        return freed_bytes

    def status(self, file: SpanFile) -> SpanStatus:
        """How far it is, for whoever asks about ``file``."""
        told = file.format if self.trace is None else self.trace.meta.format
        status = SpanStatus(
            file.span,
            file.location.name,
            told,
            file.state.size_bytes,
            self.state,
            progress=1.0 if self.state == "ready" else 0.0,
            error=self.problem,
            retry_s=self._retry_s(),
            version=file.state.version,
            modified_s=file.state.modified_s,
            recorded_s=file.recorded_s,
            path=file.path,
            format_label=_label(told),
        )
        if self.state != "parsing":
            return status
        elapsed_s = time.monotonic() - self.started_s
        return reading_status(status, self.done_bytes, self.read_s, elapsed_s)


def queued(file: SpanFile) -> SpanStatus:
    """The status of a file that nobody has opened yet."""
    state = file.state
    return SpanStatus(
        file.span,
        file.location.name,
        file.format,
        state.size_bytes,
        "queued",
        version=state.version,
        modified_s=state.modified_s,
        recorded_s=file.recorded_s,
        path=file.path,
        format_label=_label(file.format),
    )


def _label(name: str | None) -> str | None:
    return None if name is None else label_of(name)
