"""What could cut a recording into iterations.

Definitions: ``docs/metrics.md#iterations``.
"""

from __future__ import annotations

from torch_tb_profiler.trace.model import Trace

NOTHING_REPEATS = "Nothing in the recording is called once per repetition: it is one iteration."


def best_key_node(_trace: Trace) -> tuple[str | None, str]:
    """The best key node with the reason why it is, or None with the reason why there is none."""
    return None, NOTHING_REPEATS
