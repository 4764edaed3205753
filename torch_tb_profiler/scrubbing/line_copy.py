"""Copies journals of the recorder: lines of JSON, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from torch_tb_profiler.importers.recorder.lines import BLANK_BYTES, split_lines
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.trace.quality import QualityReport

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
DAMAGED_LINE = "journal_line"


def line_copy(
    chunks: Iterable[bytes], scrubber: JsonScrubber, quality: QualityReport
) -> Iterator[bytes]:
    """The copies of all lines that can be read; the others are counted."""
    for line, _ in split_lines(chunks):
        text = line.strip(BLANK_BYTES)
        if not text:
            continue
        try:
            values = _OBJECT.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            quality.add(DAMAGED_LINE)
            continue
        yield scrubber.object(values) + b"\n"
