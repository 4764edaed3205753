"""State of the data loaders of a program and of their iterators."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch_tb_profiler.recorder.loaders.loader_settings import SampleCounter, describe_loader
from torch_tb_profiler.recorder.loaders.transforms import TransformTimer

STATE_ATTRIBUTE = "_torch_tb_profiler"
"""Attribute of an iterator that holds its state; iterators are never pickled."""

MAX_LOADERS = 1000
"""Further loaders count as the last of these."""


@dataclass(eq=False)
class LoaderState:
    """A data loader. One recreated with the same settings counts as the same loader: some programs
    create a new one for every evaluation.

    Attributes:
        number: Index of the loader, from 0.
        settings: Its ``loader`` block of the journal.
        next_batch: Number of the first batch of its next iterator.
        owner: The loader itself.
        pending: Batches whose phase is not known yet.
    """

    number: int
    settings: dict[str, Any]
    next_batch: int = 0
    owner: weakref.ref[Any] | None = None
    pending: list[tuple[int | None, ...]] = field(default_factory=list)

    def matches(self, settings: dict[str, Any], loader: Any) -> bool:
        """Whether a loader with these settings counts as this one: same settings, and the same
        dataset unless this loader no longer exists."""
        own = None if self.owner is None else self.owner()
        if own is not None and getattr(own, "dataset", None) is not getattr(
            loader, "dataset", self
        ):
            return False
        return all(settings[key] == self.settings[key] for key in settings if key != "loader")


@dataclass(eq=False)
class IteratorState:
    """An iterator of a loader.

    Attributes:
        loader: The loader it belongs to.
        counter: Counts the samples of its batches.
        hooks: The hooks that created this state.
        first_batch: Number of the first batch of this epoch.
        in_process: Whether it loads in this process, without workers.
        transforms: Times the transforms of the dataset; None with workers.
        iterator: The iterator.
        delivered: Batches delivered in this epoch.
        is_started: Whether its first epoch has started.
        is_ended: Whether it has no more batches.
        requested_ns: When the current batch was requested.
        own_ns: Time that the recorder itself spent in that request.
        ready: Batches that were ready at that time; None if the queues cannot be counted.
        capacity: Maximum of ``ready``.
        is_simple: Whether batches are delivered in the order of their tasks, one per task.
        task: The task of the current batch, if ``is_simple``.
        tasks: All tasks, if not ``is_simple``.
        marks: Stage times of the surrounding loader.
    """

    loader: LoaderState
    counter: SampleCounter
    hooks: object
    first_batch: int
    in_process: bool
    transforms: TransformTimer | None
    iterator: weakref.ref[Any]
    delivered: int = 0
    is_started: bool = False
    is_ended: bool = False
    requested_ns: int = 0
    own_ns: int = 0
    ready: int | None = None
    capacity: int = 0
    is_simple: bool = False
    task: tuple[Any, ...] | None = None
    tasks: dict[int, Any] | None = None
    marks: tuple[int, int, int] = (0, 0, 0)


class LoaderRegistry:
    """The loaders and iterators of a session."""

    def __init__(self) -> None:
        """Create an empty registry."""
        self.loaders: list[LoaderState] = []
        self.iterators: list[weakref.ref[IteratorState]] = []

    def register(
        self, hooks: object, iterator: Any, loader: Any | None
    ) -> tuple[IteratorState, bool]:
        """Create the state of a new iterator; also returns whether its loader is new."""
        state, is_new = self._loader_of(iterator, loader)
        in_process = not getattr(iterator, "_num_workers", 0)
        created = IteratorState(
            loader=state,
            counter=SampleCounter(iterator, loader),
            hooks=hooks,
            first_batch=state.next_batch,
            in_process=in_process,
            transforms=TransformTimer(iterator._dataset) if in_process else None,
            iterator=weakref.ref(iterator),
        )
        iterator.__dict__[STATE_ATTRIBUTE] = created
        self.iterators.append(weakref.ref(created))
        return created, is_new

    def live_iterators(self) -> list[tuple[Any, IteratorState]]:
        """The iterators that still exist, with their states."""
        live = []
        references = []
        for each in self.iterators:
            state = each()
            iterator = None if state is None else state.iterator()
            if state is not None and iterator is not None:
                references.append(each)
                live.append((iterator, state))
        self.iterators = references
        return live

    def _loader_of(self, iterator: Any, loader: Any | None) -> tuple[LoaderState, bool]:
        for state in self.loaders:
            known = state.owner is not None and loader is not None and state.owner() is loader
            if known and not self._has_other_iterator(state):
                self._skip_requested(state)
                return state, False
        settings = describe_loader(len(self.loaders), iterator, loader)
        busy = {state.loader.number for _, state in self.live_iterators() if not state.is_ended}
        for state in self.loaders:
            if state.number not in busy and state.matches(settings, loader):
                state.owner = None if loader is None else weakref.ref(loader)
                return state, False
        if len(self.loaders) == MAX_LOADERS:
            return self.loaders[-1], False
        created = LoaderState(len(self.loaders), settings)
        created.owner = None if loader is None else weakref.ref(loader)
        self.loaders.append(created)
        return created, True

    def _has_other_iterator(self, loader: LoaderState) -> bool:
        """Whether another iterator of the loader is unused so far: both will run concurrently."""
        return any(
            state.loader is loader and not (state.in_process or state.is_ended or state.delivered)
            for _, state in self.live_iterators()
        )

    def _skip_requested(self, loader: LoaderState) -> None:
        """Continue batch numbers after all batches requested by other iterators of the loader."""
        for iterator, state in self.live_iterators():
            if state.loader is loader and not state.in_process:
                sent = getattr(iterator, "_send_idx", 0)
                loader.next_batch = max(loader.next_batch, state.first_batch + sent)
