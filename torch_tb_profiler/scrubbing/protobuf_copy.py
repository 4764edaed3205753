"""Copies protobuf recordings field by field of the file: XPlane, Paddle's, Perfetto's.

The file is read twice: first for values whose name says that the text they refer to is private. One
field of the file, a packet or a plane, is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, read_field
from torch_tb_profiler.knowledge.private_messages import MessageRules
from torch_tb_profiler.scrubbing.cell_values import CellScrubber, KnownKey, learnable
from torch_tb_profiler.scrubbing.message_walk import MessageWalk, tagged
from torch_tb_profiler.trace.quality import QualityReport

HEAD_BYTES = 24
"""More than tag and length of any field."""

PIECE_BYTES = 1 << 20

FileField = tuple[int, bytes, bytes]
"""Number, the content of a length-delimited field, the bytes of any other."""


def protobuf_copy(
    opened: Callable[[], Iterable[bytes]],
    rules: MessageRules,
    cells: CellScrubber,
    quality: QualityReport,
) -> Iterator[bytes]:
    """The copy of a recording.

    Args:
        opened: Opens its unpacked bytes.
        rules: The messages of its format.
        cells: The rules of texts.
        quality: Counts an end within a field.

    Raises:
        TraceFormatError: it does not begin with a field.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    first = MessageWalk(rules, lambda _, text: text, _ignore)
    for number, content, _ in file_fields(opened(), QualityReport()) if rules.texts else ():
        first.rewritten(number, content)
    walk = MessageWalk(rules, cells.text, cells.remove_bytes)
    walk.private_texts.update(first.private_texts)
    for number, content, other in file_fields(opened(), quality):
        if other:
            yield other
            continue
        new = walk.rewritten(number, content)
        if new is not None:
            yield tagged(number, new)


def texts_of_messages(opened: Iterable[bytes], rules: MessageRules) -> Iterator[bytes]:
    """All texts of a recording with their keys, for names of hosts and users; errors as
    :func:`protobuf_copy`."""
    parts: list[bytes] = []

    def collect(known: KnownKey, text: str) -> str:
        parts.append(learnable(known.key, text))
        return text

    walk = MessageWalk(rules, collect, _ignore)
    for number, content, _ in file_fields(opened, QualityReport()):
        walk.rewritten(number, content)
        if len(parts) > 1000:
            yield b"".join(parts)
            parts.clear()
    yield b"".join(parts)


def file_fields(chunks: Iterable[bytes], quality: QualityReport) -> Iterator[FileField]:
    """The fields of a file; what follows the last whole one is counted as missing.

    Raises:
        TraceFormatError: there is none.
    """
    data, at = b"", 0
    needed_bytes, is_first = PIECE_BYTES, True
    source = iter(chunks)
    parts: list[bytes] = []
    is_open = True
    while is_open:
        size = 0
        for chunk in source:
            parts.append(chunk)
            size += len(chunk)
            if size >= needed_bytes:
                break
        else:
            is_open = False
        data = b"".join((data[at:], *parts))
        parts, at = [], 0
        while (field := read_field(data, at, len(data))) is not None:
            number, wire_type, _, start, end = field
            is_first = False
            if wire_type == DELIMITED:
                yield number, data[start:end], b""
            else:
                yield number, b"", data[at:end]
            at = end
        needed_bytes = max(PIECE_BYTES, _missing_bytes(data, at))
    if is_first:
        raise TraceFormatError(
            "truncated",
            "The file ends within its first field.",
            "The recording process was probably stopped while writing: export the trace again.",
        )
    quality.add("truncated", int(at < len(data)))


def _missing_bytes(data: bytes, at: int) -> int:
    """How many bytes the field that begins at an offset needs, as far as its length is there."""
    head = data[at : at + HEAD_BYTES]
    _, content = read_varint(head, 0, len(head))
    length, start = read_varint(head, content, len(head))
    return min(max(0, start + length - (len(data) - at)), 1 << 30) if content and start else 0


def _ignore(_path: str, _data: bytes) -> None:
    """Bytes that go are counted when the copy is written."""
