"""Causes in copies that belong to the program: weights from the host, many small tensors."""

from __future__ import annotations

from random import Random

from bench.diagnosis.editing import Editor, places
from bench.diagnosis.model import Recording
from bench.diagnosis.writer import Writer


def streamed_weights(recording: Recording, random: Random, amount: float) -> None:
    """Weights are kept in pinned memory of the host and copied before each use."""
    [rank] = recording
    editor = Editor(rank)
    for step in places(rank):
        chosen = sorted(random.sample(step, min(random.randint(4, 16), len(step))))
        for place in chosen:
            us = amount / len(chosen) * random.uniform(0.8, 1.2)

            def write(writer: Writer, us: float = us) -> None:
                with writer.span("aten::to", us=4.0), writer.span("aten::copy_", us=4.0):
                    size = int(us * 12_000)
                    writer.copy("HtoD", us, is_blocking=False, is_pageable=False, size=size)

            editor.insert(place, write)
    editor.finish()


def small_uploads(recording: Recording, random: Random, amount: float) -> None:
    """At the start of every step many small tensors are copied one by one, each with a wait."""
    [rank] = recording
    editor = Editor(rank)
    each_us = random.uniform(25.0, 60.0)
    for step in places(rank):

        def write(writer: Writer) -> None:
            for _ in range(max(4, int(amount / each_us))):
                with writer.span("aten::to", us=4.0), writer.span("aten::copy_", us=4.0):
                    writer.copy(
                        "HtoD", 1.5, staging_us=each_us - 22.0, is_blocking=False, size=4096
                    )
                    writer.synchronize(writer.compute)

        editor.insert(step[0], write)
    editor.finish()
