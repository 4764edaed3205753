"""The collective that a missing rank would have called first, by what other ranks did."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.flight_dumps import dump, entry, open_dump
from torch_tb_profiler.analysis.hang.diagnosis import diagnose

GROUPS: dict[str, tuple[str, list[int]]] = {
    "1": ("tp", [0, 1]),
    "2": ("tp", [2, 3]),
    "3": ("dp", [1, 3]),
}


def _call(record: int, name: str, size: int, state: str = "started") -> dict[str, Any]:
    return entry(
        record,
        pg_id=int(name),
        process_group=(name, GROUPS[name][0]),
        input_sizes=[[size]],
        output_sizes=[[size]],
        state=state,
        retired=state == "completed",
        time_discovered_started_ns=1,
    )


@pytest.mark.parametrize("late", [True, False])
def test_the_call_that_others_made_first_is_named(*, late: bool) -> None:
    """Rank 1 stops before the call in its tp group; rank 3 has made its own and waits in dp."""
    tp_of_rank_0 = _call(0, "1", 8) | {"time_created_ns": 2 * 10**18 if late else 10**18}
    dumps = {
        0: dump([tp_of_rank_0], GROUPS),
        1: dump([], GROUPS),
        2: dump([_call(0, "2", 8, "completed")], GROUPS),
        3: dump([_call(0, "2", 8, "completed"), _call(1, "3", 64)], GROUPS),
    }
    diagnosis = diagnose({f"r{rank}": open_dump(each, rank) for rank, each in dumps.items()})
    assert diagnosis is not None
    assert [diagnosis.dumps.channels.all[each.channel].name for each in diagnosis.problems] == [
        "1",
        "3",
    ]
    assert [each.culprits for each in diagnosis.causes] == [(1,), (1,)]


@pytest.mark.parametrize(("earlier", "kind"), [(4, "mismatch"), (1, "not_completed")])
def test_a_first_uneven_all_to_all_is_odd(earlier: int, kind: str) -> None:
    groups = {"0": ("default_pg", [0, 1, 2])}

    def calls(last: int) -> list[dict[str, Any]]:
        some = [
            entry(number, profiling_name="nccl:all_to_all", collective_seq_id=number + 1)
            for number in range(earlier + 1)
        ]
        open_one = {"state": "started", "input_sizes": [[last]], "output_sizes": [[last]]}
        return [*some[:-1], some[-1] | open_one]

    traces = {
        f"r{rank}": open_dump(dump(calls(8 if rank else 16), groups), rank) for rank in range(3)
    }
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    (problem,) = diagnosis.problems
    assert (problem.kind, problem.odd) == (kind, (0,) if kind == "mismatch" else ())
