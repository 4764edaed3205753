"""Dumps of the flight recorder of ``torch.distributed`` (docs/format-flight-recorder.md).

One file per rank and back end, with the last calls of collectives that the process made: a pickle
(``TORCH_FR_DUMP_TEMP_FILE``, read as data by :mod:`torch_tb_profiler.importers.plain_pickle`) or
JSON. They become side tables; which rank holds the others up is computed in ``analysis/hang``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.flight_recorder.names import rank_of_dump
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection

ENDINGS = tuple(
    f"{end}{packed}"
    for end in (".json", ".pickle", ".pkl", ".bin", ".dump")
    for packed in ("", ".gz")
)

_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_OF_PICKLE = re.compile(rb"(?:entries|pg_config|pg_status|record_id).{0,9}[\x5d\x7d]", re.DOTALL)
_OF_JSON = re.compile(rb'"(?:entries"\s*:\s*\[|pg_(?:config|status)"\s*:\s*\{)')
"""A key of a dump before a list or dict."""
_MARKS = re.compile(
    rb"collective_seq_id|comm_lib_version|nccl_version|nccl_comm_state|pg_config|pg_status"
    rb"|profiling_name"
)
_OF_TRACE = re.compile(rb'"(?:traceEvents|distributedInfo|schemaVersion|deviceProperties)"\s*:')
"""Keys of a trace, whose description of the job has keys of a dump."""

NAMES = re.compile(
    r".*?(?:trace|dump|flight|fr|nccl|rank|debug_info)[-_.]?\d{1,7}", re.I | re.DOTALL
)
"""Names without an ending: torch appends the rank to a prefix (``nccl_trace_rank_3``)."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file is a dump, by the keys in its first bytes."""
    if _PICKLE.match(head):
        return _OF_PICKLE.search(head) is not None and _MARKS.search(head) is not None
    text = text_head(head)
    if not text.startswith((b"{", b"[")) or _OF_TRACE.search(text):
        return False
    if text.startswith(b"["):
        return b'"profiling_name"' in text and b'seq_id"' in text
    return _OF_JSON.search(text) is not None and _MARKS.search(text) is not None


def detect(_head: bytes, name: str, _is_whole: bool) -> FormatDetection:
    """Every file that :func:`sniff` accepts is one, of the rank in its name and of a job of
    several."""
    return FormatDetection(True, rank=rank_of_dump(name), world_size=2)


FORMAT = Importer(
    name="flight_recorder",
    title="dumps of torch.distributed's flight recorder (pickle or JSON, a file per rank)",
    label="Flight recorder",
    module="torch_tb_profiler.importers.flight_recorder.reader",
    sniff=sniff,
    endings=ENDINGS,
    detect=detect,
    unended=NAMES,
    accompanies_runs=True,
)
