"""Exit codes, and how errors are told: file, cause and next step on stderr, no traceback."""

from __future__ import annotations

import sys

from torch_tb_profiler.reports.text import visible

DONE = 0
GATE_FAILED = 1
BAD_USAGE = 2
INPUT_UNREADABLE = 3
INTERRUPTED = 130
BY_SIGNAL = 128
"""Plus its number: a program that was run was killed by that signal."""
BROKEN_PIPE_EXIT = DONE
"""``report … | head`` is no failure, also under ``set -o pipefail``."""


def tell_error(message: str, hint: str | None = None) -> None:
    """Print an error for people."""
    print(f"torch-tb-profiler: error: {visible(message)}", file=sys.stderr)
    if hint:
        print(f"  {visible(hint)}", file=sys.stderr)


def tell(message: str) -> None:
    """Print a verdict."""
    print(f"torch-tb-profiler: {visible(message)}", file=sys.stderr)


def tell_warning(message: str) -> None:
    """Print what was left out while the rest goes on."""
    print(f"torch-tb-profiler: warning: {visible(message)}", file=sys.stderr)
