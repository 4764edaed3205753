"""Recorded runs that nobody recorded: journals, and traces of their windows, of any shape.

Every figure follows from the :class:`Run`, so that a test knows the truth without a reader:

    write_run(tmp_path, Run(steps=50, windows=((10, 14),)))   # rank0.record.jsonl and a trace
    columns = journal_columns(Run(workers=0, evaluate_every=10))

A step waits ``wait_ms`` for its batch and ends ``step_ms`` after its start; the next one follows at
once, or after the steps of an evaluation. Batch b is made by worker b % ``workers`` and is ready
when its step begins to wait, for as long as its stages take before the wait ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.columns import EventColumns

Block = dict[str, Any]

START_NS = 1_760_000_000_123_456_789
MS = 1_000_000
TRAIN, EVALUATION = "train", "evaluation"


@dataclass(frozen=True, kw_only=True)
class Run:
    """The shape of a recorded run; times in ms.

    Attributes:
        evaluate_every: After so many training steps comes an evaluation; 0: never.
        windows: First and last training step of each window of the profiler.
        ended: The reason of the ``end`` block; None: killed, it has none.
        rows_per_block: Rows of a block at most.
        missing: What is not recorded, with the reason.
    """

    steps: int = 20
    step_ms: float = 10.0
    wait_ms: float = 2.0
    by: str = "optimizer"
    batch_size: int = 32
    evaluate_every: int = 0
    evaluation_steps: int = 3
    warmup_steps: int = 2
    rank: int | None = 0
    world_size: int | None = 1
    host: str = "node1"
    pid: int = 4000
    program: str = "train.py"
    dataset: str | None = "ImageFolder"
    style: str = "map"
    workers: int = 2
    prefetch_factor: int = 2
    fetch_ms: float = 1.0
    transform_ms: float = 3.0
    collate_ms: float = 0.5
    pin_ms: float | None = None
    transfer_ms: float | None = None
    sample_every_ms: float = 100.0
    gpus: int = 0
    windows: tuple[tuple[int, int], ...] = ()
    ended: str | None = "exit"
    rows_per_block: int = 8
    settings: dict[str, Any] = field(
        default_factory=lambda: {"torch_version": "2.13.0", "optimizer": "AdamW"}
    )
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def worker_name(self) -> str:
        """As the recorder names its files."""
        return f"{self.host}_{self.pid}" if self.rank is None else f"rank{self.rank}"


@dataclass(frozen=True)
class TimedStep:
    """A step of a made-up run."""

    phase: str
    number: int
    start_ns: int
    end_ns: int


def steps_of(run: Run) -> list[TimedStep]:
    """All steps, in order of time."""
    length, at = round(run.step_ms * MS), START_NS
    steps: list[TimedStep] = []
    evaluated = 0
    for number in range(run.steps):
        steps.append(TimedStep(TRAIN, number, at, at + length))
        at += length
        if run.evaluate_every and (number + 1) % run.evaluate_every == 0:
            for _ in range(run.evaluation_steps):
                steps.append(TimedStep(EVALUATION, evaluated, at, at + length))
                evaluated, at = evaluated + 1, at + length
    return steps


def blocks_of(run: Run) -> list[Block]:
    """The blocks of the journal, in the order in which a recorder writes them."""
    steps = steps_of(run)
    blocks = [_header(run), {"kind": "settings", "values": run.settings}]
    blocks += [{"kind": "missing", "what": what, "reason": why} for what, why in run.missing]
    if run.dataset is not None:
        blocks.append(_loader(run))
    blocks.append({"kind": "timer", "warmup_steps": run.warmup_steps})
    for at in range(0, len(steps), run.rows_per_block):
        some = steps[at : at + run.rows_per_block]
        blocks += _steps(run, some)
        if run.dataset is not None:
            blocks += _batches(run, some, at)
            blocks += _work(run, some, at)
    blocks += _samples(run, steps)
    blocks += _windows(run, steps)
    blocks.append({"kind": "cost", "what": "sampler", "cpu_ns": 1_000_000, "calls": 10})
    if run.ended is not None:
        end_ns = steps[-1].end_ns if steps else START_NS
        blocks.append({"kind": "end", "reason": run.ended, "time_ns": end_ns})
    return blocks


def text_of(blocks: Iterable[Block]) -> bytes:
    """The text of a journal."""
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in blocks)


def journal_columns(
    journal: Run | Iterable[Block] | bytes, reading: Reading | None = None
) -> EventColumns:
    """What the importer reads of a run, of blocks or of a text."""
    if isinstance(journal, Run):
        journal = blocks_of(journal)
    text = journal if isinstance(journal, bytes) else text_of(journal)
    return import_trace([text], name="rank0.record.jsonl", reading=reading)


def write_run(folder: Path, run: Run, blocks: Iterable[Block] | None = None) -> Path:
    """Write a journal, and the traces of its windows as the profiler leaves them; where the journal
    lies."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / f"{run.worker_name}.record.jsonl"
    journal.write_bytes(text_of(blocks_of(run) if blocks is None else blocks))
    for first, last in run.windows:
        trace = json.dumps(window_trace(run, first, last), indent=2)
        (folder / trace_name(run, first)).write_text(trace)
    return journal


