"""Execution traces: graphs of operators with their tensors (docs/format-execution.md).

PyTorch's ``ExecutionTraceObserver`` writes JSON, without any time; Chakra's tools write ``.et``,
protobuf messages that may have times. Next to a trace of the same rank they are sidecars, joined to
it by record function id (``loading/opening/execution_sidecars.py``); alone they open as operators
without times.
"""

from __future__ import annotations

import re

from torch_tb_profiler.importers.execution.messages import begins_chakra
from torch_tb_profiler.importers.protocol import Importer
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection

ENDINGS = (".json", ".json.gz", ".et")

_EVENTS = re.compile(rb'"traceEvents"\s*:')
_SCHEMA = re.compile(rb'"schema"\s*:\s*"[^"]{0,40}chakra')
_NODES = re.compile(rb'"nodes"\s*:\s*\[')
_NODE_KEYS = re.compile(rb'"(?:ctrl_deps|rf_id|fw_parent|op_schema)"\s*:')


_NAME = re.compile(
    r"(?:.*[-_.])?(?:et|execution[-_]?(?:trace|graph)|chakra)(?:[-_.].*)?\.json(?:\.gz)?|.*\.et",
    re.IGNORECASE | re.DOTALL,
)


def is_companion_name(name: str) -> bool:
    """Whether a file with this base name may be an execution trace beside a trace."""
    return _NAME.fullmatch(name) is not None


def is_execution_json(head: bytes) -> bool:
    """Whether a file begins as JSON of PyTorch's ``ExecutionTraceObserver``."""
    text = text_head(head)
    if not text.startswith(b"{") or _EVENTS.search(text):
        return False
    has_nodes = _NODES.search(text) is not None
    return _SCHEMA.search(text) is not None or (has_nodes and bool(_NODE_KEYS.search(text)))


def sniff(head: bytes, name: str) -> bool:
    """Whether a file is an execution trace, by its first bytes; protobuf also by its ending."""
    return is_execution_json(head) or (name.endswith(".et") and begins_chakra(head))


def detect(_head: bytes, _name: str, _is_whole: bool) -> FormatDetection:
    """Every file that :func:`sniff` accepts is one."""
    return FormatDetection(True)


FORMAT = Importer(
    name="execution",
    title="execution traces of PyTorch (JSON) and Chakra (.et)",
    label="Execution trace",
    module="torch_tb_profiler.importers.execution.reader",
    sniff=sniff,
    endings=ENDINGS,
    detect=detect,
    accompanying=_NAME,
)
