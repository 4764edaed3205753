"""Cases: memory in use by metadata equals sums over a simulated allocator."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from typing import Any

import pytest

from tests.helpers.snapshots import simulated, trace_of
from torch_tb_profiler.analysis.memory.snapshot.metadata import metadata_items, size_by_metadata
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.snapshot.view import snapshot

PHASES = ("", "forward", "backward", json.dumps({"phase": "forward", "layer": 3}))


def annotated(seed: int) -> tuple[Trace, list[str], list[dict[int, int]], list[Any]]:
    """A trace, the text of each event, what is in use after it, and the events."""
    chance = random.Random(seed)
    whole, (states,) = simulated(seed, events=400, extra=True)
    texts = []
    for entry in whole["device_traces"][0]:
        entry["user_metadata"] = chance.choice(PHASES)
        texts.append(entry["user_metadata"])
    return trace_of(pickle.dumps(whole)), texts, states, whole["device_traces"][0]


@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_the_allocator(seed: int) -> None:
    trace, texts, states, events = annotated(seed)
    (moments,) = device_moments(trace)
    for row in (moments.peak, moments.last, 17):
        text_of: dict[int, str] = {}
        for number in range(row + 1):
            if events[number]["action"] == "alloc":
                text_of[events[number]["addr"]] = texts[number]
        wanted: Counter[tuple[str | None, str | None]] = Counter()
        for address, size in states[row].items():
            items = metadata_items(text_of[address]) if text_of[address] else ((None, None),)
            for item in items:
                wanted[item] += size
        rows = size_by_metadata(trace, moments, row)
        here = {(key, value): size for _, key, value, size, _, _ in rows.iter_rows()}
        assert here == {key: size for key, size in wanted.items() if size}


def test_the_table_of_the_view() -> None:
    trace, texts, *_ = annotated(1)
    table = snapshot(trace, Selection()).tables["by_metadata"]
    moments = table.frame["moment"].unique().to_list()
    assert sorted(moments) == ["end", "peak"]
    assert set(table.frame["key"].unique()) == {None, "", "phase", "layer"}
    history = snapshot(trace, Selection()).tables["history"]
    assert history.frame["metadata"].fill_null("").to_list() == texts


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("forward", (("", "forward"),)),
        ('{"phase": "a", "n": 3, "deep": [1]}', (("phase", "a"), ("n", "3"), ("deep", "[1]"))),
        ("[1, 2]", (("", "[1, 2]"),)),
        ("{}", ()),
        ("[" * 100_000, (("", "[" * 200),)),
    ],
)
def test_items(text: str, items: tuple[tuple[str, str], ...]) -> None:
    assert metadata_items(text) == items