def trace_name(run: Run, first_step: int) -> str:
    """The name of the trace of the window that begins with a step."""
    start_ns = next(each.start_ns for each in steps_of(run) if _is_train(each, first_step))
    return f"{run.worker_name}.{start_ns // MS}.pt.trace.json"


def window_trace(run: Run, first: int, last: int) -> dict[str, Any]:
    """A trace as torch.profiler writes it: the steps, with an operator in each."""
    base_ns = START_NS // 10**9 * 10**9
    events: list[Block] = []
    for each in steps_of(run):
        if each.phase != TRAIN or not first <= each.number <= last:
            continue
        location = {"ph": "X", "pid": run.pid, "tid": run.pid}
        start_us, dur_us = (each.start_ns - base_ns) / 1e3, (each.end_ns - each.start_ns) / 1e3
        events += [
            location
            | {"cat": "user_annotation", "name": f"ProfilerStep#{each.number}"}
            | {"ts": start_us, "dur": dur_us},
            location | {"cat": "cpu_op", "name": "aten::mm", "ts": start_us + 1, "dur": dur_us / 2},
        ]
    return {
        "schemaVersion": 1,
        "traceEvents": events,
        "traceName": trace_name(run, first),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
    }


def _is_train(step: TimedStep, number: int) -> bool:
    return step.phase == TRAIN and step.number == number


def _header(run: Run) -> Block:
    return {
        "kind": "header",
        "version": 1,
        "pid": run.pid,
        "host": run.host,
        "rank": run.rank,
        "local_rank": run.rank,
        "world_size": run.world_size,
        "program": run.program,
        "started_ns": START_NS - 500 * MS,
        "sample_every_ms": round(run.sample_every_ms),
        "recorder_version": "1.0.0",
    }


def _loader(run: Run) -> Block:
    return {
        "kind": "loader",
        "loader": 0,
        "dataset": run.dataset,
        "style": run.style,
        "workers": run.workers,
        "batch_size": run.batch_size,
        "prefetch_factor": run.prefetch_factor if run.workers else None,
        "pin_memory": run.pin_ms is not None,
        "persistent_workers": False,
        "start_method": "fork" if run.workers else None,
        "drop_last": False,
    }


def _by_phase(steps: Iterable[TimedStep]) -> Iterator[tuple[str, list[TimedStep]]]:
    for phase in (TRAIN, EVALUATION):
        some = [each for each in steps if each.phase == phase]
        if some:
            yield phase, some


