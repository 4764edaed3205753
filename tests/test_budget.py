"""The one budget: limits grow with the file between floor and ceiling, and can be replaced."""

from __future__ import annotations

import pytest

from torch_tb_profiler.budget import LIMITS, LIMITS_VARIABLE, Budget, Stopwatch, limits_variant

MB = 10**6


def test_limits_grow_with_the_file_between_floor_and_ceiling() -> None:
    limit = LIMITS["names"]
    sizes = [0, 10 * MB, 300 * MB, 10**6 * MB]
    counts = [Budget(0, size).count("names") for size in sizes]
    assert counts == [limit.floor, limit.floor, limit.per_byte * 300 * MB, limit.ceiling]


def test_what_bounds_reading_grows_with_what_is_stored() -> None:
    """Otherwise a file that unpacks to gigabytes would raise its own limit."""
    bomb, plain = Budget(MB, 1000 * MB), Budget(1000 * MB, 1000 * MB)
    for key in ("cpu_s", "unpacked_bytes"):
        assert bomb.limit(key) == LIMITS[key].floor or key == "unpacked_bytes"
        assert bomb.limit(key) < plain.limit(key)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names=5", 5),
        ("levels=7 names=1e3", 1000),
        ("levels=7,names=0.5e1", 5),
        ("names=-1", LIMITS["names"].floor),
        ("names=nan", LIMITS["names"].floor),
        ("names", LIMITS["names"].floor),
        ("other=3", LIMITS["names"].floor),
        ("", LIMITS["names"].floor),
    ],
)
def test_the_environment_replaces_limits(
    text: str, names: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, text)
    assert Budget(0, 0).limit("names") == names


def test_no_limit_at_all_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "names=inf")
    assert Budget(0, 0).count("names") == 2**62


def test_a_trace_read_with_other_limits_is_another_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits_variant() == ""
    monkeypatch.setenv(LIMITS_VARIABLE, "names=5 levels=7")
    assert limits_variant() == "/levels=7/names=5"


def test_the_words_say_the_limit_and_how_to_change_it() -> None:
    words = Budget(0, 0).described("tracks")
    assert "10,000 threads and streams" in words
    assert f"{LIMITS_VARIABLE}=tracks=" in words


def test_time_counts_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.thread_time", lambda: now[0])
    stopwatch, budget = Stopwatch(), Budget(0, 0)
    limit_s = LIMITS["cpu_s"].floor
    now[0] += limit_s
    assert not stopwatch.exceeds(budget)
    now[0] += 0.1
    assert stopwatch.exceeds(budget)
    assert not stopwatch.exceeds(Budget(100 * MB, 0))
