"""Causes on the host: the program does something else than launch work.

Every function puts one cause into a recording. ``amount`` is the host time that it takes, µs per
step; what that costs the program follows from the replay.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from bench.diagnosis.editing import LOADER, Editor, places
from bench.diagnosis.model import Recording
from bench.diagnosis.writer import Writer

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
COMPILE = "_compile.compile_inner (dynamo_timed)"


def loader_stall(recording: Recording, random: Random, amount: float) -> None:
    """The loader is late in every step."""
    [rank] = recording
    slow = 0
    for moment in rank.moments:
        if moment.kind == "end" and LOADER.fullmatch(moment.span.name):
            moment.gap += amount * random.uniform(0.6, 1.4)
            slow += 1
    if slow:
        return
    editor = Editor(rank)
    for step in places(rank):
        us = amount * random.uniform(0.6, 1.4)

        def load(writer: Writer, us: float = us) -> None:
            writer.slice(SINGLE, us, writer.style.annotation)

        editor.insert(step[0], load)
    editor.finish()


def _scattered(
    recording: Recording,
    random: Random,
    amount: float,
    *,
    pieces: int,
    write: Callable[[Writer, float], None],
) -> None:
    """Put something of a length at some places of every step."""
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        chosen = random.sample(step, min(pieces, len(step)))
        for place in sorted(chosen):
            us = amount / len(chosen) * random.uniform(0.7, 1.3)

            def insert(writer: Writer, us: float = us) -> None:
                write(writer, us)

            editor.insert(place, insert)
    editor.finish()


def garbage_collection(recording: Recording, random: Random, amount: float) -> None:
    """The collector of Python pauses every step somewhere."""

    def write(writer: Writer, us: float) -> None:
        writer.frame("Python GC", us)

    _scattered(recording, random, amount, pieces=random.randint(1, 3), write=write)


def compilation(recording: Recording, random: Random, amount: float) -> None:
    """Every step compiles again."""

    def write(writer: Writer, us: float) -> None:
        with writer.span("entire_frame_compile", writer.style.annotation):
            writer.slice(COMPILE, us, writer.style.annotation)

    _scattered(recording, random, amount, pieces=random.randint(1, 2), write=write)


def python_code(recording: Recording, random: Random, amount: float) -> None:
    """Python computes in every step, at one place."""
    name = random.choice(["train.py(88): metrics", "augment.py(12): normalize"])

    def write(writer: Writer, us: float) -> None:
        writer.frame(name, us)

    _scattered(recording, random, amount, pieces=1, write=write)


def host_operators(recording: Recording, random: Random, amount: float) -> None:
    """Operators on the host in every step, at one place."""
    name = random.choice(["aten::sort", "aten::index", "aten::unique_dim", "aten::nonzero"])

    def write(writer: Writer, us: float) -> None:
        count = max(2, int(us / random.uniform(60.0, 400.0)))
        for _ in range(count):
            writer.slice(name, us / count)

    _scattered(recording, random, amount, pieces=1, write=write)


def long_calls(recording: Recording, random: Random, amount: float) -> None:
    """Memory is given back and allocated again in every step."""

    def write(writer: Writer, us: float) -> None:
        with writer.span("aten::empty", us=2.0):
            writer.call(random.choice(["HostAlloc", "Malloc"]), max(us, 150.0))

    pieces = max(1, min(4, int(amount / 400.0)))
    _scattered(recording, random, amount, pieces=pieces, write=write)


def odd_step(recording: Recording, random: Random, amount: float) -> None:
    """One step saves the model, for several times the length of a step."""
    [rank] = recording
    editor = Editor(rank)
    by_step = places(rank)
    step = random.choice(by_step[1:])

    def write(writer: Writer) -> None:
        with writer.span("save checkpoint", writer.style.annotation):
            writer.synchronize(None)
            for _ in range(8):
                writer.frame("torch/serialization.py(900): save", amount * len(by_step) / 8)

    editor.insert(step[-1], write)
    editor.finish()
