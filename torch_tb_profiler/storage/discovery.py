"""Finding traces: a folder tree becomes runs, workers and spans.

Each folder that holds traces is a run; a trace's name gives worker and stamp; a worker's stamps in
order, as numbers, are its spans 1, 2, 3 …; a trace without stamp is the span ``default`` before
them, or behind them the one that its format names. Two of one stamp are two spans (``1`` and
``1-gz``); one unreadable folder does not hide the others. Which names are those of traces, files or
folders, the formats say (:class:`TraceNames`). Other files are traces if their content says so
(:mod:`.heads`); their names are read by :mod:`.content_names`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from torch_tb_profiler.storage.companions import without_companions
from torch_tb_profiler.storage.content_names import content_name, recorded_s, runs_of_groups
from torch_tb_profiler.storage.deadlines import ask
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.finished import FinishedFiles
from torch_tb_profiler.storage.found import Match, Member, SpanFile, Unnamed
from torch_tb_profiler.storage.heads import UNREADABLE, Heads, Told
from torch_tb_profiler.storage.jobs import runs_of_jobs
from torch_tb_profiler.storage.left_out import NOT_A_TRACE, UNDECIDED, LeftOutFiles
from torch_tb_profiler.storage.local_walk import LocalWalk
from torch_tb_profiler.storage.locations import Location, file_state, valid_text
from torch_tb_profiler.storage.member_files import traces_of_members
from torch_tb_profiler.storage.names import TraceName, TraceNames, natural_key, run_order
from torch_tb_profiler.storage.rank_folders import joined_ranks
from torch_tb_profiler.storage.remote_walk import (
    check_bucket,
    held_in,
    remote_found,
    remote_listing,
)

__all__ = ["Discovery", "Looking", "SpanFile", "discover", "is_folder", "no_traces", "single_file"]

DEFAULT_SPAN = "default"
CHOSEN = Told(True)


@dataclass(slots=True)
class Discovery:
    """What a logdir holds.

    Attributes:
        files: Every trace file, by run, worker and time.
        others: What was seen and not read (links out, no permission, no trace).
        unfinished: Names of the files that are being written; they are not among ``files``.
        undecided: How many files were not looked into yet.
    """

    files: list[SpanFile] = field(default_factory=list)
    others: LeftOutFiles = field(default_factory=LeftOutFiles)
    unfinished: list[str] = field(default_factory=list)
    undecided: int = 0

    @property
    def left_out(self) -> list[str]:
        """Sentences about what everybody should know was not read."""
        return self.others.sentences


@dataclass(frozen=True, slots=True)
class Looking:
    """How a place is looked at.

    Attributes:
        names: Which files and folders are traces.
        finished: Leaves out the files that it knows to be written still; None takes all.
        heads: Tells files by their content; None goes by names alone.
        chosen: Paths from the logdir of files that are taken whatever they hold.
        follows_links: Whether links that lead out of the logdir are followed.
        on_known: Called with what is known before files are looked into, where that takes time.
    """

    names: TraceNames
    finished: FinishedFiles | None = None
    heads: Heads | None = None
    chosen: Collection[str] = ()
    follows_links: bool = False
    on_known: Callable[[Discovery], None] | None = None


def discover(place: Location, how: Looking) -> Discovery:
    """All traces of a logdir, or the one file that ``place`` is.

    Local folders are walked once each. Remote ones, files too, cost one recursive listing, and a
    request for each head.

    Raises:
        StorageError: ``place`` does not exist or cannot be listed at all.
    """
    if place.filesystem is None and how.names.folder(place.name, partial(_held, place)) is not None:
        return Discovery(files=[single_file(replace(place, is_folder=True), how.names)])
    result = Discovery()
    walk: LocalWalk | None = None
    found: Iterable[Match | Member | Unnamed]
    if place.filesystem is None:
        walk = LocalWalk(
            place, how.names, result.others, result.unfinished, how.finished, how.follows_links
        )
        found = list(walk.found())
    else:
        listing = remote_listing(place, result.others)
        if place.path.rstrip("/") in listing:
            return Discovery(files=[single_file(place, how.names)])
        if how.names.folder(place.name, partial(held_in, listing, place.path)) is not None:
            return Discovery(files=[single_file(replace(place, is_folder=True), how.names)])
        found = list(remote_found(place, how.names, listing))
    named = [each for each in found if isinstance(each, Match)]
    named += traces_of_members(each for each in found if isinstance(each, Member))
    unnamed = [each for each in found if isinstance(each, Unnamed)]
    return _Sorting(place, how, result, walk, named, unnamed).discovery()


def _held(folder: Location) -> list[str]:
    """What lies in a folder of this machine; nothing where that cannot be listed."""
    with suppress(OSError):
        return os.listdir(folder.path)
    return []


@dataclass(frozen=True, slots=True)
class _Sorting:
    """From what was found to runs, and to what is left out."""

    place: Location
    how: Looking
    result: Discovery
    walk: LocalWalk | None
    named: list[Match]
    unnamed: list[Unnamed]

    def discovery(self) -> Discovery:
        heads = self.how.heads
        told = self._told()
        if heads is None:
            return self._sorted(told)
        wanted = [each.candidate for each in self.unnamed]
        wanted = heads.unknown(each for each in wanted if each.key not in self.how.chosen)
        if wanted:
            if self.how.on_known is not None:
                self.how.on_known(self._so_far(told))
            self.result.undecided = heads.look(wanted)
            told = self._told()
        return self._sorted(told)

    def _so_far(self, told: dict[str, Told]) -> Discovery:
        """What is known before files are looked into."""
        others, unfinished = self.result.others.copy(), list(self.result.unfinished)
        walk = self.walk and replace(self.walk, left_out=others, unfinished=unfinished)
        result = Discovery(others=others, unfinished=unfinished)
        return replace(self, result=result, walk=walk)._sorted(told)

    def _told(self) -> dict[str, Told]:
        """What is known of the files whose names say nothing, by their paths."""
        told = {}
        for each in self.unnamed:
            known = None if self.how.heads is None else self.how.heads.known(each.candidate)
            if each.candidate.key in self.how.chosen:
                known = CHOSEN
            if known is not None:
                told[each.candidate.key] = known
        return told

    def _sorted(self, told: dict[str, Told]) -> Discovery:
        by_run: dict[str, list[Match]] = {}
        for match in self.named:
            by_run.setdefault(match.folder, []).append(match)
        traces: dict[str, list[tuple[Unnamed, Told]]] = {}
        for each in self.unnamed:
            is_what = told.get(each.candidate.key)
            if is_what is None or not is_what.is_trace:
                self._leave_out(each, is_what)
            elif self._is_finished(each):
                traces.setdefault(each.folder, []).append((each, is_what))
        for folder in sorted(traces):
            self._add_runs(folder, traces[folder], by_run)
        by_run = joined_ranks(runs_of_jobs(self._once_each(by_run)))
        if "" in by_run:
            own_name = "." if self.place.name in by_run else self.place.name or "."
            by_run[own_name] = by_run.pop("")
        for run in sorted(by_run, key=run_order):
            self.result.files.extend(_spans_of_run(run, by_run[run]))
        return self.result

    def _add_runs(
        self, folder: str, traces: list[tuple[Unnamed, Told]], by_run: dict[str, list[Match]]
    ) -> None:
        """Sort the traces of one folder that their content told into runs."""
        endings = self.how.names.endings
        names = [
            content_name(each.candidate.location.name, endings, told.rank, told.world_size)
            for each, told in traces
        ]
        runs = runs_of_groups(folder, set(names), set(by_run))
        for (each, told), name in zip(traces, names, strict=True):
            candidate, run = each.candidate, runs[name]
            trace_name = TraceName(name.worker, None, told.format)
            match = Match(each.folder, candidate.location, candidate.state, trace_name)
            by_run.setdefault(run, []).append(match)

    def _once_each(self, by_run: dict[str, list[Match]]) -> dict[str, list[Match]]:
        """The traces without those that another of their folder tells better."""
        by_folder: dict[str, list[Match]] = {}
        for matches in by_run.values():
            for match in matches:
                by_folder.setdefault(match.folder, []).append(match)
        replaces, others = self.how.names.replaces, self.result.others
        shown = {
            id(match)
            for matches in by_folder.values()
            for match in without_companions(matches, replaces, others)
        }
        kept = {run: [each for each in of if id(each) in shown] for run, of in by_run.items()}
        return {run: matches for run, matches in kept.items() if matches}

    def _is_finished(self, each: Unnamed) -> bool:
        if self.walk is None or each.status is None:
            return True
        if self.walk.is_finished(each.candidate.location, each.status):
            return True
        self.walk.see_unfinished(each.candidate.key)
        return False

    def _leave_out(self, each: Unnamed, told: Told | None) -> None:
        name, others = each.candidate.key, self.result.others
        if told is not None:
            opens = None if told.reason == UNREADABLE else each.candidate.location
            others.add(name, told.reason, f"{name} {told.text}", opens)
        elif each.candidate.is_foreign:
            text = f"{name} lies in a folder of a tool; it is not looked into."
            others.add(name, NOT_A_TRACE, text, each.candidate.location)
        else:
            when = "" if self.how.heads is None else " yet"
            text = f"{name} was not looked into{when}; it may be a trace."
            others.add(name, UNDECIDED, text, each.candidate.location)


def single_file(location: Location, names: TraceNames) -> SpanFile:
    """The span that a directly named file is, whatever its name, or a folder that is a trace.

    Raises:
        StorageError: it is missing, unreadable or no regular file.
    """
    name = names.named_directly(location.name)
    folder = location.path.replace("\\", "/").rstrip("/").rpartition("/")[0]
    run = valid_text(folder.rpartition("/")[2]) or "."
    span = name.span or DEFAULT_SPAN if name.stamp is None else "1"
    state, recorded = file_state(location), recorded_s(location.name)
    told = name.format or None
    return SpanFile(run, name.worker, span, location, state, location.name, recorded, told)


def is_folder(place: Location) -> bool:
    """True when ``place`` is a folder (or a prefix) that can be listed.

    Raises:
        StorageError: the remote store cannot be reached, or has nothing of that name.
    """
    if place.filesystem is None:
        return os.path.isdir(place.path)
    with remote_errors(place.url):
        try:
            return bool(ask(place.filesystem, "info", place.path)["type"] == "directory")
        except FileNotFoundError:
            check_bucket(place)
            raise


def _spans_of_run(run: str, matches: Iterable[Match]) -> list[SpanFile]:
    workers: dict[str, dict[str | None, list[Match]]] = {}
    named: dict[str, dict[str, list[Match]]] = {}
    for match in matches:
        name = match.name
        by_stamp = workers.setdefault(name.worker, {})
        if name.span:
            named.setdefault(name.worker, {}).setdefault(name.span, []).append(match)
        else:
            by_stamp.setdefault(name.stamp, []).append(match)
    spans: list[SpanFile] = []
    for worker in sorted(workers, key=natural_key):
        by_stamp = workers[worker]
        stamped = sorted((s for s in by_stamp if s is not None), key=natural_key)
        in_order = [(str(n), by_stamp[stamp]) for n, stamp in enumerate(stamped, 1)]
        if None in by_stamp:
            in_order.insert(0, (DEFAULT_SPAN, by_stamp[None]))
        in_order += sorted(named.get(worker, {}).items())
        for span, of_span in in_order:
            spans.extend(
                _span_file(run, worker, span_name, match)
                for span_name, match in _told_apart(span, of_span)
            )
    return spans


def _span_file(run: str, worker: str, span: str, match: Match) -> SpanFile:
    recorded = recorded_s(match.location.name)
    told = match.name.format or None
    return SpanFile(run, worker, span, match.location, match.state, match.path, recorded, told)


def _told_apart(span: str, matches: list[Match]) -> Iterator[tuple[str, Match]]:
    """Names for files of one worker and stamp: the plain one keeps the number."""
    taken: set[str] = set()
    for match in sorted(matches, key=lambda match: match.location.path):
        name = span
        if name in taken:
            name = f"{span}-gz" if match.location.path.endswith(".gz") else f"{span}-2"
        while name in taken:
            name += "+"
        taken.add(name)
        yield name, match


def no_traces(place: Location, names: TraceNames, discovery: Discovery) -> StorageError:
    """What to tell of a folder that holds no trace."""
    others = discovery.others
    hint = f"Looked for {names.shown}, and into files that end with {names.shown_endings}, "
    hint += "in it and all folders below."
    if discovery.unfinished:
        hint += f" {discovery.unfinished[0]} is being written and appears when it is done."
    untold = [each for each in others.listed if each.text not in others.sentences]
    kinds = [each for each in untold if each.reason != UNDECIDED]
    hint += "".join(f" {each.text}" for each in kinds[:3])
    undecided = [each.name for each in others.listed if each.reason == UNDECIDED]
    if undecided:
        # Any JSON may be a trace; what says so in its name is more likely one.
        likely = sorted(undecided, key=lambda file: "trace" not in file.rpartition("/")[2])
        hint += f" Other files ({', '.join(likely[:3])}) may open when named directly."
    hint += "".join(f" {note}" for note in others.sentences[:3])
    return StorageError("no_traces", f"{place.url} holds no trace.", hint)