def _steps(run: Run, some: list[TimedStep]) -> Iterator[Block]:
    for phase, steps in _by_phase(some):
        yield {
            "kind": "steps",
            "phase": phase,
            "by": run.by,
            "step": [each.number for each in steps],
            "start_ns": [each.start_ns for each in steps],
            "end_ns": [each.end_ns for each in steps],
            "reader_ns": [round(run.wait_ms * MS)] * len(steps),
            "samples": [run.batch_size] * len(steps),
        }


def _batches(run: Run, some: list[TimedStep], at: int) -> Iterator[Block]:
    number = {(each.phase, each.number): at + location for location, each in enumerate(some)}
    for phase, steps in _by_phase(some):
        numbers = [number[phase, each.number] for each in steps]
        size = len(steps)
        yield {
            "kind": "batches",
            "loader": 0,
            "phase": phase,
            "batch": numbers,
            "step": [each.number for each in steps],
            "start_ns": [each.start_ns for each in steps],
            "wait_ns": [round(run.wait_ms * MS)] * size,
            "ready": [0] * size if run.workers else [None] * size,
            "capacity": [run.workers * run.prefetch_factor if run.workers else None] * size,
            "samples": [run.batch_size] * size,
            "worker": [each % run.workers if run.workers else None for each in numbers],
        }


def _work(run: Run, some: list[TimedStep], at: int) -> Iterator[Block]:
    allocated_ns = round((run.fetch_ms + run.transform_ms + run.collate_ms) * MS)
    wait_ns = round(run.wait_ms * MS)
    for worker in range(max(1, run.workers)):
        mine = [
            (at + location, each)
            for location, each in enumerate(some)
            if not run.workers or (at + location) % run.workers == worker
        ]
        if not mine:
            continue
        stages = {
            f"{stage}_ns": [None if ms is None else round(ms * MS)] * len(mine)
            for stage, ms in (
                ("fetch", run.fetch_ms),
                ("transform", run.transform_ms),
                ("collate", run.collate_ms),
                ("pin", run.pin_ms),
                ("transfer", run.transfer_ms),
            )
        }
        yield {
            "kind": "work",
            "loader": 0,
            "worker": worker if run.workers else None,
            "pid": run.pid + 1 + worker if run.workers else run.pid,
            "batch": [number for number, _ in mine],
            "start_ns": [
                each.start_ns + wait_ns - allocated_ns if run.workers else each.start_ns
                for _, each in mine
            ],
            **stages,
            "samples": [run.batch_size] * len(mine),
        }


def _samples(run: Run, steps: list[TimedStep]) -> Iterator[Block]:
    if not run.sample_every_ms or not steps:
        return
    every = round(run.sample_every_ms * MS)
    times = list(range(START_NS, steps[-1].end_ns, every))
    sources = {
        "host": {"CPU user": "%", "CPU idle": "%", "runnable processes": ""},
        "process": {"CPU user": "%", "memory": "bytes"},
        **{f"loader worker {number}": {"CPU user": "%"} for number in range(run.workers)},
        **{f"GPU {number}": {"utilization": "%", "power": "W"} for number in range(run.gpus)},
    }
    for at in range(0, len(times), run.rows_per_block):
        some = times[at : at + run.rows_per_block]
        for source, metrics in sources.items():
            values = [float(at + location) for location in range(len(some))]
            yield {
                "kind": "samples",
                "source": source,
                "time_ns": some,
                "metrics": {
                    name: {"unit": unit, "values": values} for name, unit in metrics.items()
                },
            }


def _windows(run: Run, steps: list[TimedStep]) -> Iterator[Block]:
    by_number = {each.number: each for each in steps if each.phase == TRAIN}
    for first, last in run.windows:
        for state in ("recording", "written"):
            yield {
                "kind": "window",
                "state": state,
                "trace": trace_name(run, first),
                "first_step": first,
                "last_step": last,
                "start_ns": by_number[first].start_ns,
                "end_ns": None if state == "recording" else by_number[last].end_ns,
                "reason": None,
                "preview": False,
            }
