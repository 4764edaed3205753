"""Cases: text size of plain, gzipped, empty and misnamed files; a reading waits until its memory
fits, one is always admitted, and peaks are learned; tables that do not fit are rejected, unless
memory is released."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from torch_tb_profiler.loading.opening.memory_budget import WORKER_BYTES, MemoryBudget, text_bytes
from torch_tb_profiler.requests.errors import OpenError
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


def test_a_database_takes_the_memory_of_more_text_than_it_has_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(984))
    location = open_location(str(path))
    assert text_bytes(location, file_state(location)) == 3000


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
    budget.record_peak(100 * MIB, WORKER_BYTES + 400 * MIB)
    budget.record_peak(100 * MIB, 0)  # nothing was measured
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


def test_memory_is_short_when_a_reading_may_take_more_than_is_free() -> None:
    budget = MemoryBudget(lambda: WORKER_BYTES + 100 * MIB)
    assert not budget.exceeds_free_memory(100 * MIB)
    assert budget.exceeds_free_memory(101 * MIB)


def test_tables_that_do_not_fit_are_refused_with_the_sizes() -> None:
    released: list[bool] = []
    budget = MemoryBudget(lambda: 100 * MIB)
    budget.check_tables("a.json", 40 * MIB, lambda: released.append(True))
    assert not released
    with pytest.raises(OpenError, match=r"a\.json does not fit .* 105 MB are free") as caught:
        budget.check_tables("a.json", 80 * MIB, lambda: released.append(True))
    assert caught.value.problem.code == "out_of_memory"
    assert released == [True]


def test_memory_that_workers_give_back_makes_room() -> None:
    free_bytes = [100 * MIB]
    budget = MemoryBudget(lambda: free_bytes[0])
    budget.check_tables("a.json", 80 * MIB, lambda: free_bytes.append(free_bytes.pop() * 3))
