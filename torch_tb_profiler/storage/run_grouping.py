"""Rules that decide which traces of a logdir form one run.

* :func:`drop_companions`: of two files with the same recording only the more detailed one stays.
* :func:`drop_accompanying`: execution traces are joined to the trace of their rank.
* :func:`drop_accompanying_runs`: dumps of a job are no workers of the run of its traces.
* :func:`split_jobs`: launches that wrote into one folder become one run each. Tools that name a
  trace after its process (``node1_4711_20250109074804042_ascend_pt``) put the traces of every
  launch side by side, and the workers of two jobs must not be compared like ranks.
* :func:`split_strangers`: traces of one folder that nothing relates are runs of their own: those of
  another format, and files with names that people choose, unless they differ only in the rank.
* :func:`join_rank_folders`: ``job/rank0/…`` and ``job/rank1/…`` become the workers ``rank0`` and
  ``rank1`` of the run ``job``, like files that differ only in the rank (:mod:`.detected_names`);
  so do the folders of hosts that rocprofv3 writes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from torch_tb_profiler.storage.detected_names import is_process_file, parse_detected_name
from torch_tb_profiler.storage.names import TraceNames
from torch_tb_profiler.storage.skipped_files import SkippedFiles
from torch_tb_profiler.storage.trace_files import NamedTrace

COMPANION = "companion"

_RANK = re.compile(r"rank[-_ .]?([0-9]{1,9})", re.IGNORECASE)

MAX_JOB_START_GAP = timedelta(minutes=2)
"""Ranks of one job start recording within seconds of each other, by host clocks that may differ. A
trace that starts later than this after all earlier recordings belongs to another job."""

RANKS_OWN_FOLDER = "profiler"
"""MindSpore writes into such a folder in the folder of each rank: ``rank_0/profiler/…``."""

DATE, DATE_DIGITS, FIRST_YEAR = "%Y%m%d%H%M%S", 14, 2000
"""A stamp with an earlier year is not a date but a number of µs or ns since 1970."""


def only_workers(
    traces: Sequence[NamedTrace], names: TraceNames, skipped: SkippedFiles
) -> list[NamedTrace]:
    """The traces of one folder without those that are no workers; ``skipped`` receives these."""
    remaining = drop_companions(traces, names.replaces, skipped)
    remaining = drop_accompanying(remaining, names.accompanying, skipped)
    return drop_accompanying_runs(remaining, names.accompanying_runs, skipped)


def drop_companions(
    traces: Sequence[NamedTrace], replaces: Iterable[tuple[str, str]], skipped: SkippedFiles
) -> list[NamedTrace]:
    """The traces of one folder without those that repeat a more detailed one.

    Args:
        traces: All traces of the folder.
        replaces: (ending, ending of the companion that is not shown).
        skipped: Receives the companions; they can still be opened by name.
    """
    by_name = {trace.location.name: trace for trace in traces if not trace.location.members}
    companions = dict(_companions(by_name, replaces))
    for name, replacement in companions.items():
        trace = by_name[name]
        text = (
            f"{trace.path} is the same recording as {replacement}, which has more detail; only "
            "that one is shown."
        )
        skipped.add(trace.path, COMPANION, text, trace.location)
    return [trace for trace in traces if trace.location.name not in companions]


def drop_accompanying(
    traces: Sequence[NamedTrace],
    accompanying: Iterable[tuple[str, re.Pattern[str]]],
    skipped: SkippedFiles,
) -> list[NamedTrace]:
    """The traces of one folder without those that are joined to the trace of their rank.

    Args:
        traces: All traces of the folder.
        accompanying: (format, names of its files).
        skipped: Receives them; they can still be opened by name.
    """
    patterns = dict(accompanying)
    joined = [
        trace
        for trace in traces
        if (names := patterns.get(trace.name.format)) and names.fullmatch(trace.location.name)
    ]
    others: dict[str | None, list[NamedTrace]] = {}
    for trace in traces if joined else ():
        if trace.name.format not in patterns:
            others.setdefault(_rank_text(trace), []).append(trace)
    dropped = set()
    for trace in joined:
        rank = _rank_text(trace)
        partners = others.get(rank, [])
        if rank is None and len(others) == 1 and not partners:
            (partners,) = others.values()
        if partners:
            dropped.add(id(trace))
            text = (
                f"{trace.path} accompanies {partners[0].path} and is joined to it; opened by name "
                "it is shown alone."
            )
            skipped.add(trace.path, COMPANION, text, trace.location)
    return [trace for trace in traces if id(trace) not in dropped]


def drop_accompanying_runs(
    traces: Sequence[NamedTrace], formats: Collection[str], skipped: SkippedFiles
) -> list[NamedTrace]:
    """The traces of one folder without those that belong to the run of the others. Those in a
    bucket stay: nothing lists its folders later.

    Args:
        traces: All traces of the folder.
        formats: Formats of such files.
        skipped: Receives them; they can still be opened by name.
    """
    other = next((trace for trace in traces if trace.name.format not in formats), None)
    if other is None:
        return list(traces)
    remaining = []
    for trace in traces:
        if trace.name.format not in formats or trace.location.filesystem is not None:
            remaining.append(trace)
            continue
        text = (
            f"{trace.path} belongs to the run of {other.path} and is no worker of it; opened by "
            "name it is shown alone."
        )
        skipped.add(trace.path, COMPANION, text, trace.location)
    return remaining


def _rank_text(trace: NamedTrace) -> str | None:
    """The digits of the rank in the name of a trace; None without one."""
    match = _RANK.search(trace.location.name)
    return None if match is None else match[1].lstrip("0") or "0"


def _companions(
    names: Iterable[str], replaces: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """(companion, name of the file that replaces it)."""
    known = list(names)
    for ending, other in replaces:
        stems = {name.removesuffix(ending): name for name in known if name.endswith(ending)}
        detailed = set(stems.values())
        for name in known:
            stem = name.removesuffix(other)
            if name.endswith(other) and name not in detailed and stem in stems:
                yield name, stems[stem]


def split_strangers(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, list[NamedTrace]]:
    """Split each run into the sets of traces that belong together, below the original.

    What tools name is together with all of its format, and with every trace of the same worker,
    whatever its format is (windows of a profiler beside the record of the whole run). The largest
    set of such keeps the name of the run, which nothing else takes.

    Args:
        by_run: Run → its traces.
    """
    split: dict[str, list[NamedTrace]] = {}
    for run, traces in by_run.items():
        related = _related(traces)
        of_tools = [each for each in related if not all(trace.name.is_free for trace in each)]
        keeps = related[0] if len(related) == 1 else min(of_tools, key=_by_size, default=None)
        for each in related:
            name = run
            if each is not keeps:
                name = f"{run}/{_set_name(each)}" if run else _set_name(each)
                while name in by_run or name in split:
                    name += "+"
            split.setdefault(name, []).extend(each)
    return split


def _related(traces: Sequence[NamedTrace]) -> list[list[NamedTrace]]:
    """The sets of traces of one folder that belong together, in order of their first trace."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(key: tuple[str, str]) -> tuple[str, str]:
        while (above := parent.setdefault(key, key)) != key:
            parent[key] = key = parent.setdefault(above, above)
        return key

    for trace in traces:
        first, second = _relations(trace)
        parent[root(first)] = root(second)
    members: dict[tuple[str, str], list[NamedTrace]] = {}
    for trace in traces:
        members.setdefault(root(_relations(trace)[0]), []).append(trace)
    return list(members.values())


