"""What hosts are late for after they had stopped, by hand."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.excess import _late_after


def late(stops: dict[str, list[float]], host: list[float]) -> dict[str, list[float]]:
    """Of one rank, by step."""
    after = _late_after({name: np.array([row]) for name, row in stops.items()}, np.array([host]))
    return {name: values[0].tolist() for name, values in after.items()}


def test_a_host_is_late_at_most_as_long_as_it_had_stopped() -> None:
    assert late({"input": [10, 0, 0]}, [4, 0, 50]) == {"input": [4, 0, 0]}
    assert late({"input": [10, 0, 0]}, [40, 40, 40]) == {"input": [10, 0, 0]}


def test_what_is_left_of_a_stop_reaches_the_next_step_alone() -> None:
    assert late({"input": [10, 0, 0]}, [4, 40, 40]) == {"input": [4, 6, 0]}
    assert late({"input": [10, 5, 0]}, [0, 40, 40]) == {"input": [0, 15, 0]}


def test_two_kinds_of_stops_share_it_by_their_lengths() -> None:
    assert late({"input": [6, 0], "pause": [2, 0]}, [4, 8]) == {"input": [3, 3], "pause": [1, 1]}
