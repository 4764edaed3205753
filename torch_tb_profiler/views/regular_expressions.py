"""Regular expressions of filters, matched in time linear in the length of the text.

The syntax is that of Rust's ``regex``, which polars uses: no look-around and no back references,
so that no expression in a link can hang whoever opens it. Matching is stopped after
:data:`MAX_SECONDS` nevertheless, because an expression may compile to megabytes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import polars as pl

MAX_CHARACTERS = 500
MAX_SECONDS = 2.0
_PIECE_CHARACTERS = 1 << 18
"""Characters matched between two checks of the time limit."""
_IGNORING_CASE = "(?i)"
_REASON = re.compile(r"^error: (.+)$", re.MULTILINE)


class ExpressionError(ValueError):
    """A regular expression that is malformed or too expensive."""


def matching(
    values: pl.Series, pattern: str, *, clock: Callable[[], float] = time.monotonic
) -> pl.Series:
    """The ``values`` that contain a match of ``pattern``, ignoring case.

    Args:
        values: Texts, each once, without nulls.
        pattern: The expression.
        clock: Returns seconds.

    Raises:
        ExpressionError: ``pattern`` is malformed, longer than :data:`MAX_CHARACTERS`, or not done
            within :data:`MAX_SECONDS`.
    """
    if len(pattern) > MAX_CHARACTERS:
        raise ExpressionError(
            f"the regular expression has {len(pattern)} characters; at most {MAX_CHARACTERS} are "
            "allowed"
        )
    end = clock() + MAX_SECONDS
    _contains(pl.Series([""]), pattern)  # what is malformed is so without a row, too
    pieces = []
    for piece in _pieces(values):
        pieces.append(piece.filter(_contains(piece, pattern)))
        if clock() > end:
            raise ExpressionError(
                f"{pattern[:80]!r} takes longer than {MAX_SECONDS:g} s; "
                "use fewer or smaller repetitions"
            )
    return pl.concat(pieces) if pieces else values


def _pieces(values: pl.Series) -> list[pl.Series]:
    """``values`` cut where another :data:`_PIECE_CHARACTERS` are full."""
    piece = values.str.len_chars().cum_sum() // _PIECE_CHARACTERS
    texts = pl.DataFrame({"text": values, "piece": piece})
    return [part["text"] for part in texts.partition_by("piece", maintain_order=True)]


def _contains(values: pl.Series, pattern: str) -> pl.Series:
    try:
        return values.str.contains(_IGNORING_CASE + pattern)
    except pl.exceptions.ComputeError as error:
        raise ExpressionError(
            f"{pattern[:80]!r} is not a valid regular expression: {_reason(error)}"
        ) from (None)


def _reason(error: pl.exceptions.ComputeError) -> str:
    text = str(error)
    if "size limit" in text:
        return "its repetitions make it too large"
    match = _REASON.search(text)
    return match.group(1) if match else "it cannot be parsed"