def _relations(trace: NamedTrace) -> tuple[tuple[str, str], tuple[str, str]]:
    """What a trace shares with those that belong to it."""
    name = trace.name
    if not name.is_free:
        return ("format", name.format), ("worker", name.worker)
    detected = parse_detected_name(name.worker, ())
    alike = f"{name.format}/{detected.is_rank}/{detected.group}"
    return ("free", alike), ("worker", name.worker)


def _by_size(traces: Sequence[NamedTrace]) -> tuple[int, str]:
    """The order of sets: the largest first, of equal ones that with the first path."""
    return -len(traces), min(trace.path for trace in traces)


def _set_name(traces: Sequence[NamedTrace]) -> str:
    """The last part of the name of the run of traces that belong together."""
    name = traces[0].name
    if not name.is_free:
        return name.format or name.worker
    return parse_detected_name(name.worker, ()).group or name.format


def split_jobs(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, list[NamedTrace]]:
    """Split each run with the traces of several jobs into one run per job, below the original.

    Traces whose stamps are not dates stay in their run.

    Args:
        by_run: Run → its traces.
    """
    split: dict[str, list[NamedTrace]] = {}
    for run, traces in by_run.items():
        dates_by_worker: dict[str, list[datetime]] = {}
        for trace in traces:
            date = _parse_date(trace.name.stamp)
            if date is not None:
                dates_by_worker.setdefault(trace.name.worker, []).append(date)
        jobs = list(_jobs(dates_by_worker))
        if len(jobs) < 2:
            split.setdefault(run, []).extend(traces)
            continue
        run_of_worker = {
            worker: "/".join(part for part in (run, start.strftime(DATE)) if part)
            for start, workers in jobs
            for worker in workers
        }
        for trace in traces:
            is_dated = _parse_date(trace.name.stamp) is not None
            job_run = run_of_worker[trace.name.worker] if is_dated else run
            split.setdefault(job_run, []).append(trace)
    return split


