"""What may differ between recordings: every text can be filled, every rule takes its examples."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.surroundings import (
    can_be_one_version,
    kinds_of_times,
    surroundings,
    torch_versions,
)


def test_every_aspect_with_a_note_has_a_text() -> None:
    aspects = surroundings().aspects
    assert len({aspect.kind for aspect in aspects}) == len(aspects)
    for aspect in aspects:
        text = aspect.text.format(baseline="THIS", candidate="THAT")
        assert (aspect.effect == "shown") == (text == ""), aspect.kind
        if text:
            assert "THIS" in text, aspect.kind
            assert "THAT" in text, aspect.kind
            assert ("no confidence" in text) == (aspect.effect == "times"), aspect.kind


def test_what_forbids_to_compare_times() -> None:
    assert set(kinds_of_times()) == {
        "device",
        "device_count",
        "world_size",
        "batch",
        "shapes",
        "precision",
        "work",
        "steps",
        "quality",
    }


def test_inputs_that_begin_with_the_batch() -> None:
    for rule in surroundings().batch_inputs:
        assert rule.examples
        for name in rule.examples:
            assert re.fullmatch(rule.pattern, name), name


@pytest.mark.parametrize(
    ("marks", "versions"),
    [
        ({"capital_categories", "shapes"}, "1.8"),
        ({"capital_categories", "shapes", "input_types"}, "1.9"),
        ({"capital_categories"}, "1.8 or 1.9"),
        ({"lower_categories", "shapes", "input_types"}, "1.10 to 1.13"),
        ({"lower_categories"}, "1.10 to 2.3"),
        ({"lower_categories", "shapes", "input_types", "settings"}, "2.0"),
        ({"lower_categories", "settings"}, "2.0 to 2.3"),
        ({"lower_categories", "settings", "concrete_inputs"}, "2.1 to 2.3"),
        ({"lower_categories", "record_function_ids"}, "2.4 or newer"),
        ({"lower_categories", "shapes", "graph_nodes"}, "2.15 or newer"),
        (set(), None),
    ],
)
def test_versions_of_torch_by_how_a_trace_is_written(marks: set[str], versions: str | None) -> None:
    assert torch_versions(marks) == versions


@pytest.mark.parametrize(
    ("a", "b", "is_possible"),
    [
        ("1.10 to 2.3", "2.0", True),
        ("1.8 or 1.9", "1.9", True),
        ("2.4 or newer", "2.4 or newer", True),
        ("2.1 to 2.3", "2.4 or newer", False),
        ("1.10 to 1.13", "2.0", False),
        ("1.9", "1.10 to 1.13", False),
    ],
)
def test_ranges_that_overlap_may_be_of_one_version(a: str, b: str, is_possible: bool) -> None:
    assert can_be_one_version(a, b) == can_be_one_version(b, a) == is_possible


def test_every_layout_has_versions() -> None:
    for layout in surroundings().layouts:
        assert can_be_one_version(layout.text, layout.text)
