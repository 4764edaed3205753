"""The grammar in which people write steps; one for page, command line and API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.analysis.selection import SHOWN_CHARACTERS, SelectionError
from torch_tb_profiler.trace.columns import Bools

HOW_TO_WRITE = "write 5, 3-5, 3,5:8, first 3, last 3 or the name of a step"
_LISTED = 5
"""Steps that an error lists before the last one."""

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_NOUN = re.compile(r"(?:(?:profiler)?steps?|iterations?)\s*#?\s*|#\s*", re.IGNORECASE)
_END = re.compile(r"(first|last)(?:\s*([0-9]{1,18}))?(?:\s+(?:steps?|iterations?))?", re.IGNORECASE)
_RANGE = re.compile(
    r"(-?[0-9]{1,18})?\s*(?::|\.\.\.?|…|-|–|—|\bto\b)\s*(-?[0-9]{1,18})?",
    re.IGNORECASE,
)


def parse_steps(text: str, names: Sequence[str], complete: Bools | None = None) -> Bools:
    """Which of the steps called ``names`` are meant: step names, ranges with both ends included
    (``3-5``, ``3:5``, ``3..5``, ``3 to 5``, ``3:``), ``first N``, ``last N``, ``all``; several
    with commas. The name of a step always means that step.

    Args:
        text: What a person wrote; ``step`` before it is ignored.
        names: Names of the steps in time order; steps of several processes may share one.
        complete: Whether each was recorded to its end: ``first N`` and ``last N`` count these,
            where there are any.

    Raises:
        SelectionError: it is malformed, or means no step; the message says how to write it.
    """
    known = np.array(names, np.object_)
    whole = known == text.strip()
    if whole.any():
        return np.asarray(whole, np.bool_)
    mask = np.zeros(len(names), np.bool_)
    counted = known if complete is None or not complete.any() else known[complete]
    for part in re.split("[,;]", text):
        mask |= _part(part.strip(), known, list(dict.fromkeys(counted.tolist())))
    return mask


def _part(text: str, known: np.ndarray[Any, Any], counted: list[str]) -> Bools:
    bare = _NOUN.sub("", text, count=1) if _NOUN.match(text) else text
    end, bounds = _END.fullmatch(bare), _RANGE.fullmatch(bare)
    shown = text[:SHOWN_CHARACTERS]
    hits = known == text
    if hits.any() or (hits := known == bare).any():
        pass
    elif bare.lower() == "all":
        hits = np.ones(len(known), np.bool_)
    elif end is not None:
        count = 1 if end[2] is None else int(end[2])
        if count == 0:
            raise SelectionError(f"steps: {shown!r} selects no step; {HOW_TO_WRITE}")
        chosen = counted[:count] if end[1].lower() == "first" else counted[-count:]
        hits = np.isin(known, np.array(chosen, np.object_))
    elif bounds is not None:
        first, last = (None if each is None else int(each) for each in bounds.groups())
        if first is not None and last is not None and first > last:
            raise SelectionError(f"steps: {shown!r} ends before it begins")
        hits = np.array([_is_within(name, first, last) for name in known], np.bool_)
    elif not _NUMBER.fullmatch(bare):
        raise SelectionError(
            f"steps: {shown!r} is not understood; {HOW_TO_WRITE}. {_known_steps(known)}"
        )
    if not hits.any():
        raise SelectionError(f"steps: there is no step {shown!r}. {_known_steps(known)}")
    return np.asarray(hits, np.bool_)


def _is_within(name: str, first: int | None, last: int | None) -> bool:
    if not _NUMBER.fullmatch(name):
        return False
    number = int(name)
    return (first is None or number >= first) and (last is None or number <= last)


def _known_steps(known: np.ndarray[Any, Any]) -> str:
    names = [name[:SHOWN_CHARACTERS] for name in dict.fromkeys(known.tolist())]
    if not names:
        return "The recording has no steps"
    more = f" … {names[-1]}" if len(names) > _LISTED else ""
    noun = "step" if len(names) == 1 else "steps"
    return f"The recording has {noun} {', '.join(names[:_LISTED])}{more}"


def format_steps(names: Sequence[str]) -> str:
    """The shortest text that means the steps called ``names``: ``3:5,8``."""
    texts: list[str] = []
    run: list[int] = []

    def end_run() -> None:
        if run:
            texts.append(str(run[0]) if len(run) == 1 else f"{run[0]}:{run[-1]}")
            run.clear()

    for name in dict.fromkeys(names):
        number = int(name) if _NUMBER.fullmatch(name) and str(int(name)) == name else None
        if number is None or (run and number != run[-1] + 1):
            end_run()
        if number is None:
            texts.append(name)
        else:
            run.append(number)
    end_run()
    return ",".join(texts)
