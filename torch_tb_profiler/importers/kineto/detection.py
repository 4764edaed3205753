"""Classifies a JSON file by its head: a trace, another file of a profiler, or unrelated."""

from __future__ import annotations

import re

from msgspec import Struct

from torch_tb_profiler.importers.kineto.array_start import EVENTS_KEY
from torch_tb_profiler.importers.text import text_head
from torch_tb_profiler.storage.format_detection import FormatDetection

SCHEMA_KEY = re.compile(rb'"schemaVersion"\s*:')
HEADER_KEYS = re.compile(
    rb'"(?:deviceProperties|computeProperties|distributedInfo|displayTimeUnit|baseTimeNanoseconds'
    rb'|record_shapes|with_stack|profile_memory|trace_id)"\s*:'
)
"""Keys that profilers write before the events, which may be far after them."""

PHASE = re.compile(rb'"ph"\s*:\s*"[A-Za-z(),]"')
TIME_OR_TRACK = re.compile(rb'"(?:ts|pid|tid)"\s*:')
"""Keys of an event in a list of events."""

DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*\{')
RANK = re.compile(rb'"rank"\s*:\s*([0-9]{1,9})\b')
WORLD_SIZE = re.compile(rb'"world_size"\s*:\s*([0-9]{1,9})\b')
DISTRIBUTED_BYTES = 4096


class OtherFile(Struct, frozen=True):
    """A kind of JSON file that is not a trace.

    Attributes:
        reason: Its machine-readable name.
        text: What it is, as a sentence whose subject is the file's name.
        marks: Patterns that all occur in its head.
        start: How its text begins; None for any start.
        base_name: How it is named; None for any name.
    """

    reason: str
    text: str
    marks: tuple[re.Pattern[bytes], ...] = ()
    start: re.Pattern[bytes] | None = None
    base_name: re.Pattern[str] | None = None

    def matches(self, text: bytes, base_name: str) -> bool:
        """Whether a file with this head and name is of this kind."""
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
"""By its content it is a trace: the events of another trace, with synthetic ones added."""

OTHER_FILES: tuple[OtherFile, ...] = (
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
        "is the throughput summary of a recorded run; open the journal of the run instead.",
        marks=(re.compile(rb'"warmup_rule"\s*:'),),
        base_name=re.compile(r"\.throughput\.json$"),
    ),
    OtherFile(
        "not_a_trace",
        "is a profile in the format of speedscope, as py-spy writes it: samples of call stacks of "
        "the host.",
        marks=(re.compile(rb"speedscope\.app/file-format-schema"),),
    ),
    OtherFile(
        "not_a_trace",
        "is a CPU profile of a JavaScript program.",
        marks=(re.compile(rb'"nodes"\s*:\s*\['), re.compile(rb'"(?:callFrame|timeDeltas)"')),
    ),
    OtherFile(
        "not_a_trace", "is a Jupyter notebook.", marks=(re.compile(rb'"(?:nbformat|cell_type)"'),)
    ),
    OtherFile(
        "not_a_trace",
        "is the configuration of a model.",
        marks=(re.compile(rb'"(?:architectures|model_type|hidden_size)"'),),
    ),
    OtherFile(
        "not_a_trace",
        "is the index of a model's weights.",
        marks=(re.compile(rb'"weight_map"'),),
    ),
)
"""Files that are often stored with traces. The first match counts."""

OTHER_JSON = FormatDetection(False, "not_a_trace", "is JSON, but not a trace.")


def detect(head: bytes, base_name: str, is_whole: bool) -> FormatDetection:
    """Classify a JSON file.

    Args:
        head: Its first unpacked bytes; they begin with a brace or a bracket, possibly after white
            space and a byte order mark.
        base_name: Its name.
        is_whole: Whether ``head`` is the whole file.
    """
    text = text_head(head)
    if OVERLAY.matches(text, base_name):
        return FormatDetection(False, OVERLAY.reason, OVERLAY.text)
    if EVENTS_KEY.search(text) is not None:  # whatever its metadata and arguments contain
        return _trace(text)
    kind = other_file(text, base_name)
    if kind is not None:
        return FormatDetection(False, kind.reason, kind.text)
    if text.startswith(b"["):
        is_events = PHASE.search(text) is not None and TIME_OR_TRACK.search(text) is not None
        return FormatDetection(is_trace=True) if is_events else OTHER_JSON
    if _has_header(text):
        return _trace(text)
    if is_whole:
        return OTHER_JSON
    return FormatDetection(False, OTHER_JSON.reason, OTHER_JSON.text, needs_more=True)


def other_file(text: bytes, base_name: str) -> OtherFile | None:
    """The kind of a file that is not a trace, by the beginning of its text and its name."""
    return next((each for each in OTHER_FILES if each.matches(text, base_name)), None)


def _has_header(text: bytes) -> bool:
    return SCHEMA_KEY.search(text) is not None and HEADER_KEYS.search(text) is not None


def _trace(text: bytes) -> FormatDetection:
    match = DISTRIBUTED.search(text)
    info = b"" if match is None else text[match.end() : match.end() + DISTRIBUTED_BYTES]
    return FormatDetection(
        is_trace=True, rank=_number(RANK, info), world_size=_number(WORLD_SIZE, info)
    )


def _number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    match = pattern.search(text)
    return None if match is None else int(match[1])
