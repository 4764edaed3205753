"""Snapshots of PyTorch's caching allocator: what ``torch.cuda.memory._dump_snapshot`` writes, a
pickle that is read as data (docs/format-snapshot.md)."""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.format_detection import FormatDetection

PICKLE = re.compile(rb"\x80[\x02-\x05]")
ENDINGS = tuple(f"{end}{packed}" for end in (".pickle", ".pkl") for packed in ("", ".gz"))

_KEYS = re.compile(rb"segments|device_traces|segment_type|total_size")
"""One of them stands in the first bytes of every snapshot."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is a pickle; the reader says whether it is a snapshot."""
    return PICKLE.match(head) is not None


def detect(head: bytes, _name: str, _is_whole: bool) -> FormatDetection:
    """Whether a pickle of a folder is a snapshot, by the keys that stand first."""
    if _KEYS.search(head[:4096]):
        return FormatDetection(True)
    return FormatDetection(
        False, "not_a_snapshot", "is a pickle, and no snapshot of allocated memory."
    )


FORMAT = Importer(
    name="snapshot",
    title="memory snapshots (.pickle, .pkl, plain or gzip)",
    label="Memory snapshot",
    module="torch_tb_profiler.importers.snapshot.reader",
    sniff=sniff,
    endings=ENDINGS,
    detect=detect,
)
