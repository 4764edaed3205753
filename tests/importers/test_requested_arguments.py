"""Names of requested arguments, as people write them and as part of a cache key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.protocol import ReadOptions
from torch_tb_profiler.importers.requested_arguments import (
    MAX_NAMES,
    checked_names,
    parse_argument_names,
)

names = st.lists(st.text(min_size=1, max_size=20), max_size=5).map(checked_names)


@examples(200)
@given(names, st.booleans(), st.booleans())
def test_options_survive_as_a_variant(
    arguments: tuple[str, ...], frames: bool, has_part: bool
) -> None:
    part = RecordingPart.parse("steps", "3:5") if has_part else None
    options = ReadOptions(frames, part, arguments)
    assert ReadOptions.from_variant(options.variant) == options


def test_a_request_is_the_same_in_any_order() -> None:
    assert parse_argument_names(" b ,a,, b") == ("a", "b")
    assert ReadOptions(arguments=parse_argument_names("b,a")) == ReadOptions(arguments=("a", "b"))
    assert parse_argument_names(r"x\,y,z") == ("x,y", "z")
    assert ReadOptions().variant == ""


def test_too_many_or_too_long_names_are_refused() -> None:
    with pytest.raises(ValueError, match="51 arguments"):
        parse_argument_names(",".join(f"a{number}" for number in range(MAX_NAMES + 1)))
    with pytest.raises(ValueError, match="characters"):
        parse_argument_names("x" * 201)
