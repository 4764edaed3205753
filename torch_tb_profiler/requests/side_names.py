"""What the sides of a comparison are called: as much of their names as distinguishes them."""

from __future__ import annotations

from torch_tb_profiler.requests.questions import Subject


def side_names(baseline: Subject, candidate: Subject) -> tuple[str | None, str | None]:
    """Names of both sides for sentences; None for both where their names are the same."""
    for parts in (("run",), ("worker",), ("run", "worker", "span")):
        names = [
            " ".join(filter(None, (getattr(each, part) for part in parts)))
            for each in (baseline, candidate)
        ]
        if names[0] != names[1] and all(names):
            return _without_labels(names[0], names[1])
    steps = [each.selection.steps for each in (baseline, candidate)]
    if steps[0] != steps[1] and all(steps):
        return f"steps {steps[0]}", f"steps {steps[1]}"
    return None, None


def _without_labels(baseline: str, candidate: str) -> tuple[str | None, str | None]:
    """Names of two folders without what the command line calls them."""
    if baseline.startswith("baseline/") and candidate.startswith("candidate/"):
        own, other = baseline.removeprefix("baseline/"), candidate.removeprefix("candidate/")
        return (own, other) if own != other else (None, None)
    return baseline, candidate
