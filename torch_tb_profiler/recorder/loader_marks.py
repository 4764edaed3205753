"""When a batch passes from one stage of loading to the next, told by attributes that torch reads.

A fetcher of torch reads ``self.collate_fn`` when it has all samples of a batch and not before, and
an iterator that loads by itself reads ``self._dataset_fetcher`` when it has the indices and
``self._pin_memory`` when it has the batch. A descriptor in their places notes the time: no call is
wrapped, so no exception of the program passes through a frame of ours.
"""

from __future__ import annotations

import threading
from typing import Any

from torch_tb_profiler.recorder.clock import perf_ns


class Marks(threading.local):
    """The last such times in this thread; 0: none.

    Attributes:
        fetch_ns: The fetching of a batch began.
        collate_ns: The samples of a batch are there.
        pin_ns: The batch is there.
    """

    fetch_ns = 0
    collate_ns = 0
    pin_ns = 0


MARKS = Marks()


class _Noted:
    """An attribute of instances; reading it notes the time. Its value stays where it was."""

    def __init__(self, name: str, mark: str) -> None:
        self.name = name
        self.mark = mark

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        try:
            value = owner.__dict__[self.name]
        except KeyError:
            raise AttributeError(
                f"{type(owner).__name__!r} object has no attribute {self.name!r}"
            ) from None
        setattr(MARKS, self.mark, perf_ns())
        return value

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self.name] = value

    def __delete__(self, owner: Any) -> None:
        try:
            del owner.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


def note_collate() -> None:
    """From now on fetchers note when they collate; once is enough."""
    from torch.utils.data._utils import fetch  # noqa: PLC0415 - the program has imported it

    _note(fetch._BaseDatasetFetcher, "collate_fn", "collate_ns")


def note_single_process() -> None:
    """From now on iterators without workers note when they fetch and when they pin."""
    from torch.utils.data import dataloader  # noqa: PLC0415

    _note(dataloader._SingleProcessDataLoaderIter, "_dataset_fetcher", "fetch_ns")
    _note(dataloader._SingleProcessDataLoaderIter, "_pin_memory", "pin_ns")


def note_nothing() -> None:
    """The attributes are as they were."""
    from torch.utils.data import dataloader  # noqa: PLC0415
    from torch.utils.data._utils import fetch  # noqa: PLC0415

    for kind, name in (
        (fetch._BaseDatasetFetcher, "collate_fn"),
        (dataloader._SingleProcessDataLoaderIter, "_dataset_fetcher"),
        (dataloader._SingleProcessDataLoaderIter, "_pin_memory"),
    ):
        if isinstance(vars(kind).get(name), _Noted):
            delattr(kind, name)


def _note(kind: Any, name: str, mark: str) -> None:
    if name not in vars(kind):  # else another version of torch, or a program, put something there
        setattr(kind, name, _Noted(name, mark))
