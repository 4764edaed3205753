"""The answer about the arguments that the slices of a file have."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.views import TraceRef


class ArgumentPayload(Struct, frozen=True):
    """One argument.

    Attributes:
        name: Its name.
        count: Slices that have it, among those that were looked at.
        numbers: Of these, how many have a number; others have text, lists or objects.
        example: JSON text of one value; None if it may be a secret.
        categories: Category as in the file → slices.
        in_model: Whether the trace has a column of it anyway.
        is_read: Whether the open trace has it as an argument, so that tables have columns of it.
    """

    name: str
    count: int
    numbers: int
    example: str | None
    categories: dict[str, int]
    in_model: bool
    is_read: bool


class ArgumentNamesAnswer(Answer, kw_only=True):
    """``/arguments``: the arguments that slices have, the most frequent first.

    ``slices`` were looked at, not all of them where ``is_sample``. ``can_read`` says whether others
    than those that are read can be requested; ``problem`` why the file could not be looked at.
    """

    trace: TraceRef
    arguments: list[ArgumentPayload]
    slices: int
    is_sample: bool
    can_read: bool
    problem: Problem | None
