"""Pauses double up to their maximum and start again after a success."""

from __future__ import annotations

from torch_tb_profiler.storage.backoff import MAX_PAUSE_S, Backoff


def test_pauses_double_up_to_the_ceiling() -> None:
    backoff = Backoff()
    pauses = []
    now_s = 100.0
    for _ in range(8):
        backoff.failed(now_s)
        pauses.append(backoff.next_try_s - now_s)
        now_s = backoff.next_try_s
    assert pauses == [1, 2, 4, 8, 16, MAX_PAUSE_S, MAX_PAUSE_S, MAX_PAUSE_S]
    assert backoff.since_s == 100.0


def test_a_success_forgets_the_failures() -> None:
    backoff = Backoff()
    backoff.failed(1.0)
    backoff.failed(2.0)
    backoff.succeeded()
    assert (backoff.since_s, backoff.next_try_s) == (None, 0.0)
    backoff.failed(50.0)
    assert (backoff.since_s, backoff.next_try_s) == (50.0, 51.0)


def test_a_try_counts_as_pause() -> None:
    backoff = Backoff()
    for _ in range(10):
        backoff.failed(1000.0, began_s=980.0)
    assert backoff.since_s == 980.0
    assert backoff.next_try_s == 980.0 + MAX_PAUSE_S
    backoff.failed(1100.0, began_s=1000.0)
    assert backoff.next_try_s == 1101.0
