"""Trace discovery: turn a folder tree into runs, workers and spans.

Each folder that holds traces is a run; a trace's name gives its worker and stamp. The stamps of a
worker, in numeric order, are its spans 1, 2, 3 …; a trace without a stamp is the span ``default``
before them, or after them the span that its format names. Two traces with one stamp are two spans
(``1`` and ``1-gz``), and one unreadable folder does not hide the others.

The formats declare which names of files and folders are traces (:class:`TraceNames`). Other files
are traces if their content says so (:mod:`.format_detection`); :mod:`.detected_names` parses their
names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.storage.deadlines import request
from torch_tb_profiler.storage.detected_names import (
    assign_runs,
    join_groups,
    parse_detected_name,
    recording_time_s,
)
from torch_tb_profiler.storage.errors import StorageError, remote_errors
from torch_tb_profiler.storage.file_completeness import CompletenessTracker
from torch_tb_profiler.storage.format_detection import UNREADABLE, FormatDetection, FormatScanner
from torch_tb_profiler.storage.local_walk import LocalWalk
from torch_tb_profiler.storage.locations import Location, file_state, valid_text
from torch_tb_profiler.storage.names import (
    DistinctNames,
    TraceName,
    TraceNames,
    natural_key,
    run_order,
)
from torch_tb_profiler.storage.remote_walk import (
    check_bucket,
    classify_objects,
    list_objects,
    names_in_folder,
)
from torch_tb_profiler.storage.role_folders import join_roles
from torch_tb_profiler.storage.run_grouping import (
    join_rank_folders,
    only_workers,
    split_jobs,
    split_strangers,
)
from torch_tb_profiler.storage.skipped_files import NOT_A_TRACE, UNDECIDED, SkippedFiles
from torch_tb_profiler.storage.trace_files import (
    MemberFile,
    NamedTrace,
    SpanFile,
    UnnamedFile,
    join_member_files,
)

__all__ = [
    "Discovery",
    "DiscoveryOptions",
    "SpanFile",
    "discover",
    "file_as_span",
    "is_folder",
    "no_traces_error",
]

DEFAULT_SPAN = "default"
SELECTED = FormatDetection(True)


class Discovery(Struct):
    """The content of a logdir.

    Attributes:
        files: Every trace, by run, worker and time.
        skipped: Files that were seen and not read (links out, no permission, not a trace).
        unfinished: Names of files that are still being written; they are not among ``files``.
        undecided: Number of files whose content was not inspected yet.
    """

    files: list[SpanFile] = field(default_factory=list)
    skipped: SkippedFiles = field(default_factory=SkippedFiles)
    unfinished: list[str] = field(default_factory=list)
    undecided: int = 0


class DiscoveryOptions(Struct, frozen=True):
    """How a logdir is searched.

    Attributes:
        names: Which files and folders are traces.
        completeness: Excludes files that are still being written; None takes all files.
        scanner: Detects formats from file content; None goes by names alone.
        selected: Paths, relative to the logdir, of files that are traces whatever they hold.
        follows_links: Whether links that lead out of the logdir are followed.
        on_partial: Called with the result so far before file content is read, which takes time.
    """

    names: TraceNames
    completeness: CompletenessTracker | None = None
    scanner: FormatScanner | None = None
    selected: Collection[str] = ()
    follows_links: bool = False
    on_partial: Callable[[Discovery], None] | None = None


def discover(location: Location, options: DiscoveryOptions) -> Discovery:
    """All traces of a logdir, or the one trace that ``location`` is.

    A local folder is walked once. A remote one, or a remote file, costs one recursive listing, and
    one request per file whose head is read.

    Raises:
        StorageError: ``location`` does not exist or cannot be listed at all.
    """
    names = options.names
    is_local = location.filesystem is None
    if is_local and names.parse_folder(location.name, partial(_list_names, location)) is not None:
        return Discovery(files=[file_as_span(replace(location, is_folder=True), names)])
    result = Discovery()
    walk: LocalWalk | None = None
    entries: Iterable[NamedTrace | MemberFile | UnnamedFile]
    if is_local:
        walk = LocalWalk(
            location,
            names,
            result.skipped,
            result.unfinished,
            options.completeness,
            options.follows_links,
        )
        entries = list(walk.entries())
    else:
        listing = list_objects(location, result.skipped)
        if location.path.rstrip("/") in listing:
            return Discovery(files=[file_as_span(location, names)])
        contents = partial(names_in_folder, listing, location.path)
        if names.parse_folder(location.name, contents) is not None:
            return Discovery(files=[file_as_span(replace(location, is_folder=True), names)])
        entries = list(classify_objects(location, names, listing))
    named = [entry for entry in entries if isinstance(entry, NamedTrace)]
    named += join_member_files(entry for entry in entries if isinstance(entry, MemberFile))
    unnamed = [entry for entry in entries if isinstance(entry, UnnamedFile)]
    return _RunAssembly(location, options, result, walk, named, unnamed).discovery()


def _list_names(folder: Location) -> list[str]:
    """Names in a local folder; empty where it cannot be listed."""
    with suppress(OSError):
        return os.listdir(folder.path)
    return []


class _RunAssembly(Struct, frozen=True):
    """Assembles runs from the entries of a logdir, and records the skipped files."""

    location: Location
    options: DiscoveryOptions
    result: Discovery
    walk: LocalWalk | None
    named: list[NamedTrace]
    unnamed: list[UnnamedFile]

    def discovery(self) -> Discovery:
        scanner = self.options.scanner
        detections = self._detections()
        if scanner is None:
            return self._assemble(detections)
        candidates = [entry.candidate for entry in self.unnamed]
        pending = scanner.pending(
            candidate for candidate in candidates if candidate.key not in self.options.selected
        )
        if pending:
            if self.options.on_partial is not None:
                self.options.on_partial(self._partial(detections))
            self.result.undecided = scanner.scan(pending)
            detections = self._detections()
        return self._assemble(detections)

    def _partial(self, detections: dict[str, FormatDetection]) -> Discovery:
        """The result before any further file content is read."""
        skipped, unfinished = self.result.skipped.copy(), list(self.result.unfinished)
        walk = self.walk and replace(self.walk, skipped=skipped, unfinished=unfinished)
        result = Discovery(skipped=skipped, unfinished=unfinished)
        return replace(self, result=result, walk=walk)._assemble(detections)

    def _detections(self) -> dict[str, FormatDetection]:
        """Path → known detection of the files that no name pattern matches."""
        scanner = self.options.scanner
        detections = {}
        for entry in self.unnamed:
            detection = None if scanner is None else scanner.cached(entry.candidate)
            if entry.candidate.key in self.options.selected:
                detection = SELECTED
            if detection is not None:
                detections[entry.candidate.key] = detection
        return detections

    def _assemble(self, detections: dict[str, FormatDetection]) -> Discovery:
        by_run: dict[str, list[NamedTrace]] = {}
        for trace in self.named:
            by_run.setdefault(trace.folder, []).append(trace)
        detected: dict[str, list[tuple[UnnamedFile, FormatDetection]]] = {}
        for entry in self.unnamed:
            detection = detections.get(entry.candidate.key)
            if detection is None or not detection.is_trace:
                self._skip(entry, detection)
            elif self._is_complete(entry):
                detected.setdefault(entry.folder, []).append((entry, detection))
        for folder in sorted(detected):
            self._add_runs(folder, detected[folder], by_run)
        by_run = split_strangers(split_jobs(self._without_companions(by_run)))
        by_run = join_roles(join_rank_folders(by_run))
        if "" in by_run:
            own_name = "." if self.location.name in by_run else self.location.name or "."
            by_run[own_name] = by_run.pop("")
        for run in sorted(by_run, key=run_order):
            self.result.files.extend(_spans_of_run(run, by_run[run]))
        return self.result

    def _add_runs(
        self,
        folder: str,
        detected: list[tuple[UnnamedFile, FormatDetection]],
        by_run: dict[str, list[NamedTrace]],
    ) -> None:
        """Add the traces of one folder that were detected by content to their runs."""
        endings = self.options.names.endings
        names = [
            parse_detected_name(
                entry.candidate.location.name, endings, detection.rank, detection.world_size
            )
            for entry, detection in detected
        ]
        of_job = [each.format in self.options.names.accompanying_runs for _, each in detected]
        names = join_groups(names, of_job)
        runs = assign_runs(folder, set(names), by_run.keys())
        for (entry, detection), name in zip(detected, names, strict=True):
            candidate, run = entry.candidate, runs[name]
            trace_name = TraceName(name.worker, None, detection.format)
            trace = NamedTrace(entry.folder, candidate.location, candidate.state, trace_name)
            by_run.setdefault(run, []).append(trace)

    def _without_companions(
        self, by_run: dict[str, list[NamedTrace]]
    ) -> dict[str, list[NamedTrace]]:
        """The runs without traces that repeat a more detailed one of their folder."""
        by_folder: dict[str, list[NamedTrace]] = {}
        for traces in by_run.values():
            for trace in traces:
                by_folder.setdefault(trace.folder, []).append(trace)
        shown = {
            id(trace)
            for traces in by_folder.values()
            for trace in only_workers(traces, self.options.names, self.result.skipped)
        }
        remaining = {
            run: [trace for trace in traces if id(trace) in shown] for run, traces in by_run.items()
        }
        return {run: traces for run, traces in remaining.items() if traces}

    def _is_complete(self, entry: UnnamedFile) -> bool:
        if self.walk is None or entry.status is None:
            return True
        if self.walk.is_complete(entry.candidate.location, entry.status):
            return True
        self.walk.add_unfinished(entry.candidate.key)
        return False

    def _skip(self, entry: UnnamedFile, detection: FormatDetection | None) -> None:
        name, skipped = entry.candidate.key, self.result.skipped
        if detection is not None:
            opens = None if detection.reason == UNREADABLE else entry.candidate.location
            skipped.add(name, detection.reason, f"{name} {detection.text}", opens)
        elif entry.candidate.is_in_tool_folder:
            text = f"{name} is in a tool's folder and was not inspected."
            skipped.add(name, NOT_A_TRACE, text, entry.candidate.location)
        else:
            when = "" if self.options.scanner is None else " yet"
            text = f"{name} was not inspected{when}; it may be a trace."
            skipped.add(name, UNDECIDED, text, entry.candidate.location)


def file_as_span(location: Location, names: TraceNames) -> SpanFile:
    """The span of a directly named trace, a file or a folder, whatever its name.

    Raises:
        StorageError: it is missing, unreadable or not a regular file.
    """
    name = names.parse_any(location.name)
    folder = location.path.replace("\\", "/").rstrip("/").rpartition("/")[0]
    run = valid_text(folder.rpartition("/")[2]) or "."
    span = name.span or DEFAULT_SPAN if name.stamp is None else "1"
    return SpanFile(
        run,
        name.worker,
        span,
        location,
        file_state(location),
        location.name,
        recording_time_s(location.name),
        name.format or None,
    )


def is_folder(location: Location) -> bool:
    """True when ``location`` is a folder (or a prefix) that can be listed.

    Raises:
        StorageError: the remote store cannot be reached, or has nothing with that name.
    """
    if location.filesystem is None:
        return os.path.isdir(location.path)
    with remote_errors(location.url):
        try:
            return bool(request(location.filesystem, "info", location.path)["type"] == "directory")
        except FileNotFoundError:
            check_bucket(location)
            raise


def _spans_of_run(run: str, traces: Iterable[NamedTrace]) -> list[SpanFile]:
    workers: dict[str, dict[str | None, list[NamedTrace]]] = {}
    named: dict[str, dict[str, list[NamedTrace]]] = {}
    for trace in traces:
        name = trace.name
        by_stamp = workers.setdefault(name.worker, {})
        if name.span:
            named.setdefault(name.worker, {}).setdefault(name.span, []).append(trace)
        else:
            by_stamp.setdefault(name.stamp, []).append(trace)
    spans: list[SpanFile] = []
    for worker in sorted(workers, key=natural_key):
        by_stamp = workers[worker]
        stamped = sorted((s for s in by_stamp if s is not None), key=natural_key)
        in_order = [(str(n), by_stamp[stamp]) for n, stamp in enumerate(stamped, 1)]
        if None in by_stamp:
            in_order.insert(0, (DEFAULT_SPAN, by_stamp[None]))
        in_order += sorted(named.get(worker, {}).items())
        for span, span_traces in in_order:
            spans.extend(
                _span_file(run, worker, span_name, trace)
                for span_name, trace in _disambiguate(span, span_traces)
            )
    return spans


def _span_file(run: str, worker: str, span: str, trace: NamedTrace) -> SpanFile:
    return SpanFile(
        run,
        worker,
        span,
        trace.location,
        trace.state,
        trace.path,
        recording_time_s(trace.location.name),
        trace.name.format or None,
    )


def _disambiguate(span: str, traces: list[NamedTrace]) -> Iterator[tuple[str, NamedTrace]]:
    """Distinct span names for traces of one worker and stamp; the uncompressed one comes first and
    keeps the plain name."""
    taken: set[str] = set()
    distinct = DistinctNames()
    for trace in sorted(traces, key=lambda trace: trace.location.path):
        name = span
        if name in taken:
            name = f"{span}-gz" if trace.location.path.endswith(".gz") else f"{span}-2"
        name = distinct.choose(name, name, taken.__contains__)
        taken.add(name)
        yield name, trace


def no_traces_error(location: Location, names: TraceNames, discovery: Discovery) -> StorageError:
    """The error for a folder without traces; its hint lists what was searched and skipped."""
    skipped = discovery.skipped
    hint = f"Searched it and all folders below for {names.patterns_text}, and inspected files that "
    hint += f"end with {names.endings_text}."
    if discovery.unfinished:
        hint += f" {discovery.unfinished[0]} is being written and appears when it is complete."
    unreported = [each for each in skipped.listed if each.text not in skipped.sentences]
    others = [each for each in unreported if each.reason != UNDECIDED]
    hint += "".join(f" {each.text}" for each in others[:3])
    undecided = [each.name for each in skipped.listed if each.reason == UNDECIDED]
    if undecided:
        # Any JSON may be a trace; one with "trace" in its name is more likely to be.
        likely = sorted(undecided, key=lambda file: "trace" not in file.rpartition("/")[2])
        hint += f" Other files ({', '.join(likely[:3])}) may open when named directly."
    hint += "".join(f" {note}" for note in skipped.sentences[:3])
    return StorageError("no_traces", f"{location.url} holds no trace.", hint)