def _jobs(
    dates_by_worker: Mapping[str, Sequence[datetime]],
) -> Iterator[tuple[datetime, list[str]]]:
    """(start, workers) of each job."""
    start = end = datetime.min
    workers: list[str] = []
    for worker in sorted(dates_by_worker, key=lambda each: (min(dates_by_worker[each]), each)):
        first = min(dates_by_worker[worker])
        if workers and first - end > MAX_JOB_START_GAP:
            yield start, workers
            workers = []
        if not workers:
            start = first
        workers.append(worker)
        end = max(end, *dates_by_worker[worker])
    if workers:
        yield start, workers


def _parse_date(stamp: str | None) -> datetime | None:
    if stamp is None or len(stamp) < DATE_DIGITS:
        return None
    try:
        date = datetime.strptime(stamp[:DATE_DIGITS], DATE)
    except ValueError:
        return None
    return date if date.year >= FIRST_YEAR else None


def join_rank_folders(by_run: Mapping[str, Sequence[NamedTrace]]) -> dict[str, list[NamedTrace]]:
    """Join runs whose names differ only in the rank of their last part (or of the part before
    :data:`RANKS_OWN_FOLDER`) into one run, and those of hosts, whose files are named after
    processes.

    Runs stay separate if the joined run would collide with an existing one, or if only one such
    folder exists.

    Args:
        by_run: Run → its traces.
    """
    groups: dict[str, dict[str, str]] = {}
    for run, traces in by_run.items():
        parent, _, last = run.rpartition("/")
        inside = ""
        if last == RANKS_OWN_FOLDER:
            parent, inside = parent.rpartition("/")[0], last
            last = run.split("/")[-2] if "/" in run else ""
        name = parse_detected_name(last, ())
        if last and all(is_process_file(trace.location.name) for trace in traces):
            groups.setdefault(parent, {})[run] = last
        elif last and name.is_rank:
            group = "" if name.is_plain else name.group
            joined_run = "/".join(part for part in (parent, group, inside) if part)
            groups.setdefault(joined_run, {})[run] = name.worker
    targets = {
        run: (joined_run, rank)
        for joined_run, ranks in groups.items()
        if len(set(ranks.values())) == len(ranks) > 1 and joined_run not in by_run
        for run, rank in ranks.items()
    }
    joined: dict[str, list[NamedTrace]] = {}
    for run, traces in by_run.items():
        joined_run, rank = targets.get(run, (run, None))
        joined.setdefault(joined_run, []).extend(_name_by_rank(traces, rank))
    return joined


def _name_by_rank(traces: Sequence[NamedTrace], rank: str | None) -> list[NamedTrace]:
    """The traces of a folder with workers named after its rank; unchanged where ``rank`` is
    None."""
    if rank is None:
        return list(traces)
    workers = {trace.name.worker for trace in traces}
    names = {each: rank if len(workers) == 1 else f"{rank}-{each}" for each in workers}
    return [
        replace(trace, name=replace(trace.name, worker=names[trace.name.worker]))
        for trace in traces
    ]
