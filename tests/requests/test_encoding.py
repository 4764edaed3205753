"""Every answer begins with the version of the shapes; what JSON cannot write is null or "?"."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import msgspec
import pytest

from torch_tb_profiler.requests import general, runs, slices, timeline, views
from torch_tb_profiler.requests.encoding import SCHEMA_VERSION, Answer, encode

MODULES = (general, runs, slices, timeline, views)
ANSWERS = [
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Answer) and kind is not Answer
]


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    values: tuple[float | None, ...]


class Demo(Answer, kw_only=True):
    part: Part
    more: dict[str, object]
    rest: str | msgspec.UnsetType = msgspec.UNSET


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_version_comes_first(kind: type[Answer]) -> None:
    assert kind.__struct_fields__[0] == "schema_version"


def test_dataclasses_are_encoded_as_declared_and_what_is_unset_is_left_out() -> None:
    answer = Demo(part=Part("a", (1.5, None)), more={})
    assert encode(answer) == (
        b'{"schema_version":%d,"part":{"name":"a","values":[1.5,null]},"more":{}}' % SCHEMA_VERSION
    )


def test_numbers_json_has_none_for_are_null() -> None:
    answer = Demo(part=Part("a", (math.nan, math.inf, -math.inf)), more={"x": math.nan}, rest="r")
    decoded = json.loads(encode(answer))
    assert decoded["part"]["values"] == [None, None, None]
    assert decoded["more"] == {"x": None}
    assert decoded["rest"] == "r"


def test_surrogates_become_question_marks_wherever_they_stand() -> None:
    answer = Demo(part=Part("a\udcff", (1.0,)), more={"k\udc80": ["\ud800", (math.nan, {})]})
    decoded = json.loads(encode(answer))
    assert decoded["part"] == {"name": "a?", "values": [1.0]}
    assert decoded["more"] == {"k?": ["?", [None, {}]]}
