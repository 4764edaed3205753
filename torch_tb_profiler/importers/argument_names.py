"""Names of the arguments that the slices of a file have, so that people can choose some to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

MAX_LISTED = 1000
"""Names beyond this are not listed, the rarest first."""


class ListingLimits(NamedTuple):
    """Where a listing stops: after so much unpacked text, or so much time."""

    text_bytes: int
    seconds: float


class ArgumentSample(Struct):
    """What was seen of one argument.

    Attributes:
        count: Slices that have it.
        numbers: Of these, how many have a number.
        example: JSON text of its first value; None if it may be a secret.
        categories: Category as in the file → slices.
    """

    count: int = 0
    numbers: int = 0
    example: str | None = None
    categories: dict[str, int] = field(default_factory=dict)


class ArgumentListing(Struct, frozen=True):
    """The arguments of a file.

    Attributes:
        arguments: Name → what was seen of it.
        in_model: The names among them that the trace has columns for.
        slice_count: How many slices were looked at.
        is_sample: Whether these are only some of the file's slices.
    """

    arguments: Mapping[str, ArgumentSample]
    in_model: frozenset[str]
    slice_count: int
    is_sample: bool
