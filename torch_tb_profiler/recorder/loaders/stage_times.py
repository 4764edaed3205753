"""When a batch passes from one stage of loading to the next, from attributes that torch reads.

torch's fetcher reads ``self.collate_fn`` once it has all samples of a batch; an iterator without
workers reads ``self._dataset_fetcher`` once it has the indices and ``self._pin_memory`` once it has
the batch. A descriptor in place of these attributes records the time. No call is wrapped, so
exceptions of the program pass through no frame of the recorder.
"""

from __future__ import annotations

import threading
from typing import Any

from torch_tb_profiler.recorder.clock import perf_ns


class StageTimes(threading.local):
    """The latest stage times in this thread; 0: none.

    Attributes:
        fetch_ns: Fetching the samples of a batch starts.
        collate_ns: All samples are fetched; collating starts.
        pin_ns: The batch is collated; pinning starts.
    """

    fetch_ns = 0
    collate_ns = 0
    pin_ns = 0


STAGE_TIMES = StageTimes()


class _TimedAttribute:
    """Descriptor that records the time at which an instance attribute is read."""

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
        setattr(STAGE_TIMES, self.mark, perf_ns())
        return value

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self.name] = value

    def __delete__(self, owner: Any) -> None:
        try:
            del owner.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


def time_collate() -> None:
    """Record when fetchers start to collate; may be called repeatedly."""
    from torch.utils.data._utils import fetch  # noqa: PLC0415 - the program has imported it

    _time_attribute(fetch._BaseDatasetFetcher, "collate_fn", "collate_ns")


def time_single_process() -> None:
    """Record when iterators without workers start to fetch and to pin."""
    from torch.utils.data import dataloader  # noqa: PLC0415

    _time_attribute(dataloader._SingleProcessDataLoaderIter, "_dataset_fetcher", "fetch_ns")
    _time_attribute(dataloader._SingleProcessDataLoaderIter, "_pin_memory", "pin_ns")


def restore_attributes() -> None:
    """Remove all descriptors."""
    from torch.utils.data import dataloader  # noqa: PLC0415
    from torch.utils.data._utils import fetch  # noqa: PLC0415

    for kind, name in (
        (fetch._BaseDatasetFetcher, "collate_fn"),
        (dataloader._SingleProcessDataLoaderIter, "_dataset_fetcher"),
        (dataloader._SingleProcessDataLoaderIter, "_pin_memory"),
    ):
        if isinstance(vars(kind).get(name), _TimedAttribute):
            delattr(kind, name)


def _time_attribute(kind: Any, name: str, mark: str) -> None:
    if name not in vars(kind):  # otherwise torch or the program defines it on the class: leave it
        setattr(kind, name, _TimedAttribute(name, mark))
