"""Launch matching between processes: each rule by itself, the rules against a plain reference, and
a simulated job whose launches are known."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.trace import launch_candidates
from torch_tb_profiler.trace.launch_candidates import Launchable, Launchers, infer_launches

Call = tuple[int, int, int]
"""Correlation id, process, start."""

Ran = tuple[int, int, int, int]
"""Correlation id, start, device, stream."""


def inferred(
    calls: list[Call], work: list[Ran], *, graphs: frozenset[int] = frozenset(), tolerance: int = 0
) -> list[int | str | None]:
    """Per piece of work the process of its launch, None for none, "?" where several are left."""
    rows = sorted(range(len(calls)), key=lambda row: calls[row][:2])
    table = np.array([calls[row] for row in rows], np.int64).reshape(-1, 3)
    ran = np.array(work, np.int64).reshape(-1, 4)
    launchers = Launchers(
        correlation=table[:, 0],
        process=table[:, 1].astype(np.int32),
        start_ns=table[:, 2],
        row=np.array(rows, np.int64),
        is_graph=np.isin(table[:, 0], list(graphs)),
    )
    _, track = np.unique(ran[:, 2] * 100 + ran[:, 3], return_inverse=True)
    open_work = Launchable(
        ran[:, 0], ran[:, 1], np.arange(len(calls), len(calls) + len(work)), ran[:, 2], track
    )
    row, is_ambiguous = infer_launches(launchers, open_work, tolerance)
    return [
        calls[rows[place]][1] if place >= 0 else "?" if ambiguous else None
        for place, ambiguous in zip(row.tolist(), is_ambiguous.tolist(), strict=True)
    ]


def test_one_candidate_is_it() -> None:
    assert inferred([(1, 0, 1), (2, 1, 1)], [(1, 5, 0, 7), (2, 5, 0, 7), (3, 5, 0, 7)]) == [
        0,
        1,
        None,
    ]


def test_a_launch_after_its_work_is_one_where_clocks_disagree_on_a_device_of_its_process() -> None:
    calls = [(1, 0, 0), (2, 0, 20), (3, 1, 0)]
    assert inferred(calls, [(1, 5, 0, 7), (2, 10, 0, 7)]) == [0, 0]
    assert inferred(calls, [(2, 10, 0, 7)]) == [None], "or of work from before the recording"
    assert inferred(calls, [(3, 5, 0, 7), (2, 10, 0, 7)]) == [1, None]


def test_a_launch_precedes_its_work() -> None:
    calls = [(1, 0, 0), (1, 1, 100)]
    assert inferred(calls, [(1, 50, 0, 7)]) == [0]
    assert inferred(calls, [(1, 99, 0, 7)], tolerance=1) == ["?"]


def test_work_before_all_its_launches_has_none() -> None:
    assert inferred([(1, 0, 10), (1, 1, 20)], [(1, 5, 0, 7)]) == [None]


def test_a_call_launches_once() -> None:
    calls = [(1, 0, 0), (1, 1, 100)]
    assert inferred(calls, [(1, 50, 0, 7), (1, 150, 0, 7)]) == [0, 1]


def test_a_device_that_one_process_explains_is_its_own() -> None:
    """Id 2 is ambiguous by itself; of device 0's ids process 1 launched 1 too late."""
    calls = [(1, 0, 0), (1, 1, 100), (2, 0, 200), (2, 1, 201)]
    work = [(1, 50, 0, 7), (1, 110, 1, 7), (2, 251, 0, 8), (2, 250, 1, 8)]
    assert inferred(calls, work) == [0, 1, 0, 1]


def test_a_process_that_is_always_ahead_explains_the_devices_of_others_but_has_its_own() -> None:
    """Process 0 launches first and could have done all; 1 cannot have done device 0's."""
    calls = [(1, 0, 0), (1, 1, 10), (2, 0, 20), (2, 1, 30)]
    work = [(1, 5, 0, 7), (1, 15, 1, 7), (2, 40, 1, 7), (2, 45, 0, 7)]
    assert inferred(calls, work) == [0, 1, 1, 0]


def test_streams_decide_where_processes_share_a_device() -> None:
    calls = [(1, 0, 0), (1, 1, 100), (2, 0, 200), (2, 1, 201)]
    work = [(1, 50, 0, 7), (1, 110, 0, 8), (2, 250, 0, 8), (2, 251, 0, 7)]
    assert inferred(calls, work) == [0, 1, 1, 0]


def test_order_decides_when_all_work_of_a_device_agrees() -> None:
    calls = [(1, 0, 0), (1, 1, 1), (2, 0, 10), (2, 1, 11)]
    agreeing = [(1, 5, 0, 7), (1, 6, 1, 7), (2, 15, 0, 7), (2, 16, 1, 7)]
    crossing = [(1, 5, 0, 7), (1, 6, 1, 7), (2, 16, 0, 7), (2, 15, 1, 7)]
    assert inferred(calls, agreeing) == [0, 1, 0, 1]
    assert inferred(calls, crossing) == ["?"] * 4


