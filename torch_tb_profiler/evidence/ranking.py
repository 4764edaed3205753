"""The order of findings, and which of them are about the same."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra.intervals import intersect, total
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.views.schema import Note

MOSTLY = 0.5
"""The share from which on a finding explains another."""


def is_superseded(finding: Finding, other: Finding) -> bool:
    """Whether ``other``, a finding that ``superseded_by`` of the entry names, explains most of
    ``finding``: most of its time, or of its gain where it has no time; where it has neither, all of
    it."""
    if finding.time is not None:
        return other.time is not None and total(other.time) > MOSTLY * total(finding.time)
    if finding.gain_us is not None:
        return (other.gain_us or 0.0) > MOSTLY * finding.gain_us
    return True


def ranked(findings: list[Finding], step_ns: float = 0.0) -> tuple[Note, ...]:
    """Notes by estimated gain, largest first; where it cannot be estimated by what is at stake,
    those without either last.

    A finding that has no more than half of its time for itself is told with the first larger one
    that has the rest: one time is one finding.

    Args:
        findings: What the detectors said.
        step_ns: Mean length of a step.
    """
    told: list[tuple[Finding, list[Finding]]] = []
    for finding in sorted(findings, key=_order):
        for other, same_time in told:
            if _is_same_time(finding, other):
                same_time.append(finding)
                break
        else:
            told.append((finding, []))
    return tuple(finding.note(step_ns, same_time) for finding, same_time in told)


def _order(finding: Finding) -> tuple[bool, float]:
    size_us = finding.gain_us if finding.gain_us is not None else finding.at_stake_us
    return size_us is None, -(size_us or 0.0)


def _is_same_time(finding: Finding, other: Finding) -> bool:
    if finding.time is None or other.time is None:
        return False
    whole_ns = total(finding.time)
    return whole_ns > 0 and total(intersect(finding.time, other.time)) * 2 >= whole_ns
