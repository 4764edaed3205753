"""Cases: defaults; numbers as texts and the reverse; each refusal says what is wrong with which
argument; the schema is what the checks accept."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from torch_tb_profiler.mcp.registry import TOOLS
from torch_tb_profiler.mcp.tool_arguments import ToolArgument, input_schema, read_arguments
from torch_tb_profiler.requests.errors import LoadingError

DECLARED = (
    ToolArgument("name", "A name.", is_required=True),
    ToolArgument("limit", "Rows.", "integer", 20, minimum=1, maximum=100),
    ToolArgument("share", "A share.", "number", None),
    ToolArgument("others", "Others.", "object"),
)


def test_defaults() -> None:
    assert read_arguments(DECLARED, {"name": "a"}) == {
        "name": "a",
        "limit": 20,
        "share": None,
        "others": {},
    }


def test_numbers_may_be_texts_and_texts_numbers() -> None:
    given = {"name": 5, "limit": "30", "share": "0.5", "others": {"at_us": 1.5}}
    assert read_arguments(DECLARED, given) == {
        "name": "5",
        "limit": 30,
        "share": 0.5,
        "others": {"at_us": "1.5"},
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "name is missing."),
        ({"name": ""}, "name is missing."),
        ({"name": ["a"]}, "name: needs a text, not a list."),
        ({"name": True}, "name: needs a text, not true or false."),
        ({"name": "a" * 1_000_000}, "name: has 1,000,000 characters; 4,096 are allowed."),
        ({"name": "a", "limit": 0}, "limit: 0 is not between 1 and 100."),
        ({"name": "a", "limit": 101}, "limit: 101 is not between 1 and 100."),
        ({"name": "a", "limit": 1.5}, "limit: 1.5 is no whole number."),
        ({"name": "a", "limit": "many"}, "limit: needs a number, not a text."),
        ({"name": "a", "limit": False}, "limit: needs a number, not true or false."),
        ({"name": "a", "limit": 1e400}, "limit: inf is no whole number."),
        ({"name": "a", "share": float("nan")}, "share: nan is no number."),
        ({"name": "a", "others": []}, "others: needs an object of texts, not a list."),
        ({"name": "a", "others": {"b": []}}, "others: needs a text, not a list."),
        ({"name": "a", "others": dict.fromkeys("abcdefg" * 9)}, None),
        ({"name": "a", "others": {str(n): "" for n in range(41)}}, "others: has 41 entries"),
        ({"name": "a", "nmae": "a"}, "There is no argument 'nmae'."),
    ],
)
def test_refusals(given: dict[str, Any], message: str | None) -> None:
    with pytest.raises(LoadingError) as caught:
        read_arguments(DECLARED, given)
    assert (message or "others: needs a text") in caught.value.problem.message
    assert caught.value.problem.hint


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(LoadingError) as caught:
        read_arguments(DECLARED, {"nmae": "a"})
    assert caught.value.problem.hint == "Did you mean name?"


def test_schemas_are_valid_and_closed() -> None:
    for tool in TOOLS.values():
        schema = input_schema(tool.arguments)
        Draft202012Validator.check_schema(schema)
        required = dict.fromkeys(schema.get("required", []), "x")
        Draft202012Validator(schema).validate(required)
        assert not Draft202012Validator(schema).is_valid({**required, "path": "/etc"})
        assert all(each["description"] for each in schema["properties"].values())
        assert not {"path", "file", "folder", "url"} & set(schema["properties"])


def test_the_schema_accepts_what_the_checks_accept() -> None:
    validator = Draft202012Validator(input_schema(DECLARED))
    good: list[dict[str, Any]] = [{"name": "a", "limit": 5}, {"name": "a", "others": {"b": "c"}}]
    bad: list[dict[str, Any]] = [{"limit": 5}, {"name": "a", "limit": 0}, {"name": "a", "more": 1}]
    for given in good:
        validator.validate(given)
        read_arguments(DECLARED, given)
    for given in bad:
        assert not validator.is_valid(given)
        with pytest.raises(LoadingError):
            read_arguments(DECLARED, given)
