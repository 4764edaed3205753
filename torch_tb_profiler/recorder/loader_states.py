"""The data loaders of a program and their iterators, numbered."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch_tb_profiler.recorder.loader_settings import SampleCounter, settings_of
from torch_tb_profiler.recorder.loader_transforms import TransformClock

KEY = "_torch_tb_profiler"
"""The attribute of an iterator that holds its state; iterators cannot be pickled."""

MAX_LOADERS = 1000
"""What is made beyond counts as the last of these."""


@dataclass(eq=False)
class LoaderState:
    """A data loader; one that is made again, alike, is the same: some make one per evaluation.

    Attributes:
        number: Of the loader, from 0.
        settings: Its block of the journal.
        next_batch: The number that its next iterator begins with.
        owner: The loader itself, while it lives.
        pending: Batches whose phase is not known yet.
    """

    number: int
    settings: dict[str, Any]
    next_batch: int = 0
    owner: weakref.ref[Any] | None = None
    pending: list[tuple[int | None, ...]] = field(default_factory=list)

    def is_alike(self, settings: dict[str, Any], loader: Any) -> bool:
        """Whether another loader was set to the same, and is of the same data, or this one gone."""
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
        loader: Whose it is.
        counter: Of samples.
        first_batch: Number of the first batch of this epoch.
        in_process: Whether it loads in the process itself.
        transforms: Times those of its dataset, where it loads in the process itself.
        given: Batches that it gave in this epoch.
        is_started: Whether its first epoch began.
        is_ended: Whether it has no more.
        hooks: Who made this.
        iterator: The iterator.
        asked_ns: When it was asked for the batch under way.
        own_ns: What the recorder took of that.
        ready: Batches that were ready then; None where nobody counts.
        capacity: As many as can be.
        is_simple: Whether batches are given in the order of their tasks, each one of them.
        task: The task of the batch under way.
        tasks: All tasks, where it is not simple.
        marks: The marks of the loader around it.
    """

    loader: LoaderState
    counter: SampleCounter
    hooks: object
    first_batch: int
    in_process: bool
    transforms: TransformClock | None
    iterator: weakref.ref[Any]
    given: int = 0
    is_started: bool = False
    is_ended: bool = False
    asked_ns: int = 0
    own_ns: int = 0
    ready: int | None = None
    capacity: int = 0
    is_simple: bool = False
    task: tuple[Any, ...] | None = None
    tasks: dict[int, Any] | None = None
    marks: tuple[int, int, int] = (0, 0, 0)


class LoaderBook:
    """The loaders and iterators of a session."""

    def __init__(self) -> None:
        """None yet."""
        self.loaders: list[LoaderState] = []
        self.iterators: list[weakref.ref[IteratorState]] = []

    def register(
        self, hooks: object, iterator: Any, loader: Any | None
    ) -> tuple[IteratorState, bool]:
        """The state of a new iterator, and whether its loader is new."""
        state, is_new = self._loader_of(iterator, loader)
        in_process = not getattr(iterator, "_num_workers", 0)
        made = IteratorState(
            loader=state,
            counter=SampleCounter(iterator, loader),
            hooks=hooks,
            first_batch=state.next_batch,
            in_process=in_process,
            transforms=TransformClock(iterator._dataset) if in_process else None,
            iterator=weakref.ref(iterator),
        )
        iterator.__dict__[KEY] = made
        self.iterators.append(weakref.ref(made))
        return made, is_new

    def living(self) -> list[tuple[Any, IteratorState]]:
        """The iterators that live, with their states."""
        found = []
        kept = []
        for each in self.iterators:
            state = each()
            iterator = None if state is None else state.iterator()
            if state is not None and iterator is not None:
                kept.append(each)
                found.append((iterator, state))
        self.iterators = kept
        return found

    def _loader_of(self, iterator: Any, loader: Any | None) -> tuple[LoaderState, bool]:
        for state in self.loaders:
            known = state.owner is not None and loader is not None and state.owner() is loader
            if known and not self._is_begun_beside(state):
                self._move_on(state)
                return state, False
        settings = settings_of(len(self.loaders), iterator, loader)
        busy = {state.loader.number for _, state in self.living() if not state.is_ended}
        for state in self.loaders:
            if state.number not in busy and state.is_alike(settings, loader):
                state.owner = None if loader is None else weakref.ref(loader)
                return state, False
        if len(self.loaders) == MAX_LOADERS:
            return self.loaders[-1], False
        made = LoaderState(len(self.loaders), settings)
        made.owner = None if loader is None else weakref.ref(loader)
        self.loaders.append(made)
        return made, True

    def _is_begun_beside(self, loader: LoaderState) -> bool:
        """Whether another iterator of the loader was made and gave nothing yet: they go on beside
        each other."""
        return any(
            state.loader is loader and not (state.in_process or state.is_ended or state.given)
            for _, state in self.living()
        )

    def _move_on(self, loader: LoaderState) -> None:
        """Numbers begin behind all that another iterator of the loader may have asked for."""
        for iterator, state in self.living():
            if state.loader is loader and not state.in_process:
                sent = getattr(iterator, "_send_idx", 0)
                loader.next_batch = max(loader.next_batch, state.first_batch + sent)
