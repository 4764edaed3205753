"""One detector per module: what could be improved, from measured values.

A module of this package is a detector by being here. It has ``CODE`` (the name of the module and of
its entry in ``knowledge/advice.toml``), ``EVIDENCE`` (the declared table it fills) and, by the
``scopes`` of its entry, ``detect`` (of one trace) and ``detect_across_workers`` (of a run). What
several detectors share lives in ``torch_tb_profiler/evidence``; no detector imports another.

The order of the entries in ``knowledge/advice.toml`` is the order of the detectors: of two
findings about the same time with the same gain, the first one is the finding, and the other is
listed with it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.evidence import (
    damage,
    recorded_links,
    recorded_ranks,
    recorded_time,
    snapshot_memory,
    where_time_goes,
)
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.needs import unmet_need
from torch_tb_profiler.evidence.ranking import is_superseded, rank_findings
from torch_tb_profiler.evidence.report import NO_STEP_TIME, AdviceReport, checks_table
from torch_tb_profiler.knowledge.advice import TRACE, WORKERS, entries, entry
from torch_tb_profiler.knowledge.recorders import TORCH_PROFILER
from torch_tb_profiler.once import once
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Note, TableSpec
from torch_tb_profiler.views.sums_alone import no_moments


class Detector(Protocol):
    """A module of this package. It has at least one of the two functions."""

    CODE: str
    """Its entry in ``knowledge/advice.toml``."""
    EVIDENCE: TableSpec
    """The table it fills."""

    def detect(self, context: Context, /) -> Finding | None:
        """The finding in the selected steps of one trace; None where the value is fine."""

    def detect_across_workers(self, contexts: Mapping[str, Context], /) -> Finding | None:
        """The finding from comparing the workers of a run; None where they are alike."""


class DetectorError(Exception):
    """A detector lacks a part; the message names the file to edit."""


@once
def detector_codes() -> tuple[str, ...]:
    """The codes of all detectors, in the order of ``knowledge/advice.toml``.

    Raises:
        DetectorError: a module has no entry, or an entry no module.
    """
    return codes_in(__path__)


def codes_in(folders: Iterable[str]) -> tuple[str, ...]:
    """The codes of the detectors in some folders, in the order of ``knowledge/advice.toml``.

    Raises:
        DetectorError: as :func:`detector_codes`.
    """
    modules = {module.name for module in pkgutil.iter_modules(folders)}
    for code in sorted(modules - entries().keys()):
        raise DetectorError(
            f"torch_tb_profiler/detectors/{code}.py has no entry: add one with "
            f'code = "{code}" to torch_tb_profiler/knowledge/advice.toml'
        )
    for code in entries():
        if code not in modules:
            raise DetectorError(
                f'torch_tb_profiler/knowledge/advice.toml has an entry with code = "{code}" but '
                f"there is no detector: add torch_tb_profiler/detectors/{code}.py"
            )
    return tuple(entries())


def codes_of_scope(scope: str) -> list[str]:
    """The codes of the detectors with a scope (``TRACE`` or ``WORKERS``), in order."""
    return [code for code in detector_codes() if scope in entry(code).scopes]


def detector(code: str) -> Detector:
    """The module of a detector, imported on first use.

    Raises:
        ModuleNotFoundError: there is no such detector.
    """
    return cast(Detector, importlib.import_module(f"{__name__}.{code}"))


def evidence_tables() -> dict[str, TableSpec]:
    """Code of a finding → its declared evidence."""
    return {
        **{code: detector(code).EVIDENCE for code in detector_codes()},
        **dict.fromkeys(damage.CODES, damage.EVIDENCE),
        where_time_goes.CODE: where_time_goes.EVIDENCE,
        recorded_links.CODE: recorded_links.EVIDENCE,
        recorded_ranks.CODE: recorded_ranks.EVIDENCE,
        recorded_time.CODE: recorded_time.EVIDENCE,
        snapshot_memory.CODE: snapshot_memory.EVIDENCE,
    }


def run_detectors(trace: Trace, selection: Selection) -> AdviceReport:
    """All findings in a selection of one trace, with the outcome of every check; that of the whole
    trace is cached.

    Raises:
        SelectionError: steps are malformed or not in this trace.
    """
    if selection.is_everything:
        return _report_of_whole(trace)
    return _report(trace, selection)


@per_split
def _report_of_whole(trace: Trace) -> AdviceReport:
    return _report(trace, Selection())


def _report(trace: Trace, selection: Selection) -> AdviceReport:
    context, checks = Context(trace, selection), codes_of_scope(TRACE)
    reason = no_moments(trace)
    if reason is not None:
        return AdviceReport((), checks_table(checks, (), lambda _: reason, context.terms))
    if context.step_ns <= 0:
        without_time = recorded_time.recorded_time(trace) if trace.slices.is_empty() else None
        recorded = without_time or snapshot_memory.snapshot_memory(trace)
        checked = checks_table(checks, (), lambda _: NO_STEP_TIME, context.terms)
        return AdviceReport(() if recorded is None else (recorded,), checked)
    missing = {code: unmet_need(context, entry(code).needs) for code in checks}
    findings = _findings(
        [code for code in checks if missing[code] is None],
        TRACE,
        lambda code: detector(code).detect(context),
    )
    notes = rank_findings([_in_terms_of(finding, context) for finding in findings], context.step_ns)
    if all(entry(finding.code).is_remark for finding in findings):
        first = snapshot_memory.snapshot_memory(trace) or where_time_goes.where_time_goes(context)
        notes = notes if first is None else (first, *notes)
    return AdviceReport(
        notes, checks_table(checks, notes, lambda known: missing[known.code], context.terms)
    )


def _findings(
    checks: list[str], scope: str, detect: Callable[[str], Finding | None]
) -> list[Finding]:
    """The findings of some detectors, in their order, without those that another one supersedes."""
    results: dict[str, Finding | None] = {}

    def result(code: str) -> Finding | None:
        if code not in results:
            results[code] = detect(code)
        return results[code]

    def is_explained(finding: Finding) -> bool:
        others = [code for code in entry(finding.code).superseded_by if scope in entry(code).scopes]
        return any(
            (other := result(code)) is not None and is_superseded(finding, other) for code in others
        )

    # From the end: the first ones need values that the overview, in another thread, computes now.
    for code in reversed(checks):
        result(code)
    findings = [finding for code in checks if (finding := results[code]) is not None]
    return [finding for finding in findings if not is_explained(finding)]


def detect_across_workers(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    """The findings from comparing the workers of a run, the largest estimated gain first; the last
    ones of whole traces are cached.

    Workers that do not have the selected steps are left out; fewer than two give none but those of
    recorded figures.
    """
    if not selection.is_everything:
        return _compare_workers(traces, selection)
    matching, last = match(traces), _last_comparison(next(iter(traces.values())))
    if last.answer is None or last.answer[0] is not matching:
        last.answer = (matching, _compare_workers(traces, selection))
    return last.answer[1]


class _LastComparison(Struct, eq=False):
    """The last findings of a run with the matching of its collectives, which is another object as
    soon as one of its traces is; one attribute, as several threads read and write it."""

    answer: tuple[Matching, tuple[Note, ...]] | None = None


@per_split
def _last_comparison(_trace: Trace) -> _LastComparison:
    """The cache that the first trace of a run holds."""
    return _LastComparison()


def _compare_workers(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    contexts = {
        worker: context
        for worker, trace in traces.items()
        if _has_steps(context := Context(trace, selection))
    }
    recorded = _compare_recorded(traces, selection)
    findings: dict[str, Finding] = {}
    for part in programs({worker: traces[worker] for worker in contexts}).workers:
        for finding in _of_program({worker: contexts[worker] for worker in part}):
            known = findings.get(finding.code)
            if known is None or (finding.gain_us or 0.0) > (known.gain_us or 0.0):
                findings[finding.code] = finding
    if not findings:
        return recorded
    step_ns = sum(context.step_ns for context in contexts.values()) / len(contexts)
    first = next(iter(contexts.values()))
    ranked = rank_findings([_in_terms_of(finding, first) for finding in findings.values()], step_ns)
    return (*ranked, *recorded)


def _of_program(contexts: Mapping[str, Context]) -> list[Finding]:
    """The findings from comparing the workers of one program."""
    if len(contexts) < 2:
        return []
    return _findings(
        codes_of_scope(WORKERS),
        WORKERS,
        lambda code: detector(code).detect_across_workers(contexts),
    )


def _compare_recorded(traces: Mapping[str, Trace], selection: Selection) -> tuple[Note, ...]:
    """The findings from figures that files of the workers hold, which need no recorded steps."""
    try:
        link = recorded_links.slow_link(traces, selection)
        ranks = recorded_ranks.slow_ranks(traces, selection)
    except SelectionError:
        return ()
    return ranks if link is None else (*ranks, link)


def _in_terms_of(finding: Finding, context: Context) -> Finding:
    """``finding`` with the texts for the recorder and the devices of a recording."""
    is_elsewhere = context.trace.meta.info.recorder != TORCH_PROFILER
    return replace(finding, is_elsewhere=is_elsewhere, terms=context.terms)


def _has_steps(context: Context) -> bool:
    try:
        return context.step_ns > 0
    except SelectionError:
        return False
