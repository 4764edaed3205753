"""Jobs that wrote into one folder, told apart by the dates in the names of their traces.

Tools that call a trace after its process (``node1_4711_20250109074804042_ascend_pt``) put those of
every launch side by side. Views of a run compare its workers, and those of two jobs are no ranks of
each other. Processes of one job begin to record together; what begins long after all that
was recorded before is another job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from torch_tb_profiler.storage.found import Match

APART = timedelta(minutes=2)
"""Ranks of one job begin within seconds of each other, by clocks of hosts that may differ."""

DATE, DATE_DIGITS, FIRST_YEAR = "%Y%m%d%H%M%S", 14, 2000
"""Before that year nothing was recorded: it is a number of µs or ns since 1970."""


def runs_of_jobs(by_run: Mapping[str, Sequence[Match]]) -> dict[str, list[Match]]:
    """The runs, those with the traces of several jobs as one run below for each of these.

    Traces whose stamps are no dates stay where they are.

    Args:
        by_run: Run → its traces.
    """
    split: dict[str, list[Match]] = {}
    for run, matches in by_run.items():
        workers: dict[str, list[datetime]] = {}
        for match in matches:
            date = _date(match.name.stamp)
            if date is not None:
                workers.setdefault(match.name.worker, []).append(date)
        jobs = list(_jobs(workers))
        if len(jobs) < 2:
            split.setdefault(run, []).extend(matches)
            continue
        name_of = {
            worker: "/".join(part for part in (run, began.strftime(DATE)) if part)
            for began, of_job in jobs
            for worker in of_job
        }
        for match in matches:
            is_dated = _date(match.name.stamp) is not None
            split.setdefault(name_of[match.name.worker] if is_dated else run, []).append(match)
    return split


def _jobs(workers: Mapping[str, Sequence[datetime]]) -> Iterator[tuple[datetime, list[str]]]:
    """When each job began, and its workers."""
    began = until = datetime.min
    of_job: list[str] = []
    for worker in sorted(workers, key=lambda each: (min(workers[each]), each)):
        first = min(workers[worker])
        if of_job and first - until > APART:
            yield began, of_job
            of_job = []
        if not of_job:
            began = first
        of_job.append(worker)
        until = max(until, *workers[worker])
    if of_job:
        yield began, of_job


def _date(stamp: str | None) -> datetime | None:
    if stamp is None or len(stamp) < DATE_DIGITS:
        return None
    try:
        date = datetime.strptime(stamp[:DATE_DIGITS], DATE)
    except ValueError:
        return None
    return date if date.year >= FIRST_YEAR else None
