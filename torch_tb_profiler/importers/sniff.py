"""Tells what a file is by its first bytes, so that a refusal names the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_tb_profiler.importers.errors import TraceFormatError

LFS_POINTER = b"version https://git-lfs"
HTML_STARTS = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<")
HEAD_BYTES = 512

KNOWN_BINARIES: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\0", "an SQLite database (an Nsight Systems export, perhaps)"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x80", "a pickle (a memory snapshot, perhaps)"),
    (b"\x0a", "a Perfetto trace"),
)


def refuse_unless_json(text: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Pass ``text`` on if it can be a JSON trace.

    Raises:
        TraceFormatError: it is empty, a git-LFS pointer, a web page, or no JSON at all.
    """
    source = iter(text)
    head = b""
    for chunk in source:
        head = (head + chunk).lstrip(b" \t\r\n") if not head else head + chunk
        if len(head) >= HEAD_BYTES:
            break
    error = _refusal(head, name)
    if error is not None:
        raise error
    return _rejoined(head, source)


def _rejoined(head: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from source


def _refusal(head: bytes, name: str) -> TraceFormatError | None:
    if head.startswith((b"{", b"[")):
        return None
    if not head:
        return TraceFormatError(
            "empty_file",
            f"{name} is empty.",
            "The recording process was probably stopped before it wrote the trace: export again.",
        )
    if head.startswith(LFS_POINTER):
        return TraceFormatError(
            "lfs_pointer",
            f"{name} is a git-LFS pointer, not the trace itself.",
            "Run 'git lfs pull' in its repository.",
        )
    if head.lower().startswith(HTML_STARTS):
        return TraceFormatError(
            "html_page",
            f"{name} is a web page, not a trace.",
            "The download probably failed or needs a login: fetch the file again.",
        )
    kind = next((what for magic, what in KNOWN_BINARIES if head.startswith(magic)), "not JSON")
    return TraceFormatError(
        "not_json",
        f"{name} is {kind}; it begins with {head[:16]!r}.",
        "A PyTorch profiler trace is a JSON file, plain or gzip.",
    )
