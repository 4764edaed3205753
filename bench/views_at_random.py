"""How fast views answer random selections of a trace that is open, as their pages ask for them.

    python bench/views_at_random.py                                  the table of the document
    python bench/views_at_random.py --traces memory --views memory   one of them
    python bench/views_at_random.py --traces memory --views memory --profile

Each view is asked for the whole trace first: what is computed of a trace once is computed then, by
the first view that needs it. Then it is asked for random steps, time ranges, phases, groupings,
moments, iterations and changes of the critical path, each with its JSON. Times are of the CPU, of
all threads; the machine is shared, so wall time says less.
"""

from __future__ import annotations

import argparse
import cProfile
import gzip
import pstats
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from figures import DOCUMENT, add_options, machine, with_table
from make_trace import OUT, SAMPLES, Recording, write
from shapes import shape_of, three_decimals

from torch_tb_profiler.analysis.steps.phases.codes_of_slices import no_phases
from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.registry import view_named
from torch_tb_profiler.views.spec import ViewSpec

SEED = 17
GOAL_MS = 150
PAGE_ROWS = 5000
"""Rows of its long table that a page asks for (``fe/src/table/useRows.ts``)."""
LONG_TABLES = {"memory": "memory_events", "idle": "gaps"}
"""Long tables that are not the first of their view."""

VIEWS = (
    "efficiency",
    "shapes",
    "memory",
    "idle",
    "copies",
    "compiled",
    "critical_path",
    "sequences",
)
PHASES = ("forward", "backward", "optimizer")
COMPILED = SAMPLES / "torch_compile_triton" / "rank0.pt.trace.json.gz"
COMPILED_COPIES = 50
"""As often per factor: the sample holds one step."""

_NAMED = {"shapes": ("shapes_over_iterations", "iteration"), "critical_path": ("what_if", "name")}
"""Tables of views by whose names they may be asked."""

Asked = dict[str, str | float]
"""What is asked of a view, as arguments of :meth:`OpenedTrace.view`."""


def compiled_trace(factor: int) -> Path:
    """The sample of torch.compile so often."""
    path = OUT / f"compiled_x{factor}.pt.trace.json"
    if not path.is_file():
        recording = Recording(gzip.decompress(COMPILED.read_bytes()))
        copies = recording.copies(factor * COMPILED_COPIES, three_decimals)
        write(path, (recording.head, *copies, recording.tail))
    return path


TRACES: dict[str, Callable[[int], Path]] = {
    "ResNet-50 on a GPU": lambda factor: shape_of("integers", factor),
    "BERT on an H100": lambda factor: shape_of("compact", factor),
    "ResNet on a CPU, memory": lambda factor: shape_of("stacks", factor),
    "torch.compile": compiled_trace,
}


