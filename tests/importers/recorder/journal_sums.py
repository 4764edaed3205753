"""A second reader of journals: a line of ``json`` after the other.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.helpers.sums import Sums, add_up

Block = dict[str, Any]

STEPS = {"train": "ProfilerStep", "evaluation": "Evaluation"}
WAIT = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
STAGES = ("fetch", "transform", "collate")


def read(text: bytes) -> list[Block]:
    """The blocks of a journal; a line that repeats another counts once."""
    return [json.loads(line) for line in dict.fromkeys(text.splitlines())]


def slices(blocks: list[Block]) -> Sums:
    """Steps, waits and work of data loaders by (thread, name), in ns."""
    (main,) = {str(each["pid"]) for each in blocks if each["kind"] == "header"}
    workers = {each["loader"]: each["workers"] for each in blocks if each["kind"] == "loader"}

    def rows() -> Iterator[tuple[tuple[str, str], int]]:
        for step in _rows(blocks, "steps"):
            name = f"{STEPS[step['phase']]}#{step['step']}"
            yield (main, name), step["end_ns"] - step["start_ns"]
        for batch in _rows(blocks, "batches"):
            kind = "MultiProcessing" if workers[batch["loader"]] else "SingleProcess"
            yield (main, WAIT.format(kind)), batch["wait_ns"]
        for work in _rows(blocks, "work"):
            worker = f"loader {work['loader']} worker {work['worker']}"
            for stage in STAGES:
                if work[f"{stage}_ns"]:
                    yield (main if work["worker"] is None else worker, stage), work[f"{stage}_ns"]

    return add_up(rows())


def samples(blocks: list[Block]) -> Sums:
    """Values of samples by (source, metric); unknown ones are null."""
    return add_up(
        ((block["source"], name), value)
        for block in blocks
        if block["kind"] == "samples"
        for name, metric in block["metrics"].items()
        for value in metric["values"]
        if value is not None
    )


def steps(blocks: list[Block]) -> Sums:
    """Waits for data by phase, in ns, and samples."""
    return add_up(
        ((step["phase"], what), step[what] or 0)
        for step in _rows(blocks, "steps")
        for what in ("reader_ns", "samples")
    )


def _rows(blocks: list[Block], kind: str) -> Iterator[Block]:
    """One dictionary per row of the blocks of a kind."""
    for block in blocks:
        if block["kind"] == kind:
            lists = {key: value for key, value in block.items() if isinstance(value, list)}
            for row in zip(*lists.values(), strict=True):
                yield {**block, **dict(zip(lists, row, strict=True))}
