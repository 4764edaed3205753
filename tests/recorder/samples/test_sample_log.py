"""Rates of counters that wrap, stand still or are read twice at once; blocks of samples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.recorder.samples.sample_log import CounterRates, SampleLog


def test_a_rate_covers_the_last_interval() -> None:
    rates = CounterRates()
    assert rates.per_second("a", 100, 1_000_000_000) is None
    assert rates.per_second("a", 150, 1_500_000_000) == 100
    assert rates.per_second("b", 5, 1_500_000_000) is None


def test_the_rate_of_a_wrapped_counter_is_unknown_once() -> None:
    rates = CounterRates()
    result = [rates.per_second("a", count, n * 10**9) for n, count in enumerate((7, 9, 1, 4))]
    assert result == [None, 2, None, 3]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**9)), min_size=2))
def test_reads_at_the_same_time_lose_nothing(moves: list[tuple[int, int]]) -> None:
    rates, time_ns, count = CounterRates(), 0, 0
    rates.growth("a", 0, 0)
    grown, passed_ns = 0.0, 0
    for passed_s, more in [*moves, (1, 0)]:
        time_ns, count = time_ns + passed_s * 10**9, count + more
        result = rates.growth("a", count, time_ns)
        assert (result is None) == (passed_s == 0)
        if result is not None:
            grown, passed_ns = grown + result[0], passed_ns + result[1]
    assert (grown, passed_ns) == (count, time_ns)


def test_blocks_have_columns_of_metrics_read_together() -> None:
    log = SampleLog()
    log.add("host", 10, {"load": ("", 1.23456)})
    log.add("host", 10, {"CPU": ("%", None)})
    log.add("host", 20, {"load": ("", float("inf"))})
    log.add("host", 30, {})
    assert log.pop_blocks() == [
        {
            "kind": "samples",
            "source": "host",
            "time_ns": [10, 20],
            "metrics": {"load": {"unit": "", "values": [1.235, None]}},
        },
        {
            "kind": "samples",
            "source": "host",
            "time_ns": [10],
            "metrics": {"CPU": {"unit": "%", "values": [None]}},
        },
    ]
    assert log.pop_blocks() == []
