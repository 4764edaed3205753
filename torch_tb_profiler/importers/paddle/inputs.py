"""What Paddle says of an operator's inputs and of who called it → the texts that a trace keeps.

Inputs stand by the name of the parameter that they are given for, each maybe a list of tensors:
``{"Input": [[8, 3, 28, 28]], "Filter": [[64, 3, 7, 7]]}``. The trace keeps them in that order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MAX_TENSORS = 4096
"""An operator has no more inputs; what follows is left out."""

FRAME = re.compile(r"\s*File [\"'](?P<file>.*)[\"'], line (?P<line>\d+), in (?P<function>.*)")


def shapes_text(shapes: Iterable[Any]) -> str | None:
    """Shapes by parameter, each a list of shapes → ``"[[8, 3, 28, 28], [64, 3, 7, 7]]"``; None
    where there are none."""
    given = [shape for tensors in shapes if isinstance(tensors, list) for shape in tensors]
    return json.dumps(given[:MAX_TENSORS]) if given else None


def types_text(types: Iterable[Any]) -> str | None:
    """Types by parameter, each a list → ``"['float32', 'float32']"``; None where there are none."""
    given = [str(one) for tensors in types if isinstance(tensors, list) for one in tensors]
    return str(given[:MAX_TENSORS]) if given else None


def stack_text(stack: str) -> str | None:
    """A traceback, outermost call first → frames ``file(line): function`` joined by ``;``,
    innermost first. What is no traceback stays as it is."""
    lines = stack.splitlines()
    frames = [match for line in lines if (match := FRAME.fullmatch(line)) is not None]
    if not frames:
        return stack.strip() or None
    return ";".join(f"{f['file']}({f['line']}): {f['function']}" for f in reversed(frames))


def values_of(given: Any) -> Iterable[Any]:
    """What stands behind the names of parameters; nothing where it is no object."""
    return given.values() if isinstance(given, Mapping) else ()
