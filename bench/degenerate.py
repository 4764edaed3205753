"""Recordings that no profiler writes, large: what each view costs; and small: whether all answer.

    python bench/degenerate.py --seed 1               every shape, as `report --view all`
    python bench/degenerate.py many_streams --views   CPU time and memory of each view of one
    python bench/degenerate.py --ask 200              everything asked of 200 small mixes

The shapes are those of ``bench/degenerate_shapes.py``. The command has the limits of
``bench/attacks/run.py``: 10 s of CPU time and 1.5 GB. ``--ask`` asks every view with every
parameter, every route and every report (``bench/every_answer.py``), and prints what failed.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent / "attacks"))

from answer_checks import problems
from degenerate_shapes import SHAPES, mixed, text_of
from every_answer import FORMATS, Recordings, report_questions, route_questions, view_questions
from figures import SAFETY, Figure, add_options, tell
from registry import Attack
from run import Outcome, attempt, costs

from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.registry import all_views

MANY = 100_000
SIZES = {
    **dict.fromkeys(("many_operator_names", "many_kernel_names", "many_range_names"), 300_000),
    **dict.fromkeys(("deep_operators", "deep_ranges", "deep_calls", "deep_frames"), 50_000),
    "many_devices": 50_000,
    "long_names": 10_000,
}
"""Where it is not :data:`MANY`: names of a million characters are ten thousand times a hundred."""

SMALL = 40
FILE_NAME = "odd.pt.trace.json"
WORTH_TELLING_S = 0.2


def large(names: list[str], seed: int) -> Iterator[Outcome]:
    """How the command ended on each shape."""
    for name in names:
        outcome = attempt(Attack(name, FILE_NAME, partial(_write, name)), seed)
        print(outcome, flush=True)
        yield outcome


def _write(name: str, path: Path, choice: Random) -> None:
    path.write_bytes(text_of(SHAPES[name](SIZES.get(name, MANY), choice)))


def views_of(name: str, seed: int) -> None:
    """Print what each view of one large shape costs, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        _write(name, path, Random(seed))
        opened = open_trace(path, cache=False)
        opened.trace  # noqa: B018 - opened once, before each view forks
        for spec in all_views().values():
            if spec.scope == "pair":
                continue
            child = os.fork()
            if child == 0:
                os._exit(_print_cost(opened, spec.name))
            os.waitpid(child, 0)


def _print_cost(opened: OpenedTrace, view: str) -> int:
    started_s = time.process_time()
    try:
        size = len(opened.view(view).to_json())
    except RequestError:
        return 0
    cpu_s = time.process_time() - started_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    if cpu_s >= WORTH_TELLING_S:
        print(f"  {view:<16} {cpu_s:6.1f} s CPU {peak_mb:7.0f} MB {size / 1e6:8.2f} MB", flush=True)
    return 0


def ask(count: int, seed: int) -> int:
    """Ask everything of small shapes and of ``count`` mixes; how many questions failed."""
    warnings.simplefilter("error", RuntimeWarning)
    failed = asked = 0
    for number in range(count):
        choice = Random(f"{seed}.{number}")
        names = choice.choices(list(SHAPES), k=choice.randint(1, 4))
        texts = [text_of(mixed(names, SMALL, choice), has_ranks=number % 2 == 0) for _ in range(2)]
        for where, error in _failures(texts, choice):
            if error is None:
                asked += 1
                continue
            failed += 1
            print(f"mix {seed}.{number} {names}: {where}: {error}", flush=True)
    print(f"{asked + failed:,} questions about {count} mixes, {failed} failed", flush=True)
    return failed


def _failures(texts: list[bytes], choice: Random) -> Iterator[tuple[str, str | None]]:
    """Each question, and what went wrong."""
    try:
        traces = {
            f"w{rank}": build_trace(import_trace([text], name=FILE_NAME))
            for rank, text in enumerate(texts)
        }
    except TraceFormatError:
        return
    except Exception:  # whatever it is, it is printed
        yield "reading", traceback.format_exc(limit=-3)
        return
    own = traces["w0"]
    with tempfile.TemporaryDirectory() as folder, Recordings(Path(folder), traces) as recordings:
        for name, asked in view_questions(own, choice):
            yield f"{name} {dict(asked)}"[:300], _error(partial(_view, recordings, name, asked))
        for path, asked in route_questions(own, choice):
            yield f"{path} {dict(asked)}"[:300], _error(partial(recordings.get, path, asked))
        for name, make in report_questions(recordings):
            yield name, _error(make)


def _view(recordings: Recordings, name: str, asked: Mapping[str, str]) -> None:
    result = recordings.view(name, asked)
    if result is None:
        return
    wrong = list(problems(result.view))
    if wrong:
        raise ValueError("; ".join(wrong))
    FORMATS["json"](result)
    if len(asked) < 2:
        for write in FORMATS.values():
            write(result)


def _error(question: Callable[[], object]) -> str | None:
    try:
        question()
    except Exception:  # whatever it is, it is printed
        return traceback.format_exc(limit=-3)
    return None


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="SHAPE", help="some of them; all if none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--views", action="store_true", help="the cost of each view")
    parser.add_argument("--ask", type=int, metavar="COUNT", help="ask everything of mixes")
    add_options(parser)
    given = parser.parse_args()
    if given.ask:
        return 1 if ask(given.ask, given.seed) else 0
    names = given.names or list(SHAPES)
    for name in set(names) - set(SHAPES):
        parser.error(f"there is no shape {name!r}, only {', '.join(SHAPES)}")
    if given.views:
        for name in names:
            print(name, flush=True)
            views_of(name, given.seed)
        return 0
    outcomes = list(large(names, given.seed))
    figures = [
        Figure("shapes", len(outcomes), ""),
        *costs(outcomes),
    ]
    tell("degenerate", f"seed {given.seed}, {MANY:,} events of a kind", figures, given, SAFETY)
    return 0 if all(each.is_good for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
