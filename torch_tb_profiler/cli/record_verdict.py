"""The verdict on a run in five lines: its most important finding, evidence, advice, and others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.status import when_ready
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.reports.notes import measured_text, title_text
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note, View
from torch_tb_profiler.views.spec import ViewSpec

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
MOST_TITLES = 4
MOST_CHARS = 150
LONGEST_CHARS = 300
MIN_STEP_US = 100.0
"""Shorter steps are too short to analyze."""

LEAST_GAIN_PCT = 1.0
SYMPTOMS = frozenset({"uneven_steps", "unsteady_steps", "host_shared"})
"""Findings that describe a symptom, not a cause."""

STRAGGLER = "straggler"
COMMUNICATION = frozenset({"communication_share", "exposed_communication", "small_collectives"})
"""Findings that waiting for a straggler also causes."""


def verdict(folder: str) -> list[str]:
    """At most five lines about the run in a folder; also puts its traces into the cache.

    Raises:
        LoadingError: there are no traces, or they cannot be read.
    """
    catalog = _catalog(folder)
    files = catalog.contents().files()
    if not files:
        return ["Verdict: none, because there is no trace."]
    notes: list[tuple[Note, str]] = []
    problems: list[str] = []
    step_us = None
    for spec, file in _views_to_check(files):
        about = Subject(file.run, file.worker if spec.scope == "trace" else None, file.span)
        try:
            result = _load_view(catalog, spec.name, about)
        except LoadingError as error:
            problems.append(error.problem.message)
            continue
        seen = {note.code for note, _ in notes}
        advice = [note for note in result.notes if note.kind == "advice"]
        notes += [(note, _scope_text(spec, file)) for note in advice if note.code not in seen]
        step_us = _usual_step_us(result) or step_us
    if step_us is not None and step_us < MIN_STEP_US:
        return _short_step_verdict(step_us)
    return verdict_lines(rank_findings(notes), problems)


def rank_findings(notes: Sequence[tuple[Note, str]]) -> list[tuple[Note, str]]:
    """Rank findings, each kind once: causes before symptoms, then by estimated gain; those without
    an estimate keep their order in the view. Findings that a straggler explains come after it, and
    negligible gains are omitted."""
    codes = {note.code for note, _ in notes}
    ranked: list[tuple[tuple[int, float], tuple[Note, str]]] = []
    behind = -1.0
    for note, scope in reversed(notes):
        gain = _gain_pct(note)
        behind = behind if gain is None else gain
        if gain is not None and gain < LEAST_GAIN_PCT:
            continue
        tier = 0
        if note.code in SYMPTOMS or (STRAGGLER in codes and note.code in COMMUNICATION):
            tier = 1
        ranked.insert(0, ((tier, -behind), (note, scope)))
    first: dict[str, tuple[Note, str]] = {}
    for _, (note, scope) in sorted(ranked, key=lambda each: each[0]):
        first.setdefault(note.code, (note, scope))
    return list(first.values())


def verdict_lines(findings: Sequence[tuple[Note, str]], problems: Sequence[str] = ()) -> list[str]:
    """The ranked findings as at most five lines."""
    if not findings:
        if problems:
            return [f"Verdict: none. {problems[0]}"]
        return ["Verdict: nothing stands out in what was recorded."]
    (note, scope), others = findings[0], findings[1:]
    finding, advice = _parts(note.text)
    lines = [f"Verdict: {title_text(note) or note.code}", f"  Finding:  {shorten(finding)}"]
    measured = measured_text(note)
    lines.append(f"  Evidence: {measured} {scope}" if measured else f"  Evidence: {scope}")
    if advice:
        lines.append(f"  Advice:   {shorten(advice)}")
    lines.append(f"  Others:   {_titles(others)}")
    return lines


def _catalog(folder: str) -> Catalog:
    try:
        cache: CacheFolder | None = open_cache(None)
    except StorageError:
        cache = None
    store = TraceStore(cache=cache, parser=Parser(None))
    return Catalog([TraceRoot(folder, options=ReadOptions())], cache=cache, store=store)


def _views_to_check(files: Sequence[SpanFile]) -> Iterator[tuple[ViewSpec, SpanFile]]:
    """The views with findings: of the first rank, for a window and for the whole run (which has
    timings that windows lack), and of all ranks compared."""
    first = [file for file in files if file.worker == files[0].worker]
    has_ranks = len({file.worker for file in files}) > 1
    for spec in all_views().values():
        if spec.has_findings and spec.scope == "trace":
            yield from ((spec, file) for file in dict.fromkeys([first[0], first[-1]]))
        elif spec.has_findings and has_ranks:
            yield spec, files[0]


def _load_view(catalog: Catalog, view: str, subject: Subject) -> View:
    progress = Progress()
    request = ViewRequest(view, subject)
    try:
        return when_ready(
            lambda wait_s: view_result(catalog, request, wait_s=wait_s), progress.show
        ).view
    finally:
        progress.wipe()


def _usual_step_us(view: View) -> float | None:
    """Mean step time in µs; None if steps were not timed."""
    rates = (fact.value for fact in view.facts if fact.key == "steps_per_s")
    return next((1e6 / rate for rate in rates if isinstance(rate, int | float) and rate > 0), None)


def _short_step_verdict(step_us: float) -> list[str]:
    return [
        f"Verdict: a step takes {duration_text(step_us)}, too short to analyze.",
        "  Finding:  Steps this short consist of Python overhead and single calls.",
        "  Advice:   Use larger batches, or record a program at its real size.",
    ]


def _scope_text(spec: ViewSpec, file: SpanFile) -> str:
    return "All ranks compared." if spec.scope == "run" else f"In {file.location.name}."


def _gain_pct(note: Note) -> float | None:
    gain = note.evidence.get("estimated_gain_pct_of_step")
    return float(gain) if isinstance(gain, int | float) else None


def _parts(text: str) -> tuple[str, str]:
    """Split a text of advice into its first sentence (the finding) and the rest (the advice)."""
    finding, *advice = SENTENCE.split(" ".join(text.split()), maxsplit=1)
    return finding, "".join(advice)


def shorten(text: str) -> str:
    """The first sentences that fit into a line, at least one; the pages show the full text."""
    short, *more = SENTENCE.split(text)
    for sentence in more:
        if len(short) + 1 + len(sentence) > MOST_CHARS:
            break
        short = f"{short} {sentence}"
    return short if len(short) <= LONGEST_CHARS else f"{short[: LONGEST_CHARS - 1].rstrip()}…"


def _titles(others: Sequence[tuple[Note, str]]) -> str:
    if not others:
        return "nothing else stands out."
    titles = [str(note.evidence.get("title") or note.code) for note, _ in others]
    more = f"; {len(titles) - MOST_TITLES} more" if len(titles) > MOST_TITLES else ""
    return "; ".join(titles[:MOST_TITLES]) + more
