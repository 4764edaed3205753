"""Which of several recordings is shown whole: the one that could gain the most."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.requests.views import ViewResult


def worst_of(results: Sequence[ViewResult]) -> int:
    """The position of the result with the largest estimated gain of its findings as a share of the
    step, then with the most warnings; of equals the first."""
    return max(range(len(results)), key=lambda at: (*_severity(results[at]), -at))


def _severity(result: ViewResult) -> tuple[float, int]:
    advice = [note for note in result.view.notes if note.kind == "advice"]
    shares = [note.evidence.get("estimated_gain_pct_of_step") for note in advice]
    warnings = sum(note.severity == "warning" for note in advice)
    return max((share for share in shares if isinstance(share, int | float)), default=0.0), warnings
