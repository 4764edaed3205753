"""Why a file that no format recognises is none of ours, by its first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.source import HEAD_BYTES
from torch_tb_profiler.importers.sqlite.opening import not_a_database_error
from torch_tb_profiler.importers.text import text_head

LFS_POINTER = b"version https://git-lfs"
HTML_STARTS = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<")

KNOWN_BINARIES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x80", "a pickle (a memory snapshot, perhaps)"),
)

PERFETTO_PACKET = b"\x0a"
"""Field 1, of a length, of the message ``perfetto.protos.Trace``: a file is nothing but these."""

DATABASE_ENDINGS = (".sqlite", ".sqlite3", ".db")

PROTOBUF_ENDINGS = (".pb", ".pb.gz")
MEMORY_USAGE = re.compile(r"memory_usage_\w+\.pb(\.gz)?$", re.IGNORECASE)
FIRST_TEXT, SECOND_TEXT = b"\x0a", b"\x12"
"""Fields 1 and 2, of a length: ``tensorflow.GraphDef`` begins with a node, which begins with its
name and its operation."""

ENOUGH_PACKETS = 3
"""So many whole ones, not of blanks alone, make a Perfetto trace, whatever follows."""

MAX_LENGTH_BYTES = 5
WIRE_TYPES = (0, 1, 2, 5)
"""Of protobuf: the others are gone, or were never there."""


def unrecognized_file(head: bytes, name: str, titles: Iterable[str]) -> TraceFormatError:
    """What to tell of a file that is no trace.

    Args:
        head: Its first bytes, unpacked: all of them where there are no 4096.
        name: As the user knows it.
        titles: Of the formats that are read.
    """
    text = text_head(head)
    if not text:
        return TraceFormatError(
            "empty_file",
            f"{name} is empty.",
            "The recording process was probably stopped before it wrote the trace: export again.",
        )
    if text.startswith(LFS_POINTER):
        return TraceFormatError(
            "lfs_pointer",
            f"{name} is a git-LFS pointer, not the trace itself.",
            "Run 'git lfs pull' in its repository.",
        )
    is_page = text.lower().startswith(HTML_STARTS)
    if name.lower().endswith(DATABASE_ENDINGS) and not (is_page and head.isascii()):
        return not_a_database_error(head, name)
    if is_page:
        return TraceFormatError(
            "html_page",
            f"{name} is a web page, not a trace.",
            "The download probably failed or needs a login: fetch the file again.",
        )
    if name.lower().endswith(PROTOBUF_ENDINGS) and _is_field(head[0]):
        return TraceFormatError(
            "other_protobuf",
            f"{name} is a protobuf file of another kind than a recording of Paddle's profiler "
            f"({_protobuf_kind(head, name)}).",
            "Of .pb files those are read that paddle.profiler.export_protobuf wrote.",
        )
    return TraceFormatError(
        "not_json",
        f"{name} is {_kind(head)}; it begins with {text[:16]!r}.",
        f"What is read: {', '.join(titles)}.",
    )


def _protobuf_kind(head: bytes, name: str) -> str:
    if MEMORY_USAGE.search(name):
        return "memory usage of MindSpore"
    length, start = _varint(head, 1)
    inner, text = _varint(head, start + 1)
    is_node = head[:1] == FIRST_TEXT == head[start : start + 1] and text + inner < start + length
    if is_node and head[text + inner : text + inner + 1] == SECOND_TEXT:
        return "a TensorFlow graph, perhaps"
    return "a model or a graph, perhaps"


def _kind(head: bytes) -> str:
    return next((what for magic, what in KNOWN_BINARIES if head.startswith(magic)), "not JSON")


def is_perfetto(head: bytes) -> bool:
    """Whether a file begins with packets of a Perfetto trace. Their first byte is a line break,
    too: so each must begin where the one before ends, with a field that protobuf may have; the
    first ones at least, damage may follow."""
    at = packets = 0
    while head.startswith(PERFETTO_PACKET, at):
        length, start = _varint(head, at + 1)
        if not length or start >= len(head) or start + length > len(head):
            return at > 0 or len(head) >= HEAD_BYTES
        if not _is_field(head[start]):
            break
        at, packets = start + length, packets + 1
    is_enough = packets >= ENOUGH_PACKETS and not head[:at].isspace()
    return is_enough or at == len(head) > 0


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of protobuf and the place behind it; 0 when it is none, or is cut."""
    value = 0
    for count, byte in enumerate(data[at : at + MAX_LENGTH_BYTES]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, at + count + 1
    return 0, at


def _is_field(tag: int) -> bool:
    return tag & 0x7 in WIRE_TYPES and tag >> 3 > 0
