"""Cases: text size of plain, gzipped, empty and misnamed files; a reading waits until its memory
fits, one always may begin, and what readings take is learned.
"""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from torch_tb_profiler.loading.measure import WORKER_BYTES, MemoryBudget, text_bytes
from torch_tb_profiler.storage.locations import file_state, open_location

MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "data", "size"),
    [
        ("a.json", b"x" * 1000, 1000),
        ("a.json.gz", gzip.compress(b"x" * 123_456), 123_456),
        ("misnamed.json", gzip.compress(b"x" * 123_456), 123_456),
        ("misnamed.json.gz", b"x" * 1000, 1000),
        ("empty.json.gz", b"", 0),
    ],
)
def test_text_size_is_read_from_the_file(tmp_path: Path, name: str, data: bytes, size: int) -> None:
    (tmp_path / name).write_bytes(data)
    location = open_location(os.fspath(tmp_path / name))
    assert text_bytes(location, file_state(location)) == size


def test_a_reading_waits_until_it_fits_and_one_always_may() -> None:
    budget = MemoryBudget(lambda: 2 * WORKER_BYTES + 150 * MIB)
    begun, end = threading.Event(), threading.Event()

    def second() -> None:
        with budget.reading(100 * MIB):
            begun.set()
            end.wait(10)

    thread = threading.Thread(target=second)
    with budget.reading(100 * MIB):
        thread.start()
        assert not begun.wait(0.1)
    assert begun.wait(10)
    with budget.reading(40 * MIB):  # fits beside
        end.set()
    thread.join()
    with MemoryBudget(lambda: 0).reading(1 << 40):
        pass


def test_what_readings_take_is_learned() -> None:
    budget = MemoryBudget(lambda: 2 * WORKER_BYTES + 500 * MIB)
    budget.learn(100 * MIB, WORKER_BYTES + 400 * MIB)
    budget.learn(100 * MIB, 0)  # nothing was measured
    begun = threading.Event()

    def second() -> None:
        with budget.reading(100 * MIB):
            begun.set()

    thread = threading.Thread(target=second)
    with budget.reading(100 * MIB):  # four bytes of memory per byte of text now
        thread.start()
        assert not begun.wait(0.1)
    thread.join(10)
    assert begun.is_set()
