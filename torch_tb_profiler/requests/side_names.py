"""What the sides of a comparison are called: as much of their names as distinguishes them."""

from __future__ import annotations

from torch_tb_profiler.requests.questions import Subject

LABELS = ("baseline", "candidate", "third")
"""What the command line calls the folders of the sides."""


def side_names(baseline: Subject, candidate: Subject) -> tuple[str | None, str | None]:
    """Names of both sides for sentences; None for both where their names are the same."""
    if (baseline.run, baseline.worker) == (candidate.run, candidate.worker):
        spans = [each.span for each in (baseline, candidate)]
        if spans[0] != spans[1] and all(spans):
            return f"span {spans[0]}", f"span {spans[1]}"
    for parts in (("run",), ("worker",), ("run", "worker", "span")):
        names = [
            " ".join(filter(None, (getattr(each, part) for part in parts)))
            for each in (baseline, candidate)
        ]
        if names[0] != names[1] and all(names):
            return _distinguishing(names[0], names[1])
    steps = [each.selection.steps for each in (baseline, candidate)]
    if steps[0] != steps[1] and all(steps):
        return f"steps {steps[0]}", f"steps {steps[1]}"
    return None, None


def _distinguishing(baseline: str, candidate: str) -> tuple[str | None, str | None]:
    """The names without the folders that both are in and the file names that both have, and without
    what the command line calls the sides."""
    own, other = baseline.split("/"), candidate.split("/")
    if own[0] == LABELS[0] and other[0] in LABELS[1:]:
        own, other = own[1:], other[1:]
    for end in (0, -1):
        while len(own) > 1 and len(other) > 1 and own[end] == other[end]:
            own, other = (parts[1:] if end == 0 else parts[:-1] for parts in (own, other))
    if own == other:
        return None, None
    return "/".join(own), "/".join(other)
