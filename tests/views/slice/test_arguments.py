"""What is shown of arguments as the file has them: bounded in number and size, no secrets."""

from __future__ import annotations

import json

from torch_tb_profiler.views.slice.arguments import (
    MAX_ARGUMENTS,
    MAX_SEARCHED_CHARS,
    MAX_VALUE_CHARS,
    RecordedArgument,
    recorded_arguments,
)


def test_texts_are_told_as_they_read_and_the_rest_as_json() -> None:
    given = {"stack": '"a\\n<b>"', "id": "18446744073709551615", "dims": "[[2, 3], []]"}
    assert recorded_arguments(given, {"id"}) == [
        RecordedArgument("stack", "a\n<b>", is_text=True, chars=5, in_model=False),
        RecordedArgument("id", "18446744073709551615", is_text=False, chars=20, in_model=True),
        RecordedArgument("dims", "[[2, 3], []]", is_text=False, chars=12, in_model=False),
    ]


def test_secrets_are_named_and_not_told() -> None:
    (actual,) = recorded_arguments({"HF_TOKEN": '"abc"'}, ())
    assert (actual.name, actual.text) == ("HF_TOKEN", None)


def test_number_and_size_are_bounded() -> None:
    many = {f"key{number}": "1" for number in range(MAX_ARGUMENTS + 50)}
    assert len(recorded_arguments(many, ())) == MAX_ARGUMENTS
    (long,) = recorded_arguments({"x" * 1000: json.dumps("y" * (MAX_VALUE_CHARS + 1))}, ())
    assert long.text == "y" * MAX_VALUE_CHARS
    assert long.chars == MAX_VALUE_CHARS + 1
    assert len(long.name) < 1000
    (huge,) = recorded_arguments({"x": json.dumps("y" * MAX_SEARCHED_CHARS)}, ())
    assert huge.text is None


def test_a_lone_surrogate_can_be_encoded() -> None:
    (actual,) = recorded_arguments({"x": '"\\ud800 and more"'}, ())
    assert actual.text is not None
    actual.text.encode()
