"""Compares what each hook expects of torch (``hooks.json``) with what a torch has.

In the table ``a|b`` is one name or the other, and ``name>=2.6`` is expected of torch 2.6 and newer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.json")

Version = tuple[int, ...]


@dataclass(frozen=True)
class Description:
    """A class or function of torch.

    Attributes:
        parameters: Names of its parameters in order; None if they cannot be known: it is no Python
            function, or takes any.
        names: Names of attributes that its code reads or sets, of a class all its methods
            together; None if they cannot be known.
    """

    parameters: tuple[str, ...] | None = None
    names: frozenset[str] | None = None


Describe = Callable[[str], Description | None]
"""The description of a target (``"torch.optim.optimizer:Optimizer.step"``); None if there is no
such class or function."""


class Reporter(Protocol):
    """A session: what is missing is reported to it."""

    def report_missing(self, what: str, reason: str) -> None:
        """Write, once, why something is not recorded."""


def load_hooks() -> dict[str, dict[str, Any]]:
    """The table: hook → ``missing`` (what of the journal lacks without it), ``without`` (a
    sentence about that), ``needs`` (target → its parameters and names) and perhaps ``since`` (the
    oldest torch that has a place for it)."""
    with open(TABLE, encoding="utf-8") as file:
        hooks: dict[str, dict[str, Any]] = json.load(file)
    return hooks


def unmet(entry: dict[str, Any], version: Version, describe: Describe) -> Iterator[str]:
    """What of the needs of a hook (its entry of the table) a torch of ``version`` does not meet,
    in words."""
    since = entry.get("since")
    if since is not None and version < parse_version(since):
        yield f"it needs torch {since} or newer"
        return
    for key, expected in entry["needs"].items():
        target = _applying(key, version)
        if target is None:
            continue
        described = describe(target)
        name = target.replace(":", ".")
        if described is None:
            yield f"there is no {name}"
            continue
        if described.parameters is not None:
            yield from _missing_parameters(name, expected, version, described.parameters)
        if described.names is not None:
            for each in _absent(expected.get("names", ()), version, described.names):
                yield f"{name} does not use {each}"


def _missing_parameters(
    name: str, expected: dict[str, Any], version: Version, parameters: tuple[str, ...]
) -> Iterator[str]:
    leading = tuple(expected.get("leading", ()))
    if parameters[: len(leading)] != leading:
        yield f"{name} does not begin with the parameters {', '.join(leading)}"
    for each in _absent(expected.get("parameters", ()), version, frozenset(parameters)):
        yield f"{name} has no parameter {each}"


def _absent(keys: list[str], version: Version, present: frozenset[str]) -> Iterator[str]:
    for key in keys:
        names = _applying(key, version)
        if names is not None and present.isdisjoint(names.split("|")):
            yield names.replace("|", " or ")


def _applying(key: str, version: Version) -> str | None:
    """A key without its version; None if it is of newer versions only."""
    name, _, since = key.partition(">=")
    return None if since and version < parse_version(since) else name


def parse_version(text: str) -> Version:
    """``"2.13.0+cpu"`` → ``(2, 13)``; a text that is no version is the newest."""
    parts = text.split("+", maxsplit=1)[0].split(".")[:2]
    return tuple(map(int, parts)) if all(each.isdecimal() for each in parts) else (1 << 30,)


def allows(hook: str, session: Reporter) -> bool:
    """Whether the installed torch is what a hook expects; reports what is missing without it.

    Args:
        hook: Name of the hook in the table.
        session: Gets the reason.
    """
    import torch  # noqa: PLC0415 - the program has imported it

    from torch_tb_profiler.recorder.torch_api.installed import describe  # noqa: PLC0415

    entry = _HOOKS[hook]
    problem = next(unmet(entry, parse_version(str(torch.__version__)), describe), None)
    if problem is not None:
        reason = f"The recorder does not support torch {torch.__version__} in this: {problem}."
        session.report_missing(entry["missing"], f"{reason} {entry['without']}")
    return problem is None


_HOOKS = load_hooks()
