"""Copies pickles that are plain data: memory snapshots and dumps of the flight recorder.

They are read as data, never run, and written as a pickle of the same values. The whole value is in
memory; lists that several entries share, as stacks are, stay shared.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from torch_tb_profiler.importers.plain_pickle.machine import PickleMachine
from torch_tb_profiler.importers.plain_pickle.reading import read_pickle
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.scrubbing.cell_values import learnable
from torch_tb_profiler.scrubbing.json_values import GONE, JsonScrubber, keyed_items
from torch_tb_profiler.trace.quality import QualityReport

PROTOCOL = 4
"""What ``torch.cuda.memory._dump_snapshot`` writes."""

WHAT = "A recording"


def pickle_copy(
    chunks: Iterable[bytes], source: Source, scrubber: JsonScrubber, quality: QualityReport
) -> bytes:
    """The copy of a pickle.

    Args:
        chunks: Its unpacked bytes.
        source: The file in messages, and the limit of its values.
        scrubber: The rules.
        quality: Counts a missing end.

    Raises:
        TraceFormatError: it is damaged, too large, or would run something.
        StorageError, OSError: it cannot be read.
    """
    value, is_cut = _read(chunks, source)
    quality.add("truncated", int(is_cut))
    return pickle.dumps(_SharedValues(scrubber).scrubbed(value, ""), protocol=PROTOCOL)


def texts_of_pickle(chunks: Iterable[bytes], source: Source) -> Iterator[bytes]:
    """The texts of a pickle with their keys, for names of hosts and users; errors as
    :func:`pickle_copy`."""
    pending: list[tuple[str, Any]] = [("", _read(chunks, source)[0])]
    seen: set[int] = set()
    while pending:
        key, value = pending.pop()
        if isinstance(value, str):
            yield learnable(key, value)
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict):
                pending += [
                    (name if isinstance(name, str) else key, each) for name, each in value.items()
                ]
            else:
                pending += [(key, each) for each in value]


def _read(chunks: Iterable[bytes], source: Source) -> tuple[Any, bool]:
    """The values of a pickle, and whether its end is missing."""
    machine = _CopiedPickle(StreamWindow(chunks), budget=lambda: source.budget)
    return read_pickle(machine, source, WHAT)


class _CopiedPickle(PickleMachine):
    """The machine of copies: an allocator event whose end is missing is none, as for importers."""

    def _close(self, into: Any, items: list[Any]) -> None:
        super()._close(into, items)
        if isinstance(into, dict) and "action" in into and "size" in into:
            into.clear()


class _SharedValues:
    """Scrubs values, each list and dict once however often it is in others."""

    def __init__(self, scrubber: JsonScrubber) -> None:
        self._scrubber = scrubber
        self._results: dict[tuple[int, str], Any] = {}

    def scrubbed(self, value: Any, key: str) -> Any:
        if isinstance(value, bytes):
            return self._bytes(value, key)
        if not isinstance(value, list | dict | tuple):
            return self._scrubber.plain(value, key)
        identity = id(value), key
        if identity not in self._results:
            self._results[identity] = self._container(value, key)
        return self._results[identity]

    def _container(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            entries = self._scrubber.entries(value, key, self.scrubbed)
            return {name: each for name, each in entries if each is not GONE}
        items = (self.scrubbed(each, own_key) for own_key, each in keyed_items(value, key))
        return type(value)(each for each in items if each is not GONE)

    def _bytes(self, value: bytes, key: str) -> Any:
        """Bytes that are a text, scrubbed; others may hold anything, and go."""
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return b""
        result = self._scrubber.plain(text, key)
        return GONE if result is GONE else result.encode()
