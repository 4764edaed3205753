"""What a data loader is set to, and how many samples its batches have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 4
MAX_NAME_CHARS = 100

CONTAINERS = (list, tuple, dict)
"""What batches mostly are; a name, as a union would be made at each look."""

_WRAPPERS = ("Subset", "ConcatDataset", "IterableDatasetShard", "_DatasetSamplerWrapper")
"""Datasets that are named by what they wrap."""


def settings_of(number: int, iterator: Any, loader: Any | None) -> dict[str, Any]:
    """The block ``loader`` of the journal.

    Args:
        number: Of the loader.
        iterator: One of its iterators.
        loader: The loader; None where its iterator is older than the recording.
    """
    workers = _whole(getattr(iterator, "_num_workers", None))
    prefetch = getattr(loader, "prefetch_factor", getattr(iterator, "_prefetch_factor", None))
    return {
        "kind": "loader",
        "loader": number,
        "dataset": name_of(getattr(iterator, "_dataset", None)),
        "style": "iterable" if is_iterable(iterator) else "map",
        "workers": workers,
        "batch_size": batch_size_of(loader),
        "prefetch_factor": _whole(prefetch) if workers else None,
        "pin_memory": bool(getattr(iterator, "_pin_memory", False)),
        "persistent_workers": bool(getattr(iterator, "_persistent_workers", False)),
        "start_method": start_method(loader) if workers else None,
        "drop_last": bool(getattr(iterator, "_drop_last", False)),
    }


def is_iterable(iterator: Any) -> bool:
    """Whether the dataset is of iterable style."""
    return bool(getattr(iterator, "_dataset_kind", 0))


def name_of(dataset: Any) -> str:
    """The class of a dataset, with what it wraps: ``Subset(ImageFolder)``."""
    name = type(dataset).__name__[:MAX_NAME_CHARS]
    inner = getattr(dataset, "__dict__", {}).get("dataset")
    if inner is None or name not in _WRAPPERS:
        return name
    return f"{name}({type(inner).__name__[:MAX_NAME_CHARS]})"


def start_method(loader: Any) -> str | None:
    """How the processes of a loader are started."""
    import multiprocessing  # noqa: PLC0415 - a program without workers need not import it

    context = getattr(loader, "multiprocessing_context", None) or multiprocessing
    return str(context.get_start_method())


def batch_size_of(loader: Any) -> int | None:
    """Samples of a full batch; None where the loader makes none."""
    own = _whole(getattr(loader, "batch_size", None))
    return own or _whole(getattr(getattr(loader, "batch_sampler", None), "batch_size", None))


class SampleCounter:
    """How many samples the batches of a loader have."""

    def __init__(self, iterator: Any, loader: Any | None) -> None:
        """Of a loader; None where it is not known."""
        self._is_batched = bool(getattr(iterator, "_auto_collation", False))
        self._batch_size = batch_size_of(loader)
        self._total: int | None = None
        sampler = getattr(loader, "batch_sampler", None)
        if type(sampler).__name__ == "BatchSampler" and not is_iterable(iterator):
            try:
                self._total = len(sampler.sampler)  # type: ignore[union-attr]
            except (TypeError, AttributeError, NotImplementedError):
                self._total = None

    def count(self, place: int, batch: Any) -> int | None:
        """Samples of a batch, by its place in the epoch; None where batches are made elsewhere."""
        if not self._is_batched:
            return None
        size = self._batch_size
        if size is not None and self._total is not None:
            return max(0, min(size, self._total - place * size)) or None
        first = length_of(batch, MAX_DEPTH)
        return first if size is None or (first is not None and first <= size) else size


def length_of(batch: Any, depth: int) -> int | None:
    """The length of the first tensor in a batch, so many containers deep at most.

    In every step: what batches mostly are is looked at first, as ``Mapping`` is slow to ask for.
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
        return next((length_of(each, depth - 1) for each in batch.values()), None)
    return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