@dataclass(frozen=True)
class Times:
    """How long the answers of a view took, in ms.

    Attributes:
        first: CPU time of the first one, of the whole trace.
        cpu: CPU times of the others, ascending.
        wall: Their wall times, ascending.
        slowest: What was asked by the one that took most CPU time.
    """

    first: float
    cpu: list[float]
    wall: list[float]
    slowest: Asked

    @property
    def p95(self) -> float:
        """CPU time that 19 of 20 answers stay within."""
        return _share(self.cpu, 0.95)

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table says: first, half, 19 of 20, and the last by wall time."""
        shown = (self.first, _share(self.cpu, 0.5), self.p95, _share(self.wall, 0.95))
        return tuple(f"{value:,.0f}" for value in shown)


def _share(ascending: list[float], share: float) -> float:
    return ascending[round(share * (len(ascending) - 1))]


class Draws:
    """Random questions about a trace."""

    def __init__(self, trace: OpenedTrace) -> None:
        self._choice = random.Random(SEED)
        self._steps: list[str] = trace.trace.steps["name"].to_list()
        meta = trace.trace.meta
        self._first_us, self._last_us = meta.start_ns / NS_PER_US, meta.end_ns / NS_PER_US
        self._has_phases = no_phases(trace.trace) is None
        self._trace = trace

    def questions(self, spec: ViewSpec, count: int) -> list[Asked]:
        """Some for a view that was asked for the whole trace before."""
        names = []
        if spec.name in _NAMED:
            table, column = _NAMED[spec.name]
            names = self._trace.view(spec.name).tables[table][column].to_list()
        return [self._question(spec, names) for _ in range(count)]

    def _question(self, spec: ViewSpec, names: list[str]) -> Asked:
        choice = self._choice
        asked = choice.choice((self._of_steps, self._of_time, self._of_both))()
        if spec.group_bys:
            asked["group_by"] = choice.choice(spec.group_bys)
        if spec.by_phase and self._has_phases and choice.random() < 0.3:
            asked["phase"] = choice.choice(PHASES)
        if spec.name == "memory" and choice.random() < 0.5:
            asked["at_us"] = repr(choice.uniform(self._first_us, self._last_us))
        if spec.name == "shapes" and choice.random() < 0.3:
            asked = {"iteration": choice.choice(names)}
        if spec.name == "critical_path" and choice.random() < 0.3 and names:
            way = choice.choice(("halve", "remove", "overlap"))
            asked = {"what_if": f"{choice.choice(names)}:{way}"}
        return asked

    def _of_steps(self) -> Asked:
        if not self._steps:
            return {}
        first, last = sorted(self._choice.choices(range(len(self._steps)), k=2))
        if self._choice.random() < 0.5:
            return {"steps": self._steps[first]}
        return {"steps": f"{self._steps[first]}:{self._steps[last]}"}

    def _of_time(self) -> Asked:
        first, last = sorted(self._choice.uniform(self._first_us, self._last_us) for _ in range(2))
        return {"start_us": first, "end_us": last}

    def _of_both(self) -> Asked:
        return self._of_steps() | self._of_time()


def times(
    trace: OpenedTrace, spec: ViewSpec, drawn: Draws, count: int
) -> tuple[Times, list[Asked]]:
    """Ask a view: first for the whole trace, then as drawn."""
    first, _ = _timed(trace, spec, {})
    draws = drawn.questions(spec, count)
    pairs = [_timed(trace, spec, asked) for asked in draws]
    cpu, wall = zip(*pairs, strict=True)
    return Times(first, sorted(cpu), sorted(wall), draws[cpu.index(max(cpu))]), draws


def _timed(trace: OpenedTrace, spec: ViewSpec, asked: Asked) -> tuple[float, float]:
    """CPU and wall time of one answer, ms."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    _answer(trace, spec, asked)
    return 1000 * (time.process_time() - cpu_s), 1000 * (time.perf_counter() - wall_s)


def _answer(trace: OpenedTrace, spec: ViewSpec, asked: Asked) -> bytes:
    table = LONG_TABLES.get(spec.name)
    answer = trace.view(spec.name, table=table, limit=PAGE_ROWS, **asked)  # type: ignore[arg-type]
    return answer.to_json()


def profiled(trace: OpenedTrace, spec: ViewSpec, draws: list[Asked]) -> None:
    """Where the time of the drawn questions goes."""
    profile = cProfile.Profile()
    profile.enable()
    for asked in draws:
        _answer(trace, spec, asked)
    profile.disable()
    pstats.Stats(profile).sort_stats("cumtime").print_stats(45)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--factor", type=int, default=10, help="times 35 MB (default: 10)")
    parser.add_argument("--draws", type=int, default=20, help="questions of a view (default: 20)")
    parser.add_argument("--traces", default="", help="part of their names (default: all)")
    parser.add_argument("--views", default=",".join(VIEWS), help="(default: %(default)s)")
    parser.add_argument("--profile", action="store_true", help="tell where the time goes")
    add_options(parser)
    given = parser.parse_args()
    rows: list[tuple[str, ...]] = [("trace", "view", "first", "p50", "p95", "p95, wall")]
    print(machine(), flush=True)
    for name, path in TRACES.items():
        if given.traces.lower() in name.lower():
            rows += of_trace(name, open_trace(path(given.factor), cache=False), given)
    if given.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        subject = f"CPU time in ms, {given.draws} random selections each"
        DOCUMENT.write_text(with_table(text, "at_random", subject, rows), encoding="utf-8")


def of_trace(name: str, trace: OpenedTrace, given: argparse.Namespace) -> list[tuple[str, ...]]:
    """The rows of one trace, which are printed too."""
    of = trace.trace
    label = f"{name}: {of.slices.height:,} slices, {of.device_work.height:,} pieces of device work"
    if not of.memory.is_empty():
        label += f", {of.memory.height:,} memory records"
    print(label, flush=True)
    rows: list[tuple[str, ...]] = []
    drawn = Draws(trace)
    for spec in map(view_named, given.views.split(",")):
        if spec.missing(of) is not None:
            continue
        told, draws = times(trace, spec, drawn, given.draws)
        rows.append((label if not rows else "", spec.name, *told.cells))
        verdict = "" if told.p95 <= GOAL_MS else f"MISSED ({GOAL_MS} ms), slowest: {told.slowest}"
        print(f"{spec.name:<15}", *(f"{cell:>8}" for cell in told.cells), verdict, flush=True)
        if given.profile:
            profiled(trace, spec, draws)
    return rows


if __name__ == "__main__":
    main()
