"""The verdict on a run in five lines: its worst finding, what shows it, what to do, what else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torch_tb_profiler.importers import ReadOptions
from torch_tb_profiler.loading.catalog import Catalog, Place
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.waiting import when_ready
from torch_tb_profiler.reports.notes import measured_text, title_text
from torch_tb_profiler.reports.progress import Progress
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.views.schema import Note

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
MOST_TITLES = 4


def verdict(folder: str) -> list[str]:
    """Five lines on the run in a folder; its traces are in the cache after that.

    Raises:
        LoadingError: there is nothing to look at, or it cannot be read.
    """
    catalog = _catalog(folder)
    files = catalog.contents().files()
    if not files:
        return ["Verdict: none, as there is no trace."]
    notes: list[tuple[Note, str]] = []
    problems: list[str] = []
    for view, file in _questions(files):
        about = Subject(file.run, file.worker if view == "overview" else None, file.span)
        try:
            notes += [(each, _place(view, file)) for each in _findings(catalog, view, about)]
        except LoadingError as error:
            problems.append(error.problem.message)
    return lines_of(worst_first(notes), problems)


def worst_first(notes: Sequence[tuple[Note, str]]) -> list[tuple[Note, str]]:
    """Findings with the places that they are of, those that gain most of a step first, each kind
    once."""
    first: dict[str, tuple[Note, str]] = {}
    for note, place in sorted(notes, key=lambda each: -_gain_pct(each[0])):
        first.setdefault(note.code, (note, place))
    return list(first.values())


def lines_of(found: Sequence[tuple[Note, str]], problems: Sequence[str] = ()) -> list[str]:
    """The findings as five lines; fewer where there is nothing to say."""
    if not found:
        if problems:
            return [f"Verdict: none. {problems[0]}"]
        return ["Verdict: nothing stands out in what was recorded."]
    (note, place), others = found[0], found[1:]
    said, advised = _parts(note.text)
    lines = [f"Verdict: {title_text(note) or note.code}", f"  Found:  {said}"]
    measured = measured_text(note)
    lines.append(f"  Shown:  {measured} {place}" if measured else f"  Shown:  {place}")
    if advised:
        lines.append(f"  To do:  {advised}")
    lines.append(f"  Others: {_titles(others)}")
    return lines


def _catalog(folder: str) -> Catalog:
    try:
        cache: CacheFolder | None = open_cache(None)
    except StorageError:
        cache = None
    store = TraceStore(cache=cache, parser=Parser(None))
    return Catalog([Place(folder, options=ReadOptions())], cache=cache, store=store)


def _questions(files: Sequence[SpanFile]) -> Iterator[tuple[str, SpanFile]]:
    """The overview of the first rank, and what comparing the ranks tells."""
    first = [file for file in files if file.worker == files[0].worker]
    for file in dict.fromkeys([first[0], first[-1]]):
        yield "overview", file
    if len({file.worker for file in files}) > 1:
        yield "distributed", files[0]


def _findings(catalog: Catalog, view: str, subject: Subject) -> list[Note]:
    progress = Progress()
    request = ViewRequest(view, subject)
    try:
        result = when_ready(
            lambda wait_s: view_result(catalog, request, wait_s=wait_s), progress.show
        )
    finally:
        progress.wipe()
    return [note for note in result.view.notes if note.kind == "advice"]


def _place(view: str, file: SpanFile) -> str:
    return "All ranks compared." if view == "distributed" else f"In {file.location.name}."


def _gain_pct(note: Note) -> float:
    gain = note.evidence.get("estimated_gain_pct_of_step")
    return gain if isinstance(gain, int | float) else -1.0


def _parts(text: str) -> tuple[str, str]:
    """What a text of advice found, its first sentence, and what it says of that."""
    found, *advised = SENTENCE.split(" ".join(text.split()), maxsplit=1)
    return found, "".join(advised)


def _titles(others: Sequence[tuple[Note, str]]) -> str:
    if not others:
        return "nothing else stands out."
    titles = [str(note.evidence.get("title") or note.code) for note, _ in others]
    more = f"; {len(titles) - MOST_TITLES} more" if len(titles) > MOST_TITLES else ""
    return "; ".join(titles[:MOST_TITLES]) + more
