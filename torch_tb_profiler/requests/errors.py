"""What goes wrong between a request and its answer, told so that a user can act on it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct


class Explained(Protocol):
    """An error of any room with its code, its text and the next step."""

    @property
    def code(self) -> str:
        """Stable name."""

    @property
    def message(self) -> str:
        """What and why."""

    @property
    def hint(self) -> str | None:
        """The next step."""


class Problem(Struct, frozen=True):
    """What went wrong, for programs and for people."""

    code: str
    message: str
    hint: str | None = None

    @classmethod
    def of(cls, error: Explained) -> Problem:
        """The same of an error of another room."""
        return cls(error.code, error.message, error.hint)


class LoadingError(Exception):
    """Base of the errors of this package; ``problem`` is safe to show."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, hint)


class OpenError(LoadingError):
    """A file that could not be opened. The message names file and cause."""

    @classmethod
    def of(cls, error: Explained) -> OpenError:
        """The same of an error of another room."""
        return cls(error.code, error.message, error.hint)


class RequestError(LoadingError):
    """A parameter that cannot be understood."""


class UnknownError(LoadingError):
    """A run, worker, span, view or table that does not exist."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownError:
    """The error for a ``kind`` nobody knows by ``name``, with the nearest of those ``known``."""
    names = list(known)
    near = difflib.get_close_matches(name[:200], names[:2000], n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        hint = f"There are: {', '.join(names[:8])}{more}."
    else:
        hint = f"There is no {kind.replace('_', ' ')} at all."
    shown = name if len(name) <= 80 else name[:79] + "…"
    label = kind.replace("_", " ")
    return UnknownError(f"unknown_{kind}", f"There is no {label} {shown!r}.", hint)
