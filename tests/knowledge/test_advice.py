"""The advice file: complete entries, format strings that name only values detectors give."""

from __future__ import annotations

import re
import string

import pytest

from torch_tb_profiler.knowledge.advice import AdviceEntry, entries, entry

UNITS = {"pct", "count", "ratio"}


@pytest.mark.parametrize("known", entries().values(), ids=lambda known: known.code)
def test_an_entry_is_complete(known: AdviceEntry) -> None:
    assert known.unit in UNITS
    assert known.title
    assert "default" in known.texts
    assert all(link.startswith("https://") for link in known.links)
    for text in known.texts.values():
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        assert all(name.isidentifier() for name in fields), "values only, no attributes or items"


def test_the_predecessors_seven_rules_are_there() -> None:
    assert sorted(known.rule for known in entries().values() if known.rule) == list(range(1, 8))


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(KeyError):
        entry("no_such_advice")


def test_no_text_uses_1_with_a_plural() -> None:
    """A count in front of its word needs a text of its own for 1, ``one``."""
    for known in entries().values():
        for text in known.texts.values():
            assert "one" in known.texts or not re.search(r"\{calls\} [a-z]", text), known.code


def test_texts_for_other_recorders_name_no_options_of_torch_profiler() -> None:
    words = ("record_function", "with_stack", "prof.step", "schedule(", "stacks and shapes")
    for known in entries().values():
        for variant, text in (known.texts | known.elsewhere).items():
            assert not [word for word in words if word in text], (known.code, variant)
