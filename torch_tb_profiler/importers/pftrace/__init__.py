"""Perfetto's protobuf traces: PyTorch's ``.pftrace`` (torch >= 2.14), rocprofv3's and others.

Packets are decoded in pieces, in any process; a merger resolves interned texts, clocks and default
tracks across pieces; assembly gives slices their durations, categories and launches. What Kineto's
JSON has in common (categories, arguments) is imported from ``kineto``; the wire format is in
``protobuf``.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.unrecognized import is_perfetto
from torch_tb_profiler.storage.names import NamePattern

ENDINGS = (".pftrace", ".perfetto-trace")
PACKINGS = ("", ".gz")
FILE_ENDINGS = tuple(f"{ending}{packing}" for ending in ENDINGS for packing in PACKINGS)
JSON_ENDINGS = tuple(
    f"{ending}{packing}" for ending in (".pt.trace.json", ".json") for packing in PACKINGS
)
"""Endings of the JSON of the same recording, which holds more."""


def _names(ending: str) -> NamePattern:
    """Names ``<worker>[.<stamp>][.pt[.trace]]<ending>[.gz]``, as PyTorch names its JSON."""
    middle = r"(?:\.(?P<stamp>[0-9]+))?(?:\.pt(?:\.trace)?)?"
    pattern = rf"(?P<worker>.*?){middle}{re.escape(ending)}(?:\.gz)?"
    return NamePattern(f"*{ending}", re.compile(pattern, re.DOTALL), is_free=True)


def _is_packets(head: bytes, _name: str) -> bool:
    return is_perfetto(head)


FORMAT = Importer(
    name="pftrace",
    title="Perfetto protobuf traces (.pftrace, plain or gzip)",
    label="Perfetto",
    module="torch_tb_profiler.importers.pftrace.reader",
    sniff=_is_packets,
    files=(_names(".pftrace"), _names(".perfetto-trace")),
    endings=FILE_ENDINGS,
    replaces=tuple((json, ending) for json in JSON_ENDINGS for ending in FILE_ENDINGS),
    cuts_parts=True,
    argument_lister="torch_tb_profiler.importers.pftrace.list_arguments",
)
