"""What exceeds the budget is cut before a trace is built, and a quality note says so."""

from __future__ import annotations

import pytest

from tests.helpers.traces import columns, kernel, op, trace
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.limiting import OTHER_NAMES, keep_within_budget
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns


def limited(events: EventColumns, limits: str, monkeypatch: pytest.MonkeyPatch) -> EventColumns:
    monkeypatch.setenv(LIMITS_VARIABLE, limits)
    keep_within_budget(events)
    return events


def test_tracks_with_the_fewest_events_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [op("busy", at, 1, tid=tid, stack="f") for tid in (3, 5) for at in range(0, 40, 4)]
    idle = [op("idle", 2, 1, tid=tid, stack=f"f{tid}") for tid in range(10, 30)]
    work = [kernel("k", at, 2, stream=7) for at in range(9)]
    built = build_trace(limited(columns([*idle, *busy, *work]), "tracks=3", monkeypatch))
    assert [built.quality.counts[code] for code in ("tracks_left_out",)] == [20]
    expected = trace([*busy, *work])
    names = [[each.text(code) for code in each.slices["name_code"]] for each in (built, expected)]
    assert names[0] == names[1]
    assert built.operators.height == expected.operators.height == len(busy)
    assert built.device_work["device"].to_list() == expected.device_work["device"].to_list()
    assert built.tracks.height == 3


def test_the_rarest_names_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    often = [op(f"often{n}", n * 10 + at, 1) for n in range(3) for at in (0, 2, 4)]
    rare = [op(f"rare{n}", 1000 + n * 2, 1) for n in range(20)]
    events = limited(columns([*rare, *often]), "names=6", monkeypatch)
    slices = events.tables["slices"]
    names = [events.strings[code] for code in slices["name_code"].tolist()]
    assert names == ["rare#"] * 20 + [f"often{n}" for n in range(3) for _ in range(3)]
    assert events.quality.counts["names_merged"] == 20


def test_names_of_kernels_have_a_limit_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [kernel(f"k{n}", n * 10, 1) for n in range(20)]
    operators = [op(f"op{n}", n * 10, 1) for n in range(20)]
    events = limited(columns([*kernels, *operators]), "kernel_names=4", monkeypatch)
    codes = events.tables["slices"]["name_code"].tolist()
    names = [events.strings[code] for code in codes]
    assert names == ["k0", "k1", *["k#"] * 18, *(f"op{n}" for n in range(20))]


def test_names_without_numbers_have_one_name_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = [op(f"{chr(97 + n)}x", n * 10, 1) for n in range(20)]
    events = limited(columns(letters), "names=6", monkeypatch)
    codes = events.tables["slices"]["name_code"].tolist()
    names = [events.strings[code] for code in codes]
    assert len(set(names)) <= 7
    assert names.count(OTHER_NAMES) == 14


@pytest.mark.parametrize("limits", ["stack_frames=3", "all_stack_frames=6"])
def test_stacks_lose_their_outermost_frames(limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stacks = ["inner;middle;outer;main;start", "a;b", "c"]
    events = columns([op("x", at, 1, stack=stack) for at, stack in enumerate(stacks)])
    events = limited(events, limits, monkeypatch)
    codes = events.tables["operator"]["call_stack_code"].tolist()
    assert [events.strings[code] for code in codes] == ["inner;middle;outer", "a;b", "c"]
    assert events.quality.counts["stacks_cut"] == 1


def test_the_longest_texts_are_cut_where_all_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a" * 900, "b" * 800, "b" * 700 + "c", "d" * 600, "e" * 10]
    events = columns([op(name, at, 1) for at, name in enumerate(names)])
    total = sum(map(len, events.strings))
    assert total >= sum(map(len, names))
    events = limited(events, f"all_text_chars={total - 1400}", monkeypatch)
    codes = events.tables["slices"]["name_code"].tolist()
    texts = [events.strings[code] for code in codes]
    assert texts[:2] == ["a" * 199 + "…", "b" * 199 + "…"]
    assert texts[2] == "b" * 199 + "… (2)", "texts that differ do so afterwards"
    assert texts[3:] == names[3:], "shorter ones are as they were"
    assert events.quality.counts["texts_cut"] == 3
    assert "all_text_chars=NUMBER" in events.quality.examples["texts_cut"][0]


def test_texts_within_the_limit_of_all_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    events = columns([op(letter * 900, at, 1) for at, letter in enumerate("abc")])
    before = list(events.strings)
    limit = sum(map(len, before))
    events = limited(events, f"all_text_chars={limit}", monkeypatch)
    assert (events.strings, events.quality.counts) == (before, {})


def test_texts_that_nothing_refers_to_are_cut_first(monkeypatch: pytest.MonkeyPatch) -> None:
    events = columns([op("a" * 900, 0, 1)])
    events.strings.append("unused" * 100)
    limit = sum(map(len, events.strings)) - 400
    events = limited(events, f"all_text_chars={limit}", monkeypatch)
    code = int(events.tables["slices"]["name_code"][0])
    assert (events.strings[code], events.quality.counts) == ("a" * 900, {})


def test_an_ordinary_trace_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    events = limited(columns([op("x", 0, 1, stack="f;g"), kernel("k", 1, 2)]), "", monkeypatch)
    assert events.quality.counts == {}
    assert len(events.tables["slices"]["name_code"]) == 2
