"""Settings of a data loader, and the number of samples in its batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 4
MAX_NAME_CHARS = 100

CONTAINERS = (list, tuple, dict)
"""Usual types of batches; a constant, because a union would be built at every check."""

_WRAPPERS = ("Subset", "ConcatDataset", "IterableDatasetShard", "_DatasetSamplerWrapper")
"""Datasets whose name includes the dataset they wrap."""


def describe_loader(number: int, iterator: Any, loader: Any | None) -> dict[str, Any]:
    """The ``loader`` block of the journal.

    Args:
        number: Index of the loader.
        iterator: One of its iterators.
        loader: The loader; None if its iterator was created before the recording.
    """
    workers = _as_int(getattr(iterator, "_num_workers", None))
    prefetch = getattr(loader, "prefetch_factor", getattr(iterator, "_prefetch_factor", None))
    return {
        "kind": "loader",
        "loader": number,
        "dataset": dataset_name(getattr(iterator, "_dataset", None)),
        "style": "iterable" if is_iterable(iterator) else "map",
        "workers": workers,
        "batch_size": full_batch_size(loader),
        "prefetch_factor": _as_int(prefetch) if workers else None,
        "pin_memory": bool(getattr(iterator, "_pin_memory", False)),
        "persistent_workers": bool(getattr(iterator, "_persistent_workers", False)),
        "start_method": start_method(loader) if workers else None,
        "drop_last": bool(getattr(iterator, "_drop_last", False)),
    }


def is_iterable(iterator: Any) -> bool:
    """Whether the dataset is iterable-style."""
    return bool(getattr(iterator, "_dataset_kind", 0))


def dataset_name(dataset: Any) -> str:
    """Class name of a dataset, with the wrapped one: ``Subset(ImageFolder)``."""
    name = type(dataset).__name__[:MAX_NAME_CHARS]
    inner = getattr(dataset, "__dict__", {}).get("dataset")
    if inner is None or name not in _WRAPPERS:
        return name
    return f"{name}({type(inner).__name__[:MAX_NAME_CHARS]})"


def start_method(loader: Any) -> str | None:
    """Start method of the worker processes of a loader."""
    import multiprocessing  # noqa: PLC0415 - not needed without workers

    context = getattr(loader, "multiprocessing_context", None) or multiprocessing
    return str(context.get_start_method())


def full_batch_size(loader: Any) -> int | None:
    """Samples of a full batch; None if the loader does not batch."""
    own = _as_int(getattr(loader, "batch_size", None))
    return own or _as_int(getattr(getattr(loader, "batch_sampler", None), "batch_size", None))


class SampleCounter:
    """Counts the samples of the batches of a loader."""

    def __init__(self, iterator: Any, loader: Any | None) -> None:
        """Read what is needed from the iterator and its loader (None if unknown)."""
        self._is_batched = bool(getattr(iterator, "_auto_collation", False))
        self._batch_size = full_batch_size(loader)
        self._total: int | None = None
        sampler = getattr(loader, "batch_sampler", None)
        if type(sampler).__name__ == "BatchSampler" and not is_iterable(iterator):
            try:
                self._total = len(sampler.sampler)  # type: ignore[union-attr]
            except (TypeError, AttributeError, NotImplementedError):
                self._total = None

    def count(self, position: int, batch: Any) -> int | None:
        """Samples of a batch at a position of the epoch; None if the loader does not batch."""
        if not self._is_batched:
            return None
        size = self._batch_size
        if size is not None and self._total is not None:
            return max(0, min(size, self._total - position * size)) or None
        first = batch_length(batch, MAX_DEPTH)
        return first if size is None or (first is not None and first <= size) else size


def batch_length(batch: Any, depth: int) -> int | None:
    """Length of the first tensor in a batch, at most ``depth`` containers deep.

    Called in every step: the usual types are checked first because ``isinstance`` with ``Mapping``
    is slow.
    """
    while isinstance(batch, CONTAINERS):
        if not depth or not batch:
            return None
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
        depth -= 1
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    if depth and isinstance(batch, Mapping):
        return next((batch_length(each, depth - 1) for each in batch.values()), None)
    return None


def _as_int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
