"""Sources: the head of a file, its bytes, and that they are freed at once."""

from __future__ import annotations

import gc
import weakref

from torch_tb_profiler.importers.source import HEAD_BYTES, Source

TEXT = [b"  ", b"\n", b'{"a": ', b"1" * HEAD_BYTES, b"}"]


def test_head_and_bytes_are_those_of_the_file() -> None:
    source = Source("file", TEXT)
    assert source.head == b"".join(TEXT[:4])
    assert b"".join(source.unpacked()) == b"".join(TEXT)
    assert source.taken_bytes == len(b"".join(TEXT))


def test_a_source_is_freed_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        source = Source("file", TEXT)
        assert source.head
        gone = weakref.ref(source)
        del source
        assert gone() is None
    finally:
        gc.enable()
