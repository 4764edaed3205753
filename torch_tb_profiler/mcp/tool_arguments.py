"""The arguments of tools: declared once, as a JSON schema for agents and as checks here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.requests.parameters import MAX_TEXT

ArgumentType = Literal["string", "integer", "number", "object"]

_MAX_KEYS = 40
"""Entries of an object: more than there are parameters of a view."""


class ToolArgument(Struct, frozen=True):
    """The declaration of one argument.

    Attributes:
        name: Its name.
        description: What it means, with an example; agents read nothing else.
        type: Its type; values of an object are texts.
        default: Its value where it is left out; None of an argument that must be given, and of
            a number that may be left out.
        is_required: Whether it must be given.
        minimum, maximum: Bounds of a number.
        max_length: Characters of a text.
    """

    name: str
    description: str
    type: ArgumentType = "string"
    default: str | int | float | None = ""
    is_required: bool = False
    minimum: int | float | None = None
    maximum: int | float | None = None
    max_length: int = MAX_TEXT

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema: dict[str, Any] = {"type": self.type, "description": self.description}
        if self.type == "object":
            schema["additionalProperties"] = {"type": "string"}
        if not self.is_required and self.default is not None and self.type != "object":
            schema["default"] = self.default
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return schema | {key: value for key, value in bounds.items() if value is not None}

    def value(self, given: object) -> Any:
        """The value that was given, checked; numbers may come as texts and the reverse.

        Raises:
            RequestError: it has another type, is too long, or lies outside the bounds.
        """
        if given is None:
            return {} if self.type == "object" else self.default
        if self.type == "string":
            return self._text(given)
        if self.type == "object":
            return self._texts(given)
        return self._number(given)

    def _text(self, given: object) -> str:
        if isinstance(given, int | float) and not isinstance(given, bool):
            given = f"{given}"
        if not isinstance(given, str):
            raise self._problem(f"needs a text, not {_type_name(given)}")
        if len(given) > self.max_length:
            raise self._problem(f"has {len(given):,} characters; {self.max_length:,} are allowed")
        return given

    def _texts(self, given: object) -> dict[str, str]:
        if not isinstance(given, Mapping):
            raise self._problem(f"needs an object of texts, not {_type_name(given)}")
        if len(given) > _MAX_KEYS:
            raise self._problem(f"has {len(given)} entries; {_MAX_KEYS} are allowed")
        return {str(key)[:MAX_TEXT]: self._text(value) for key, value in given.items()}

    def _number(self, given: object) -> int | float:
        number: object = given
        if isinstance(given, str):
            try:
                number = float(given[:40])
            except ValueError:
                number = None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise self._problem(f"needs a number, not {_type_name(given)}")
        is_whole = isinstance(number, int) or (math.isfinite(number) and number == int(number))
        if not is_whole and (self.type == "integer" or not math.isfinite(number)):
            kind = "whole number" if self.type == "integer" else "number"
            raise self._problem(f"{number} is no {kind}")
        number = int(number) if is_whole and self.type == "integer" else number
        low, high = self.minimum, self.maximum
        if (low is not None and number < low) or (high is not None and number > high):
            raise self._problem(f"{number} is not between {low:,} and {high:,}")
        return number

    def _problem(self, text: str) -> RequestError:
        return RequestError("bad_argument", f"{self.name}: {text}.", self.description)


def input_schema(arguments: Iterable[ToolArgument]) -> dict[str, Any]:
    """The JSON schema of all arguments of a tool."""
    arguments = list(arguments)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {each.name: each.schema() for each in arguments},
        "additionalProperties": False,
    }
    required = [each.name for each in arguments if each.is_required]
    if required:
        schema["required"] = required
    return schema


def read_arguments(declared: Iterable[ToolArgument], given: Mapping[str, object]) -> dict[str, Any]:
    """The values of all arguments, those that were left out with their defaults.

    Raises:
        RequestError: an argument is missing or malformed.
        UnknownError: there is no such argument.
    """
    by_name = {each.name: each for each in declared}
    for name in given:
        if name not in by_name:
            raise unknown("argument", name, by_name)
    for each in by_name.values():
        if each.is_required and given.get(each.name) in (None, ""):
            raise RequestError("bad_argument", f"{each.name} is missing.", each.description)
    return {name: each.value(given.get(name)) for name, each in by_name.items()}


def _type_name(given: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(given), "a number" if isinstance(given, int | float) else "nothing")
