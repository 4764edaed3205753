"""The order of findings, and which of them are about the same."""

from __future__ import annotations

from torch_tb_profiler.analysis.algebra.intervals import intersect, total
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.views.schema import Note

MOSTLY = 0.5
"""The share above which a finding explains another."""

ALIKE = 0.05
"""Sizes that differ by less are the same for people."""


def is_superseded(finding: Finding, other: Finding) -> bool:
    """Whether ``other``, a finding named in ``superseded_by`` of the entry, explains ``finding``:
    most of its time, or most of its gain if it has no time; without both, always."""
    if finding.time is not None:
        if other.time is None:
            return False
        return total(intersect(other.time, finding.time)) > MOSTLY * total(finding.time)
    if finding.gain_us is not None:
        return (other.gain_us or 0.0) > MOSTLY * finding.gain_us
    return True


def rank_findings(findings: list[Finding], step_ns: float = 0.0) -> tuple[Note, ...]:
    """Notes in order of the estimated gain, largest first; without a gain by the time at stake,
    those without either last.

    A finding that shares half of its time or more with a larger one is listed with the first such
    finding: each time is reported once. Of two about the same time whose sizes differ by less than
    :data:`ALIKE`, the first in the order of the detectors is the finding.

    Args:
        findings: The findings, in the order of the detectors.
        step_ns: Mean length of a step.
    """
    number = {id(finding): row for row, finding in enumerate(findings)}
    groups: list[list[Finding]] = []
    for finding in sorted(findings, key=_order):
        for group in groups:
            if _is_same_time(finding, group[0]):
                is_first = number[id(finding)] < number[id(group[0])]
                group.insert(0 if is_first and _is_alike(finding, group[0]) else 1, finding)
                break
        else:
            groups.append([finding])
    return tuple(group[0].note(step_ns, sorted(group[1:], key=_order)) for group in groups)


def _is_alike(finding: Finding, other: Finding) -> bool:
    """Whether two have a gain, of nearly the same size."""
    gains = (finding.gain_us or 0.0, other.gain_us or 0.0)
    return min(gains) >= (1 - ALIKE) * max(gains) > 0


def _order(finding: Finding) -> tuple[bool, float]:
    size_us = finding.gain_us if finding.gain_us is not None else finding.at_stake_us
    return size_us is None, -(size_us or 0.0)


def _is_same_time(finding: Finding, other: Finding) -> bool:
    if finding.time is None or other.time is None:
        return False
    whole_ns = total(finding.time)
    return whole_ns > 0 and total(intersect(finding.time, other.time)) * 2 >= whole_ns
