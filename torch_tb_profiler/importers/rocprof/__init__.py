"""AMD's profilers: rocprofv3 (JSON and rocpd databases) and rocmProfileData (.rpd, Chrome JSON).

Each file becomes one or several recordings of processes (``recording``), which ``assemble`` puts
together. Ranges of ROCTx are read as ``importers.nsys`` reads those of NVTX, and databases through
``importers.sqlite``; the Chrome JSON of rocmProfileData is a dialect of ``importers.kineto``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.names import NamePattern

SQLITE = b"SQLite format 3\0"
RPD, PFTRACE = ".rpd", ".pftrace"

_ROCPROFV3 = re.compile(rb'\{\s*"rocprofiler-sdk-tool"\s*:')
_CHROME = re.compile(
    rb'(?:\{\s*"traceEvents"\s*:\s*)?\[\s*\{\}\s*,\s*\{[^{}]*"(?:process|thread)_name"[^{}]*'
    rb'"args"\s*:\s*\{\s*"name"\s*:\s*"(?:GPU\d|Hip |HSA )'
)
_TABLE = re.compile(rb"rocpd_(?:metadata|string|info_|event|track|region|kernel|op|api|monitor)")
"""Names of tables; the first of them are in the first pages of a database."""


def is_json(head: bytes) -> bool:
    """Whether a file begins as the JSON of rocprofv3."""
    return _ROCPROFV3.match(text_head(head)) is not None


def is_database(head: bytes) -> bool:
    """Whether a file is an SQLite database that begins with tables of rocpd."""
    return head.startswith(SQLITE) and _TABLE.search(head) is not None


def is_chrome(head: bytes, _name: str) -> bool:
    """Whether a file begins as the Chrome JSON of rocmProfileData: an empty event, then the names
    of its GPUs or threads."""
    return _CHROME.match(text_head(head)) is not None


def sniff(head: bytes, name: str) -> bool:
    """Whether a file is one of rocprofv3 or an ``.rpd``."""
    is_rpd = name.endswith((RPD, f"{RPD}.gz")) and head.startswith(SQLITE)
    return is_rpd or is_json(head) or is_database(head)


FORMAT = Importer(
    name="rocprof",
    title="rocprofv3 (JSON, rocpd databases) and rocmProfileData (.rpd)",
    label="rocprof",
    module="torch_tb_profiler.importers.rocprof.reader",
    cuts_parts=True,
    joins_traces=True,
    sniff=sniff,
    files=(NamePattern.ending_with(RPD), NamePattern.ending_with(f"{RPD}.gz")),
    endings=(".json", ".json.gz", ".db", RPD, f"{RPD}.gz"),
    replaces=(
        *((RPD, ending) for ending in (".json", ".json.gz")),
        *(("_results.db", f"_results{ending}") for ending in (".json", ".json.gz", PFTRACE)),
        ("_results.json", f"_results{PFTRACE}"),
    ),
)

CHROME_FORMAT = Importer(
    name="rocprof-chrome",
    title="rocmProfileData's Chrome JSON",
    label="rocprof",
    module="torch_tb_profiler.importers.rocprof.chrome",
    cuts_parts=True,
    joins_traces=True,
    sniff=is_chrome,
    endings=(".json", ".json.gz"),
    argument_lister="torch_tb_profiler.importers.kineto.list_arguments",
    finder="torch_tb_profiler.importers.kineto.find_event",
)
