"""What a JSON file is, by its head: a trace, something else of a profiler, or none of these."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_tb_profiler.importers.kineto.array_start import EVENTS_KEY
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection

SCHEMA_KEY = re.compile(rb'"schemaVersion"\s*:')
HEADER_KEYS = re.compile(
    rb'"(?:deviceProperties|computeProperties|distributedInfo|displayTimeUnit|baseTimeNanoseconds'
    rb'|record_shapes|with_stack|profile_memory|trace_id)"\s*:'
)
"""What profilers write before the events, which may stand far behind them."""

PHASE = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),]"')
PLACE = re.compile(rb'"(?:ts|pid|tid)"\s*:')
"""Keys of an event of a list of events."""

DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*\{')
RANK = re.compile(rb'"rank"\s*:\s*([0-9]{1,9})\b')
WORLD_SIZE = re.compile(rb'"world_size"\s*:\s*([0-9]{1,9})\b')
DISTRIBUTED_BYTES = 4096


@dataclass(frozen=True, slots=True)
class OtherFile:
    """Something that is no trace.

    Attributes:
        reason: Its name for programs.
        text: What it is, to follow the name of the file.
        marks: All of them are in the head.
        start: How the file begins; None: anyhow.
        base_name: What the file is called; None: anyhow.
    """

    reason: str
    text: str
    marks: tuple[re.Pattern[bytes], ...] = ()
    start: re.Pattern[bytes] | None = None
    base_name: re.Pattern[str] | None = None

    def is_kind_of(self, text: bytes, base_name: str) -> bool:
        """Whether a file with this head and name is one."""
        if self.base_name is not None and self.base_name.search(base_name) is None:
            return False
        if self.start is not None and self.start.match(text) is None:
            return False
        return all(mark.search(text) is not None for mark in self.marks)


OVERLAY = OtherFile(
    "overlay",
    "is HTA's overlay of a critical path on a trace; the trace itself is what to open.",
    base_name=re.compile(r"^overlaid_critical_path", re.I),
)
"""By its content it is a trace; its events are those of another one, with some made up."""

KINDS: tuple[OtherFile, ...] = (
    OtherFile(
        "execution_trace",
        "is an execution trace (of ExecutionTraceObserver): it holds no times to show.",
        marks=(re.compile(rb'"schema"\s*:\s*"[^"]*chakra'),),
    ),
    OtherFile(
        "execution_trace",
        "is an execution trace (of ExecutionTraceObserver): it holds no times to show.",
        marks=(re.compile(rb'"nodes"\s*:\s*\['), re.compile(rb'"(?:ctrl_deps|rf_id)"')),
    ),
    OtherFile(
        "flight_recorder",
        "is a dump of the flight recorder of torch.distributed, not of the profiler.",
        marks=(
            re.compile(rb'"(?:entries|pg_config|pg_status)"\s*:'),
            re.compile(rb'"(?:collective_seq_id|comm_lib_version|nccl_version|nccl_comm_state)"'),
        ),
    ),
    OtherFile(
        "memory_snapshot",
        "is a snapshot of the CUDA allocator, not a trace.",
        marks=(re.compile(rb'"(?:segments|device_traces)"\s*:\s*\['), re.compile(rb'"blocks"')),
    ),
    OtherFile(
        "memory_timeline",
        "is a memory timeline (of export_memory_timeline), not a trace.",
        start=re.compile(rb"\[\s*\[\s*-?[0-9]+\s*,"),
    ),
    OtherFile(
        "throughput",
        "holds the timer's figures of a recorded run, for programs; its journal shows them.",
        marks=(re.compile(rb'"warmup_rule"\s*:'),),
        base_name=re.compile(r"\.throughput\.json$"),
    ),
)
"""What lies beside traces. The first that fits is told."""

NOTHING = FormatDetection(False, "not_a_trace", "holds JSON that is no trace.")


def detect(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """What a JSON file is.

    Args:
        head: Its first bytes, unpacked; they begin with a brace or a bracket, maybe after blanks
            and a byte order mark.
        base_name: What it is called.
        is_whole: Whether these are all.
    """
    text = text_head(head)
    if OVERLAY.is_kind_of(text, base_name):
        return FormatDetection(False, OVERLAY.reason, OVERLAY.text)
    if EVENTS_KEY.search(text) is not None:  # whatever else stands in its metadata and arguments
        return _trace(text)
    kind = next((each for each in KINDS if each.is_kind_of(text, base_name)), None)
    if kind is not None:
        return FormatDetection(False, kind.reason, kind.text)
    if text.startswith(b"["):
        is_events = PHASE.search(text) is not None and PLACE.search(text) is not None
        return FormatDetection(is_trace=True) if is_events else NOTHING
    if _has_header(text):
        return _trace(text)
    if is_whole:
        return NOTHING
    return FormatDetection(False, NOTHING.reason, NOTHING.text, needs_more=True)


def _has_header(text: bytes) -> bool:
    return SCHEMA_KEY.search(text) is not None and HEADER_KEYS.search(text) is not None


def _trace(text: bytes) -> FormatDetection:
    place = DISTRIBUTED.search(text)
    info = b"" if place is None else text[place.end() : place.end() + DISTRIBUTED_BYTES]
    return FormatDetection(
        is_trace=True, rank=_number(RANK, info), world_size=_number(WORLD_SIZE, info)
    )


def _number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    match = pattern.search(text)
    return None if match is None else int(match[1])
