"""Exit codes, and messages on stderr: file, cause and next step, no traceback."""

from __future__ import annotations

import sys

from torch_tb_profiler.reports.text import visible

DONE = 0
GATE_FAILED = 1
BAD_USAGE = 2
INPUT_UNREADABLE = 3
INTERRUPTED = 130
BY_SIGNAL = 128
"""Plus the number of a signal: the recorded program was killed by it."""
BROKEN_PIPE_EXIT = DONE
"""``report … | head`` is no failure, even with ``set -o pipefail``."""


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error and the next step."""
    print(f"torch-tb-profiler: error: {visible(message)}", file=sys.stderr)
    if hint:
        print(f"  {visible(hint)}", file=sys.stderr)


def print_message(message: str) -> None:
    """Print a message."""
    print(f"torch-tb-profiler: {visible(message)}", file=sys.stderr)


def print_warning(message: str) -> None:
    """Print a warning."""
    print(f"torch-tb-profiler: warning: {visible(message)}", file=sys.stderr)