def test_the_row_in_the_file_is_the_order_at_equal_times() -> None:
    calls = [(1, 0, 0), (1, 1, 0)]
    assert inferred(calls, [(1, 5, 0, 7), (1, 5, 1, 7)]) == [0, 1]


def test_a_shared_stream_runs_in_the_order_of_launches() -> None:
    calls = [(1, 0, 0), (1, 1, 2), (2, 0, 1), (2, 1, 3)]
    in_order = [(1, 10, 0, 7), (2, 11, 0, 7), (1, 12, 0, 7), (2, 13, 0, 7)]
    not_in_order = [(1, 10, 0, 7), (1, 11, 0, 7), (2, 12, 0, 7), (2, 13, 0, 7)]
    assert inferred(calls, in_order) == [0, 0, 1, 1]
    assert inferred(calls, not_in_order) == ["?"] * 4


def test_all_kernels_of_a_graph_on_a_device_go_together() -> None:
    calls = [(1, 0, 0), (1, 1, 100)]
    work = [(1, 50 + i, 0, i) for i in range(5)] + [(1, 150 + i, 1, i) for i in range(5)]
    assert inferred(calls, work, graphs=frozenset({1})) == [0] * 5 + [1] * 5


def test_more_work_than_calls_of_an_id_is_no_evidence() -> None:
    calls = [(1, 0, 0), (1, 1, 0), (2, 0, 0)]
    assert inferred(calls, [(1, 5 + i, i, 7) for i in range(3)]) == ["?"] * 3
    assert inferred(calls, [(2, 5, 0, 7), (2, 6, 0, 7)]) == [0, 0], "copies in parts"


def test_a_device_of_one_process_takes_nothing_from_another() -> None:
    """Work 2 on device 1 is left from before the recording; only process 0 has a call 2."""
    calls = [(1, 0, 0), (1, 1, 50), (2, 0, 60), (3, 1, 70)]
    work = [(1, 10, 0, 7), (1, 60, 1, 7), (2, 70, 0, 7), (2, 75, 1, 7), (3, 90, 1, 7)]
    assert inferred(calls, work) == [0, 1, 0, None, 1]


