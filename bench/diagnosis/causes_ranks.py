"""Causes of which a run of several ranks shows more than one rank does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

from bench.diagnosis import editing
from bench.diagnosis.editing import Editor, before_optimizer, places
from bench.diagnosis.model import Rank, Recording, Work
from bench.diagnosis.programs import COMMUNICATION, COMPUTE
from bench.diagnosis.replay import replay
from bench.diagnosis.writer import Writer


def late_rank(recording: Recording, random: Random, amount: float) -> None:
    """The host of one rank has more to do in every step."""
    rank = random.choice(recording)
    editor = Editor(rank)
    kind = random.choice(["operators", "python"])
    for step in places(rank):
        us = amount * random.uniform(0.8, 1.2)

        def write(writer: Writer, us: float = us) -> None:
            if kind == "python":
                writer.frame("train.py(12): augment", us)
            else:
                for _ in range(20):
                    writer.slice("aten::index", us / 20)

        editor.insert(step[0], write)
    editor.finish()


def slow_gpu(recording: Recording, random: Random, amount: float) -> None:
    """The device of one rank computes more slowly."""
    rank = random.choice(recording)
    computed = sum(work.us for work in rank.works if editing.is_kernel(work))
    factor = 1.0 + amount * len(editing.steps(rank)) / computed
    editing.scale(rank, lambda work: factor if editing.is_kernel(work) else 1.0)


def lost_overlap(recording: Recording, random: Random, amount: float) -> None:
    """Every collective is waited for at once, instead of at the end of the backward pass."""
    kept_overlap(recording, random, amount)
    for rank in recording:
        pending: list[Work] = []
        for work in rank.works:
            if work.collective is not None:
                pending.append(work)
            elif pending and editing.is_kernel(work):
                work.waits_for += [(each, 1.5) for each in pending]
                pending = []


def kept_overlap(recording: Recording, random: Random, amount: float) -> None:
    """Collectives take a while, but the computation until the next one hides each."""
    del random
    works = [work for work in recording[0].works if work.collective is not None]
    wanted = amount * len(editing.steps(recording[0])) / sum(work.us for work in works)
    ran = replay(recording)[0].works
    starts = sorted(ran[work][0] for work in works)
    hidden = 0.8 * min(b - a for a, b in pairwise(starts)) / max(work.us for work in works)
    factor = max(min(wanted, hidden), 1.0)
    for rank in recording:
        editing.scale(rank, lambda work: factor if work.collective is not None else 1.0)


def slow_network(recording: Recording, random: Random, amount: float) -> None:
    """Collectives take so long that computation hides only a part of them."""
    del random
    works = [work for work in recording[0].works if work.collective is not None]
    total = sum(work.us for work in works)
    factor = 1.0 + amount * len(editing.steps(recording[0])) / total
    for rank in recording:
        editing.scale(rank, lambda work: factor if work.collective is not None else 1.0)


def small_collectives(recording: Recording, random: Random, amount: float) -> None:
    """Every parameter is reduced on its own after the backward pass."""
    us = random.uniform(12.0, 25.0)
    count = max(130, int(amount / us))
    _reduce(recording, count, us, 16 << 10)


def one_collective(recording: Recording, random: Random, amount: float) -> None:
    """All parameters are reduced in one bucket."""
    us = random.uniform(12.0, 25.0)
    count = max(130, int(amount / us))
    _reduce(recording, 1, us + count * 0.2, count * (16 << 10))


def _reduce(recording: Recording, count: int, us: float, size: int) -> None:
    for rank in recording:
        editor = Editor(rank)
        for number, step in enumerate(places(rank)):

            def write(writer: Writer, number: int = number) -> None:
                for index in range(count):
                    key = ("extra", number, index)
                    writer.collective(key, "allreduce", us, COMMUNICATION, size)
                    writer.call("StreamWaitEvent", 1.0)

            editor.insert(before_optimizer(rank, step), write)
        editor.finish()
        _order(rank)


def _order(rank: Rank) -> None:
    """Let added collectives wait for the computation before them, and what follows for them."""
    last: Work | None = None
    pending: Work | None = None
    for work in rank.works:
        if work.collective is not None and work.collective[0] == "extra":
            if last is not None:
                work.waits_for.append((last, 1.5))
            pending = work
        elif work.stream == COMPUTE:
            if pending is not None:
                work.waits_for.append((pending, 1.5))
                pending = None
            last = work


def uneven_work(recording: Recording, random: Random, amount: float) -> None:
    """In every step another rank has more to do."""
    order = [number % len(recording) for number in range(len(places(recording[0])))]
    random.shuffle(order)
    _more_work(recording, lambda rank, step: amount if order[step] == rank else 0.0)


def even_work(recording: Recording, random: Random, amount: float) -> None:
    """The same work, done by all ranks in equal parts."""
    del random
    _more_work(recording, lambda _rank, _step: amount / len(recording))


def _more_work(recording: Recording, us_of: Callable[[int, int], float]) -> None:
    for number, rank in enumerate(recording):
        editor = Editor(rank)
        for step, row in enumerate(places(rank)):
            us = us_of(number, step)

            def write(writer: Writer, us: float = us) -> None:
                for _ in range(20 if us else 0):
                    writer.slice("aten::index", us / 20)

            editor.insert(row[0], write)
        editor.finish()
