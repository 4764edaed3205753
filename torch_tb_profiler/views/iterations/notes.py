"""What is said of iterations: how the recording was cut, and how steady they are."""

from __future__ import annotations

from torch_tb_profiler.analysis.steps.iterations.steady import Steadiness
from torch_tb_profiler.views.schema import Fact, Note

NO_VARIATION = "Fewer than two whole iterations are selected."
NOT_NEEDED = "The selected iterations do not vary much."
NONE_STEADIER = "No range of the selected iterations is steady."


def steady_facts(steady: Steadiness) -> tuple[Fact, ...]:
    """How much the selected iterations vary, and the range that varies less."""
    why = None
    if steady.first is None:
        much = steady.variation is not None and steady.variation >= steady.threshold
        why = NONE_STEADIER if much else NOT_NEEDED
    varies = None if steady.variation is None else 100 * steady.variation
    less = None if steady.steady_variation is None else 100 * steady.steady_variation
    return (
        Fact(
            "iteration_variation_pct",
            "Variation of iterations",
            varies,
            "pct",
            None,
            "Standard deviation of the selected iterations' lengths ÷ their mean.",
            NO_VARIATION if varies is None else None,
        ),
        Fact(
            "steady_first",
            "First steady iteration",
            steady.first,
            None,
            None,
            "First iteration of the longest range that varies clearly less than the selection.",
            why,
        ),
        Fact(
            "steady_last",
            "Last steady iteration",
            steady.last,
            None,
            None,
            "Last iteration of that range.",
            why,
        ),
        Fact(
            "steady_variation_pct",
            "Variation of the steady range",
            less,
            "pct",
            None,
            "Standard deviation of that range's iteration lengths ÷ their mean.",
            why,
        ),
    )


def steady_note(steady: Steadiness) -> tuple[Note, ...]:
    """The proposal of a steadier range, where there is one."""
    if steady.first is None or steady.variation is None or steady.steady_variation is None:
        return ()
    return (
        Note(
            kind="quality",
            code="steady_range",
            severity="info",
            text=f"The lengths of the selected iterations vary by {100 * steady.variation:.1f} % "
            f"of their mean. Suggested range: iterations {steady.first}–{steady.last}, which "
            f"vary by {100 * steady.steady_variation:.1f} % (the longest range with at most "
            f"{100 * (steady.most or 0):.1f} %).",
            evidence={
                "steps": f"{steady.first}:{steady.last}",
                "iterations": steady.iterations,
                "variation_pct": 100 * steady.variation,
                "steady_variation_pct": 100 * steady.steady_variation,
                "threshold_pct": 100 * steady.threshold,
                "columns": ["iteration_mean_us", "iteration_stddev_us", "duration_us"],
            },
        ),
    )
