"""One file in the store of traces: its progress, its trace, and the memory it takes."""

from __future__ import annotations

import time

from msgspec import Struct, field

from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.knowledge.user_rules import NO_RULES, UserRules
from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.status import reading_status
from torch_tb_profiler.loading.store.trace_memory import TraceMemory
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.runs import SpanState, SpanStatus
from torch_tb_profiler.storage.backoff import Backoff
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

Key = tuple[str, Part]
"""URL of a file, and which part of it."""


class Entry(Struct, eq=False):
    """One file, or its summary.

    Attributes:
        file: The file, in the state of its discovery.
        part: Trace or summary.
        state: Its progress.
        is_wanted: False when it is no longer needed: reading stops.
        was_used: Whether the trace was returned to a request.
        is_prefetched: Whether it was started before a request needed it.
        may_be_cached: Whether it is a summary that may be in the local cache folder.
        estimate_bytes: Expected size of the trace.
        rules: The user's rules for its kernels.
        opened: The trace and the state it belongs to, when it is open.
        memory: Memory of the trace.
        derived_count: Number of derived values included in that.
        problem: Why it could not be opened.
        backoff: When that may be retried, if the file is not the cause.
    """

    file: SpanFile
    part: Part
    estimate_bytes: int
    rules: UserRules = NO_RULES
    state: SpanState = "queued"
    is_wanted: bool = True
    was_used: bool = False
    is_prefetched: bool = False
    may_be_cached: bool = False
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
        """Its key in the store."""
        return self.file.location.url, self.part

    @property
    def trace(self) -> Trace | None:
        """The trace, when it is open."""
        return None if self.opened is None else self.opened.trace

    @property
    def is_settled(self) -> bool:
        """Whether its state is final."""
        return self.state in ("ready", "failed")

    @property
    def used_bytes(self) -> int:
        """Memory of its trace, including derived values."""
        return self.memory.content_bytes + self.memory.derived_bytes

    @property
    def is_retry_due(self) -> bool:
        """Whether it failed for a temporary reason and may be retried now."""
        if self.state != "failed" or self.backoff is None:
            return False
        return time.monotonic() >= self.backoff.next_try_s

    def matches(self, file: SpanFile) -> bool:
        """Whether it belongs to ``file`` in its current state.

        If the file had already changed when it was opened, the entry matches until the catalog
        scans again (:meth:`update_file`).
        """
        if file.location.variant != self.file.location.variant:
            return False
        return file.state == self.file.state or self._is_read_from(file)

    def update_file(self, file: SpanFile | None) -> bool:
        """Whether it is still valid after a scan that found ``file``, or nothing, under its URL."""
        if file is None or file.location.variant != self.file.location.variant:
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
        """Drop the values derived from the trace; returns the freed bytes."""
        if self.trace is None:
            return 0
        self.trace.derived.drop()
        freed_bytes = self.memory.derived_bytes
        self.memory = TraceMemory(self.memory.content_bytes, 0)
        self.derived_count = 0
        return freed_bytes

    def status(self, file: SpanFile) -> SpanStatus:
        """Its status, as shown for ``file``."""
        format_name = file.format if self.trace is None else self.trace.meta.format
        status = SpanStatus(
            file.span,
            file.location.name,
            format_name,
            file.state.size_bytes,
            self.state,
            progress=1.0 if self.state == "ready" else 0.0,
            error=self.problem,
            retry_s=self._retry_s(),
            version=version_of(file, self.rules),
            modified_s=file.state.modified_s,
            recorded_s=file.recorded_s,
            path=file.path,
            format_label=_label(format_name),
            read_part=_part_text(file),
        )
        if self.state != "parsing":
            return status
        elapsed_s = time.monotonic() - self.started_s
        return reading_status(status, self.done_bytes, self.read_s, elapsed_s)


def version_of(file: SpanFile, rules: UserRules) -> str:
    """Another text whenever views of the file may have other content."""
    return f"{file.state.version} {rules.version}{file.location.variant}".rstrip()


def queued_status(file: SpanFile, rules: UserRules) -> SpanStatus:
    """The status of a file that was not opened yet."""
    state = file.state
    return SpanStatus(
        file.span,
        file.location.name,
        file.format,
        state.size_bytes,
        "queued",
        version=version_of(file, rules),
        modified_s=state.modified_s,
        recorded_s=file.recorded_s,
        path=file.path,
        format_label=_label(file.format),
        read_part=_part_text(file),
    )


def _part_text(file: SpanFile) -> str | None:
    part = ReadOptions.from_variant(file.location.variant).part
    return None if part is None else part.text


def _label(name: str | None) -> str | None:
    return None if name is None else label_of(name)
