"""Changes of recordings that every cause needs: copies, places to put something, insertions."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bench.diagnosis.model import Moment, Rank, Recording, Span, Stream, Wait, Work
from bench.diagnosis.reading import COMMUNICATION
from bench.diagnosis.writer import Style, Writer

STEP = re.compile(r"ProfilerStep#(\d+)")
LOADER = re.compile(r"enumerate\(DataLoader\)#.*")
SHALLOW = frozenset({"python_function"})

Change = Callable[[Work], float]


def copied(recording: Recording) -> Recording:
    """The recording anew, so that changes leave the original as it is."""
    return [_copied_rank(rank) for rank in recording]


def _copied_rank(rank: Rank) -> Rank:
    spans: dict[Span, Span] = {}
    works: dict[Work, Work] = {}
    moments = []
    for moment in rank.moments:
        span = spans.get(moment.span)
        if span is None:
            span = spans[moment.span] = replace(moment.span, args=dict(moment.span.args))
        launches = []
        for work in moment.launches:
            waits = [(works[other], us) for other, us in work.waits_for]
            works[work] = replace(work, args=dict(work.args), waits_for=waits)
            launches.append(works[work])
        wait = moment.wait
        if wait is not None:
            on = works[wait.on] if isinstance(wait.on, Work) else wait.on
            wait = Wait(on, wait.us)
        moments.append(Moment(span, moment.kind, moment.gap, wait, launches))
    return Rank(moments, dict(rank.head), rank.names, rank.thread)


def compute_stream(rank: Rank) -> Stream:
    """The stream with most kernels that compute."""
    counts = Counter(work.stream for work in rank.works if not is_communication(work))
    return counts.most_common(1)[0][0] if counts else (0, 7)


def is_communication(work: Work) -> bool:
    """Whether a work communicates."""
    return work.collective is not None or COMMUNICATION.search(work.name) is not None


def is_kernel(work: Work) -> bool:
    """Whether a work is a kernel that computes."""
    return work.category.lower() == "kernel" and not is_communication(work)


def ids_after(rank: Rank) -> Iterator[int]:
    """Correlation ids that the recording does not use."""
    used = [0]
    for moment in rank.moments:
        for key in ("correlation", "Python id"):
            value = moment.span.args.get(key)
            if isinstance(value, int):
                used.append(value)
    return itertools.count(max(used) + 1)


@dataclass
class Editor:
    """Inserts into one rank; moments are named by their place before any insertion."""

    rank: Rank

    def __post_init__(self) -> None:
        self.style = Style.of(self.rank)
        self.compute = compute_stream(self.rank)
        self.ids = ids_after(self.rank)
        self.inserted: dict[int, list[Moment]] = defaultdict(list)
        self.late: dict[int, float] = defaultdict(float)

    def writer(self) -> Writer:
        """Writes for the thread that trains."""
        return Writer(self.rank.thread, self.style, self.compute, self.ids)

    def insert(self, place: int, write: Callable[[Writer], Any]) -> None:
        """Insert before the moment of a place."""
        writer = self.writer()
        write(writer)
        self.inserted[place] += writer.moments
        self.late[place] += writer.pending

    def finish(self) -> None:
        """Put everything in."""
        moments: list[Moment] = []
        for place, moment in enumerate(self.rank.moments):
            moments += self.inserted.get(place, ())
            moment.gap += self.late.get(place, 0.0)
            moments.append(moment)
        self.rank.moments = moments


def steps(rank: Rank) -> list[tuple[int, int]]:
    """First and last moment of every step; of the whole recording if it has none."""
    begins: dict[Span, int] = {}
    found = []
    for row, moment in enumerate(rank.moments):
        if STEP.fullmatch(moment.span.name):
            if moment.kind == "begin":
                begins[moment.span] = row
            elif moment.kind == "end":
                found.append((begins[moment.span], row))
    return found or [(0, len(rank.moments) - 1)]


def places(rank: Rank) -> list[list[int]]:
    """Per step the moments before which the thread that trains is between operators."""
    allowed = [False] * len(rank.moments)
    open_spans = 0
    for row, moment in enumerate(rank.moments):
        is_main = (moment.span.pid, moment.span.tid) == rank.thread
        was_main = row > 0 and _thread(rank.moments[row - 1]) == rank.thread
        allowed[row] = open_spans == 0 and is_main and was_main
        if moment.kind != "point" and not _is_shallow(moment.span):
            open_spans += 1 if moment.kind == "begin" else -1
    return [
        [row for row in range(first + 1, last + 1) if allowed[row]] for first, last in steps(rank)
    ]


def before_optimizer(rank: Rank, step: list[int]) -> int:
    """The last place of a step before its optimizer, else the last one."""
    begins = [
        row
        for row in step
        if rank.moments[row].kind == "begin"
        and rank.moments[row].span.name.startswith("Optimizer.step#")
    ]
    return begins[0] if begins else step[-1]


def _thread(moment: Moment) -> tuple[object, object]:
    return moment.span.pid, moment.span.tid


def _is_shallow(span: Span) -> bool:
    return span.category in SHALLOW or STEP.fullmatch(span.name) is not None


def scale(rank: Rank, factor: Change) -> None:
    """Change the length of works."""
    for work in rank.works:
        work.us *= factor(work)


def crop(rank: Rank, first: int, count: int) -> None:
    """Keep some steps only."""
    known = steps(rank)[first : first + count]
    since, until = known[0][0], known[-1][1]
    inside = rank.moments[since : until + 1]
    begun = {moment.span for moment in inside if moment.kind == "begin"}
    ended = {moment.span for moment in inside if moment.kind == "end"}
    whole = begun & ended | {moment.span for moment in inside if moment.kind == "point"}
    works = {work for moment in inside for work in moment.launches}
    late = 0.0
    kept = []
    for moment in inside:
        if moment.span not in whole:
            late += moment.gap
            continue
        moment.gap += late
        late = 0.0
        for work in moment.launches:
            work.waits_for = [pair for pair in work.waits_for if pair[0] in works]
        if moment.wait is not None and isinstance(moment.wait.on, Work):
            moment.wait = moment.wait if moment.wait.on in works else None
        kept.append(moment)
    kept[0].gap = 0.0
    rank.moments = kept


def shorten(rank: Rank, name: re.Pattern[str], us: float) -> None:
    """Let slices of a name take a time, with nothing inside them."""
    inside: Span | None = None
    begun: set[Span] = set()
    gone: set[Span] = set()
    for moment in rank.moments:
        if inside is None and moment.kind == "begin" and name.fullmatch(moment.span.name):
            inside, begun = moment.span, set()
        elif moment.span is inside:
            inside = None
        elif inside is not None:
            if moment.kind == "begin":
                begun.add(moment.span)
            elif moment.kind == "point" or moment.span in begun:
                gone.add(moment.span)
    moments, inside = [], None
    for moment in rank.moments:
        if moment.span is inside:
            moment.gap, inside = us, None
        elif inside is not None:
            moment.gap = 0.0
        elif moment.kind == "begin" and name.fullmatch(moment.span.name):
            inside = moment.span
        if moment.span not in gone:
            moments.append(moment)
    rank.moments = moments


def repeated(rank: Rank, count: int) -> None:
    """Let the recording, with one step, go on for more of them."""
    whole, moments = rank.moments, list[Moment]()
    shift = next(ids_after(rank))
    for number in range(count):
        again = _copied_rank(rank)
        for moment in again.moments:
            _renumber(moment, number, shift)
        moments += again.moments
    rank.moments = moments if whole else whole


def _renumber(moment: Moment, number: int, shift: int) -> None:
    if moment.kind != "end":
        span = moment.span
        for key in ("correlation", "Python id", "Python parent id"):
            if isinstance(span.args.get(key), int):
                span.args[key] += number * shift
        if (step := STEP.fullmatch(span.name)) is not None:
            span.name = f"ProfilerStep#{int(step[1]) + number}"
    for work in moment.launches:
        if isinstance(work.args.get("correlation"), int):
            work.args["correlation"] += number * shift
