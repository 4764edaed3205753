"""Reads a pickle to its value, with errors for people."""

from __future__ import annotations

from typing import Any

from torch_tb_profiler.importers.errors import RAISE_LIMIT_HINT, TraceFormatError
from torch_tb_profiler.importers.plain_pickle.errors import (
    HostilePickleError,
    PickleError,
    TooManyValuesError,
    TruncatedPickleError,
)
from torch_tb_profiler.importers.plain_pickle.machine import PickleMachine
from torch_tb_profiler.importers.source import Source


def read_pickle(machine: PickleMachine, source: Source, kind: str) -> tuple[Any, bool]:
    """The value of the pickle that ``machine`` reads, and whether the file ends in the middle.

    Args:
        machine: Reads ``source``.
        source: The file.
        kind: What such a file is, ``"A memory snapshot"``.

    Raises:
        TraceFormatError: it is damaged, too large, or would run something.
        StorageError, OSError: the file cannot be read.
    """
    try:
        return machine.run(), False
    except TruncatedPickleError:
        return machine.partial_value(), True
    except HostilePickleError as error:
        raise TraceFormatError(
            "unsafe_pickle",
            f"{source.name} is a pickle that is not safe to read: {error}.",
            f"Nothing in it was run. {kind} has plain data only; do not load this "
            "file with Python's pickle.",
        ) from None
    except TooManyValuesError as error:
        raise TraceFormatError(
            "too_many_values",
            f"{source.name} is a pickle that cannot be read: {error} "
            f"({source.budget.described('objects')}).",
            RAISE_LIMIT_HINT,
        ) from None
    except PickleError as error:
        raise TraceFormatError(
            "damaged_pickle", f"{source.name} is a pickle that cannot be read: {error}.",
            "Copy it again and compare its size with the original.",
        ) from None  # fmt: skip