def test_what_would_take_too_many_rounds_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call is settled only after the one before it."""
    calls = [(1, process, 10 * process) for process in range(30)]
    work = [(1, 10 * process + 5, 0, 7) for process in range(30)]
    assert inferred(calls, work) == list(range(30))
    monkeypatch.setattr(launch_candidates, "MAX_PAIRS", 1000)
    answer = inferred(calls, work)
    assert answer[:2] == [0, 1]
    assert set(answer[5:]) == {"?"}


def test_ids_that_too_many_processes_use_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_candidates, "MAX_CANDIDATES", 4)
    calls = [(1, process, 0) for process in range(3)] + [(2, 0, 0)]
    assert inferred(calls, [(1, 5, 0, 7), (2, 5, 0, 7)]) == ["?", 0]


def test_the_candidates_grow_linearly_with_the_work() -> None:
    """A small file of very many processes that all count one id."""
    calls = [(1, process, process) for process in range(1100)]
    work = [(1, 2000 + place, 0, 7) for place in range(1100)]
    assert set(inferred(calls, work)) == {"?"}
    assert inferred(calls[:100], work[:100]) == list(range(100))


def test_nothing_at_all() -> None:
    assert inferred([], []) == []
    assert inferred([], [(1, 5, 0, 7)]) == [None]
    assert inferred([(1, 0, 5)], []) == []


# --- the rules, reread ----------------------------------------------------------------------------


@dataclass
class Reference:
    """The rules of docs/metrics.md, with sets."""

    calls: list[Call]
    work: list[Ran]
    left: list[set[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        of_id = defaultdict(set)
        for row, (number, _, _) in enumerate(self.calls):
            of_id[number].add(row)
        self.left = [set(of_id[number]) for number, *_ in self.work]
        units = Counter(number for number, *_ in self.work)
        self.regular = [units[number] <= len(of_id[number]) for number, *_ in self.work]
        self.late = [
            all(self.calls[row][2] > start for row in left)
            for (_, start, _, _), left in zip(self.work, self.left, strict=True)
        ]
        for unit, left in enumerate(self.left):
            self.regular[unit] &= not self.late[unit]
            if len(left) > 1:
                left -= {row for row in left if self.calls[row][2] > self.work[unit][1]}

    def places(self, level: int) -> list[tuple[int, ...]]:
        return [ran[2 : 3 + level] for ran in self.work]

    def owners(self, level: int, left: list[set[int]]) -> dict[tuple[int, ...], int]:
        """Level 0 is devices, 1 streams."""
        inside = defaultdict(list)
        for unit, place in enumerate(self.places(level)):
            if self.regular[unit]:
                inside[place].append(unit)
        owner = {}
        for place, units in inside.items():
            able = [{self.calls[row][1] for row in left[unit]} for unit in units]
            common = set.intersection(*able)
            ids = [self.work[unit][0] for unit in units]
            if len(common) == 1 and len(set(ids)) == len(ids):
                owner[place] = common.pop()
        return owner

    def strike_foreign(self, level: int, left: list[set[int]]) -> bool:
        owner, struck = self.owners(level, left), False
        for unit, place in enumerate(self.places(level)):
            if place in owner:
                keep = {row for row in self.left[unit] if self.calls[row][1] == owner[place]}
                struck |= keep != self.left[unit]
                self.left[unit] = keep
        return struck

    def strike_taken(self) -> bool:
        sure = [self.regular[u] and len(left) == 1 for u, left in enumerate(self.left)]
        taken = {row for unit, left in enumerate(self.left) if sure[unit] for row in left}
        struck = False
        for unit, left in enumerate(self.left):
            if not sure[unit] and left & taken:
                self.left[unit], struck = left - taken, True
        return struck

    def settle(self) -> None:
        while (
            self.strike_taken()
            or self.strike_foreign(0, self.left)
            or self.strike_foreign(1, self.left)
        ):
            pass

    def keep_order(self) -> None:
        contested = [self.regular[u] and len(left) > 1 for u, left in enumerate(self.left)]
        order: dict[int, int] = {}
        for number in {ran[0] for ran in self.work}:
            units = [u for u, ran in enumerate(self.work) if ran[0] == number and contested[u]]
            rows = set().union(*(self.left[unit] for unit in units))
            in_time = sorted(rows, key=lambda row: (self.calls[row][2], row))
            units.sort(key=lambda unit: (self.work[unit][1], unit))
            pairs = list(zip(units, in_time, strict=False))
            if len(units) == len(rows) and all(row in self.left[unit] for unit, row in pairs):
                order |= dict(pairs)
        supposed = [{order[u]} if u in order else left for u, left in enumerate(self.left)]
        self.strike_foreign(0, supposed)
        self.strike_foreign(1, supposed)
        streams = defaultdict(list)
        for unit in order:
            number = self.work[unit][0]
            same_id = [u for u in order if self.work[u][0] == number]
            if len({self.work[u][2:] for u in same_id}) == 1:
                streams[self.work[unit][2:]].append(unit)
        for units in streams.values():
            units.sort(key=lambda unit: (self.work[unit][1], unit))
            starts = [self.calls[order[unit]][2] for unit in units]
            if starts == sorted(starts):
                for unit in units:
                    self.left[unit] &= {order[unit]}

    def answer(self) -> list[int | str | None]:
        self.settle()
        self.keep_order()
        self.settle()
        owner = self.owners(0, self.left)
        for unit, left in enumerate(self.left):
            place = self.places(0)[unit]
            if self.late[unit] and {self.calls[row][1] for row in left} != {owner.get(place)}:
                left.clear()
        return [
            self.calls[min(left)][1] if len(left) == 1 else "?" if left else None
            for left in self.left
        ]


small = st.integers(0, 12)
all_calls = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 2), small),
    max_size=8,
    unique_by=lambda call: call[:2],
)
all_work = st.lists(
    st.tuples(st.integers(1, 3), small, st.integers(0, 2), st.integers(0, 1)), max_size=8
)


@given(all_calls, all_work)
def test_as_the_rules_reread(calls: list[Call], work: list[Ran]) -> None:
    assert inferred(calls, work) == Reference(calls, work).answer()


# --- a job whose truth is known -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_job_of_four_ranks_in_one_file(seed: int) -> None:
    """Ranks launch the same ids at nearly the same times, run ahead of their devices, and wait for
    them now and then; the first few launches lie before the recording."""
    chance = random.Random(seed)
    calls: list[Call] = []
    work: list[Ran] = []
    truth: list[int | None] = []
    for rank in range(4):
        host = device = chance.randrange(3_000)
        for number in range(1, 301):
            host += chance.randrange(2_000, 12_000)
            device = max(device, host + chance.randrange(3_000, 6_000))
            if number > 5 + rank:
                calls.append((number, rank, host))
            work.append((number, device, rank, 7 + number % 2))
            truth.append(rank if number > 5 + rank else None)
            device += chance.randrange(1_000, 14_000)
            if number % 50 == 0:
                host = device
    answer = inferred(calls, work)
    wrong = [
        (said, true) for said, true in zip(answer, truth, strict=True) if said not in {true, "?"}
    ]
    assert not wrong
    assert answer.count("?") <= 20
