"""The user's own rules for kernels as a source of what views say."""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Fact

RULES = Fact(
    "kernel_rules",
    "Your kernel rules",
    None,
    None,
    None,
    "File with your own rules for kernels, which are tried before those of this program.",
)


def rules_text(trace: Trace) -> str | None:
    """The file with the number of its rules; None where there are none."""
    rules = user_rules(trace)
    count = len(rules.rules)
    if not count:
        return None
    return f"{rules.source} ({count} {'rule' if count == 1 else 'rules'})"


def rules_facts(trace: Trace) -> tuple[Fact, ...]:
    """The fact :data:`RULES` where there are rules."""
    text = rules_text(trace)
    if text is None:
        return ()
    return (Fact(RULES.key, RULES.title, text, RULES.unit, RULES.scope, RULES.help),)
