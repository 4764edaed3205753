"""Memory snapshots of PyTorch's caching allocator (docs/format-snapshot.md).

``torch.cuda.memory._dump_snapshot`` writes a pickle, which is decoded as data and never executed:
a restricted unpickler, the bulk decoder of allocator events, and the conversion of events,
segments, blocks and stacks to memory events and side tables. Analysis of memory stays in
``analysis/memory``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.storage.format_detection import FormatDetection

PICKLE = re.compile(rb"\x80[\x02-\x05]")
ENDINGS = tuple(f"{end}{packed}" for end in (".pickle", ".pkl") for packed in ("", ".gz"))

_KEYS = re.compile(rb"segments|device_traces|segment_type|total_size")
"""One of these keys is in the first bytes of every snapshot."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is a pickle; the reader decides whether it is a snapshot."""
    return PICKLE.match(head) is not None


def detect(head: bytes, _name: str, _is_whole: bool) -> FormatDetection:
    """Classify a pickle in a folder by the keys in its head."""
    if _KEYS.search(head[:4096]):
        return FormatDetection(True)
    return FormatDetection(False, "not_a_snapshot", "is a pickle, but not a memory snapshot.")


FORMAT = Importer(
    name="snapshot",
    title="memory snapshots (.pickle, .pkl, plain or gzip)",
    label="Memory snapshot",
    module="torch_tb_profiler.importers.snapshot.reader",
    sniff=sniff,
    endings=ENDINGS,
    detect=detect,
)
