"""Summaries that lie in the cache folder of this machine: loaded, never made or fetched."""

from __future__ import annotations

import logging
from enum import Enum

from torch_tb_profiler.loading.ingest.rank import read_summary, summary_key
from torch_tb_profiler.loading.opening.open_file import OpenedFile, first_state
from torch_tb_profiler.loading.opening.reading import Result
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.trace_memory import memory_of
from torch_tb_profiler.storage.cache_folder import CacheFolder

_LOGGER = logging.getLogger(__name__)


class Absent(Enum):
    """What there is to say of a summary that has to be made, or fetched."""

    ABSENT = "absent"


def kept_summary(cache: CacheFolder, entry: Entry) -> Result | Absent:
    """The summary that ``entry`` wants, or None when nobody wants it any more.

    Whatever is wrong with the file is left to whoever opens it then.
    """
    if not entry.is_wanted:
        return None
    location = entry.file.location
    try:
        state = first_state(location, entry.file.state)
        if not cache.has_local(summary_key(location, state)):
            return Absent.ABSENT
        summary = read_summary(location, state, cache)
        if summary is None:
            return Absent.ABSENT
        return OpenedFile(summary, state), memory_of(summary)
    except Exception:
        _LOGGER.debug("no summary of %s in the cache", location.url, exc_info=True)
        return Absent.ABSENT
