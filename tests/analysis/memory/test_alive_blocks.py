"""What is alive at a moment, and how much of each category, against replaying every event."""

from __future__ import annotations

import random

import numpy as np

from tests.helpers import traces as t
from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.earlier import Earlier
from torch_tb_profiler.analysis.memory.levels import category_levels, known_levels
from torch_tb_profiler.analysis.memory.live_allocations import last_record, live_after, total_after
from torch_tb_profiler.analysis.memory.records import memory_records

EARLIER = 1000


def allocator_events(chance: random.Random, count: int) -> list[t.Event]:
    """Events of two allocators that count right, some blocks of theirs older than the recording."""
    live: list[dict[int, int]] = [{10**6 + k: 100 for k in range(EARLIER // 100)} for _ in range(2)]
    events: list[t.Event] = [
        t.op("aten::mm", 0, 10 * count, shape=[[2, 2], [2, 2]]),
    ]
    time = 0
    for number in range(count):
        time += chance.choice([0, 1, 3])
        device = chance.randrange(2)
        blocks = live[device]
        if blocks and chance.random() < 0.5:
            address = chance.choice([*blocks])
            size = -blocks.pop(address)
        else:
            address, size = number, chance.choice([8, 16, 600])
            blocks[address] = size
        total = sum(blocks.values())
        events.append(
            t.memory(time, size, address=address, device=device, allocated=total, reserved=4000)
        )
    return events


def test_what_is_alive_at_a_thousand_random_times_equals_a_replay() -> None:
    chance = random.Random(16)
    for _ in range(10):
        events = allocator_events(chance, 300)
        trace = t.trace(events)
        records, blocks = memory_records(trace), memory_blocks(trace)
        memory = [event for event in events if event["ph"] == "i"]
        for _ in range(100):
            at = chance.randrange(-1, 700)
            live: list[dict[int, int]] = [{}, {}]
            total = [EARLIER, EARLIER]
            for event in memory:
                if event["ts"] > at:
                    continue
                told = event["args"]
                total[told["Device Id"]] = told["Total Allocated"]
                if told["Bytes"] > 0:
                    live[told["Device Id"]][told["Addr"]] = told["Bytes"]
                else:
                    live[told["Device Id"]].pop(told["Addr"], None)
            record = last_record(records, trace.meta.base_ns + at * 1000)
            for device in range(2):
                rows = np.flatnonzero(live_after(records, device, record))
                assert sorted(records.size_bytes[rows]) == sorted(live[device].values())
                assert total_after(records, device, record) == total[device]
                known = known_levels(trace, device, np.array([record]))[:, 0]
                by_category = [0] * len(CATEGORY_NAMES)
                for row in rows.tolist():
                    by_category[blocks.category[row]] += int(records.size_bytes[row])
                assert known.tolist() == by_category


def test_levels_add_up_to_the_total_with_what_was_there_before() -> None:
    known = np.array([[5, 0], [0, 7], [0, 0], [0, 0], [0, 0], [1, 1], [0, 0]])
    levels = category_levels(known, np.array([100, 20]), Earlier(60, 30))
    assert levels.sum(axis=0).tolist() == [100, 20]
    assert levels[:, 0].tolist() == [65, 0, 30, 0, 0, 1, 4]
    assert levels[:, 1].tolist() == [12, 7, 0, 0, 0, 1, 0]


def test_a_total_below_what_is_known_makes_no_negative_rest() -> None:
    known = np.full((7, 1), 10)
    assert category_levels(known, np.array([30]), Earlier()).sum() == 70
