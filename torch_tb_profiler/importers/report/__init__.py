"""JSON reports of this tool (``report --view all --format json``): a recording's tables without its
events, so that a comparison needs no trace (docs/views-compare.md#reports-as-sides).
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.protocol import Importer

ENDINGS = (".json", ".json.gz")
_HEAD = re.compile(rb'\s*(?:\[\s*)?\{"schema_version":\d+,"view":"')
"""How every answer of this tool begins, alone or the first of several."""


def sniff(head: bytes, _name: str) -> bool:
    """Whether a file begins with an answer about a view."""
    return _HEAD.match(head) is not None


FORMAT = Importer(
    name="report",
    title="JSON reports of this tool (.json, plain or gzip)",
    label="Report",
    module="torch_tb_profiler.importers.report.reader",
    sniff=sniff,
    endings=ENDINGS,
    cuts_parts=False,
)
