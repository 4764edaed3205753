"""Cases: no limit, a small one and one that is large for the cores; errors that mean no memory."""

from __future__ import annotations

import errno

import pytest

from torch_tb_profiler.loading.processes import address_space, resources

GIB = 1 << 30


def limited(monkeypatch: pytest.MonkeyPatch, limit: int | None) -> None:
    monkeypatch.setattr(address_space, "limit_bytes", lambda: limit)


@pytest.mark.parametrize(
    ("limit", "cores", "threads"),
    [
        (None, 64, None),
        (2 * GIB, 2, None),
        (GIB, 2, "1"),
        (2 * GIB, 64, "4"),
        (300 << 20, 8, "1"),
        (64 * GIB, 64, None),
    ],
)
def test_libraries_start_as_many_threads_as_fit(
    monkeypatch: pytest.MonkeyPatch, limit: int | None, cores: int, threads: str | None
) -> None:
    limited(monkeypatch, limit)
    assert address_space.library_settings(cores).get("POLARS_MAX_THREADS") == threads


def test_the_limit_bounds_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    free, total = resources.free_memory_bytes(), resources.total_memory_bytes()
    assert address_space.free_bytes() > free or address_space.limit_bytes() is not None
    limited(monkeypatch, 64 << 20)  # less than this process has reserved already
    assert resources.free_memory_bytes() == 0
    assert resources.total_memory_bytes() == 64 << 20 < total


class PanicException(BaseException):
    """Named as those of polars."""


@pytest.mark.parametrize(
    ("error", "unlimited", "within_limit"),
    [
        (MemoryError(), True, True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True, True),
        (RuntimeError("can't start new thread"), True, True),
        (ImportError("libx.so: failed to map segment from shared object"), True, True),
        (PanicException("could not spawn threads"), False, True),
        (SystemError("error return without exception set"), False, True),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), False, True),
        (KeyError("name"), False, False),
        (OSError(errno.ENOENT, "No such file"), False, False),
    ],
)
def test_which_errors_mean_no_memory(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, unlimited: bool, within_limit: bool
) -> None:
    outer = ValueError("of something else")
    outer.__cause__ = error
    limited(monkeypatch, None)
    assert address_space.is_out_of_memory(error) is unlimited
    limited(monkeypatch, GIB)
    assert address_space.is_out_of_memory(error) is within_limit
    assert address_space.is_out_of_memory(outer) is within_limit
