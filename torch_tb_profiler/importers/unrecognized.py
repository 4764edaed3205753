"""What a file is that no format recognises, by its first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.source import HEAD_BYTES
from torch_tb_profiler.importers.text import text_head

LFS_POINTER = b"version https://git-lfs"
HTML_STARTS = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<")

KNOWN_BINARIES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "a gzip archive inside another"),
    (b"\x00\x00\xfe\xff", "text in UTF-32"),
    (b"\xff\xfe\x00\x00", "text in UTF-32"),
    (b"\x80", "a pickle (a memory snapshot, perhaps)"),
)

TAR_MARK_AT = 257

OTHER_OUTPUTS: tuple[tuple[re.Pattern[bytes], re.Pattern[str], str], ...] = (
    (
        re.compile(rb'"(?:Kind|Domain|Correlation_Id|Guid|Node_Id)","'),
        re.compile(r".*\.csv", re.IGNORECASE | re.DOTALL),
        "a table (CSV) of rocprofv3",
    ),
    (
        re.compile(rb'"Name","Calls","TotalDurationNs"'),
        re.compile(r".*\.csv", re.IGNORECASE | re.DOTALL),
        "a summary (CSV) of rocprofv3",
    ),
    (
        re.compile(rb""),
        re.compile(r".*\.otf2", re.IGNORECASE | re.DOTALL),
        "a trace in the Open Trace Format (OTF2)",
    ),
)
"""Outputs of AMD's profilers that are not read: beginning, name, what they are."""

PERFETTO_PACKET = b"\x0a"
"""Tag of field 1, length-delimited, of ``perfetto.protos.Trace``: the only field of a file."""

DATABASE_ENDINGS = (".sqlite", ".sqlite3", ".db")

PROTOBUF_ENDINGS = (".pb", ".pb.gz")
MEMORY_USAGE = re.compile(r"memory_usage_\w+\.pb(\.gz)?$", re.IGNORECASE)
OF_XPROF = tuple(
    (f".{name}.pb", f"{kind}, which XProf computed from the .xplane.pb beside it")
    for name, kind in (
        ("hlo_proto", "an HLO program"),
        ("op_stats", "sums per operation"),
        ("kernel_stats", "sums per kernel"),
        ("tensorflow_stats", "sums per operation"),
        ("framework_op_stats", "sums per operation"),
        ("hlo_stats", "sums per HLO operation"),
        ("overview_page", "an overview"),
        ("input_pipeline", "an analysis of the input pipeline"),
        ("memory_profile", "a memory profile"),
        ("pod_stats", "sums per host"),
        ("pod_viewer", "sums per host"),
        ("roofline_model", "a roofline"),
        ("trace_viewer", "events for a viewer"),
    )
)
"""Endings of what XProf writes beside the profiles of a run, and what it is."""

FIRST_TEXT, SECOND_TEXT = b"\x0a", b"\x12"
"""Tags of fields 1 and 2, length-delimited: ``tensorflow.GraphDef`` begins with a node, which
begins with its name and its operation."""

MIN_PACKETS = 3
"""This many complete packets that are not only white space make a Perfetto trace; damage may
follow."""

MAX_LENGTH_BYTES = 5
WIRE_TYPES = (0, 1, 2, 5)
"""Wire types of protobuf in use."""


def unrecognized_file(head: bytes, name: str, titles: Iterable[str]) -> TraceFormatError:
    """The error for a file that no format recognises.

    Args:
        head: Its first unpacked bytes: at least 4096, or the whole file.
        name: Its name in messages.
        titles: Titles of the supported formats.
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
    for start, name_pattern, kind in OTHER_OUTPUTS:
        if start.match(text) and name_pattern.fullmatch(name):
            return TraceFormatError(
                "other_output",
                f"{name} is {kind}, which is not read.",
                "Record with rocprofv3 --output-format rocpd json, or convert a rocpd database.",
            )
    is_page = text.lower().startswith(HTML_STARTS)
    if name.lower().endswith(DATABASE_ENDINGS) and not (is_page and head.isascii()):
        from torch_tb_profiler.importers.sqlite.opening import (  # noqa: PLC0415 - start-up
            not_a_database_error,
        )

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
            f"{name} is a protobuf file, but no recording ({_protobuf_kind(head, name)}).",
            "Supported .pb files are XPlane profiles (.xplane.pb) and those written by "
            "paddle.profiler.export_protobuf.",
        )
    return TraceFormatError(
        "not_json",
        f"{name} is {_kind(head)}; it begins with {text[:16]!r}.",
        f"Supported formats: {', '.join(titles)}.",
    )


def _protobuf_kind(head: bytes, name: str) -> str:
    if MEMORY_USAGE.search(name):
        return "memory usage of MindSpore"
    by_product = next((kind for ending, kind in OF_XPROF if name.lower().endswith(ending)), None)
    if by_product is not None:
        return by_product
    length, start = _varint(head, 1)
    inner, text = _varint(head, start + 1)
    is_node = head[:1] == FIRST_TEXT == head[start : start + 1] and text + inner < start + length
    if is_node and head[text + inner : text + inner + 1] == SECOND_TEXT:
        return "a TensorFlow graph, perhaps"
    return "a model or a graph, perhaps"


def _kind(head: bytes) -> str:
    if head[TAR_MARK_AT:].startswith(b"ustar"):
        return "a tar archive"
    return next((label for magic, label in KNOWN_BINARIES if head.startswith(magic)), "not JSON")


def is_perfetto(head: bytes) -> bool:
    """Whether a file begins with packets of a Perfetto trace.

    The tag of a packet is also a line break. So each packet must begin where the one before it
    ends, with a valid protobuf field; damage may follow the first :data:`MIN_PACKETS`.
    """
    at = packets = 0
    while head.startswith(PERFETTO_PACKET, at):
        length, start = _varint(head, at + 1)
        if not length or start >= len(head) or start + length > len(head):
            return at > 0 or len(head) >= HEAD_BYTES
        if not _is_field(head[start]):
            break
        at, packets = start + length, packets + 1
    is_enough = packets >= MIN_PACKETS and not head[:at].isspace()
    return is_enough or at == len(head) > 0


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the offset after it; the value is 0 if it is invalid or truncated."""
    value = 0
    for count, byte in enumerate(data[at : at + MAX_LENGTH_BYTES]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, at + count + 1
    return 0, at


def _is_field(tag: int) -> bool:
    return tag & 0x7 in WIRE_TYPES and tag >> 3 > 0
