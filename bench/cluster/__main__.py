"""Simulated jobs of many ranks, with a known cause.

python -m bench.cluster make OUT --seed 7 --ranks 64 --cause slow_link
python -m bench.cluster make OUT --seed 7 --ranks 64 --dumps    # of a job that hangs
python -m bench.cluster judge --seed 1000 --jobs 500 --ranks 64 --kind slow
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import msgspec

from bench.cluster.causes import CAUSES
from bench.cluster.dumps import write_dumps
from bench.cluster.hangs import HANGS, make_hanging_job
from bench.cluster.jobs import NONE, make_case, write_case
from bench.cluster.judging import Verdict, judge, use_one_thread
from bench.cluster.report import line, summary, write_section

KINDS = ("slow", "healthy", "hang", "layout")


def main(words: list[str] | None = None) -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cluster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write the traces of a job and truth.json")
    make.add_argument("out", type=Path)
    make.add_argument("--dumps", action="store_true", help="dumps of a job that hangs")
    judging = commands.add_parser("judge", help="make many jobs and ask the product about each")
    judging.add_argument("--jobs", type=int, default=50)
    judging.add_argument("--kind", choices=KINDS, default="slow")
    judging.add_argument("--workers", type=int, default=1)
    judging.add_argument("--json", type=Path, help="write the verdicts")
    judging.add_argument("--read", type=Path, help="verdicts that were written, instead of jobs")
    judging.add_argument("--write", metavar="SECTION", help="of docs/diagnosis-accuracy.md")
    for command in (make, judging):
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--ranks", type=int, default=64, help="a power of two from 8 on")
        command.add_argument("--cause", choices=[*CAUSES, NONE, *HANGS, "random"], default="random")
    given = parser.parse_args(words)
    return _make(given) if given.command == "make" else _judge(given)


def _make(given: argparse.Namespace) -> int:
    if given.dumps or given.cause in HANGS:
        hang = make_hanging_job(given.seed, given.ranks, given.cause)
        write_dumps(hang, given.out, given.seed)
        print(f"seed {given.seed}: {hang.kind}, rank {hang.rank}")
        return 0
    case = make_case(given.seed, given.ranks, given.cause)
    write_case(case, given.out)
    print(f"seed {given.seed}: {case.cause}, {case.cost_pct:.1f} % of the step")
    return 0


def _judge(given: argparse.Namespace) -> int:
    if given.read is not None:
        verdicts = msgspec.json.decode(given.read.read_bytes(), type=list[Verdict])
    else:
        verdicts = _verdicts(given)
    print()
    print(summary(verdicts))
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(verdicts), indent=1))
    if given.write is not None:
        write_section(verdicts, given.write, _command(given, verdicts))
    return 0


def _command(given: argparse.Namespace, verdicts: list[Verdict]) -> str:
    """What judges the same jobs again."""
    first = verdicts[0]
    return (
        f"python -m bench.cluster judge --kind {given.kind} --seed {first.seed} "
        f"--jobs {len(verdicts)} --ranks {first.ranks}"
    )


def _verdicts(given: argparse.Namespace) -> list[Verdict]:
    """The jobs, judged; ordered by seed."""
    verdicts = []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.workers, mp_context=spawn, initializer=use_one_thread) as pool:
        jobs = [
            pool.submit(judge, given.kind, seed, given.ranks, given.cause)
            for seed in range(given.seed, given.seed + given.jobs)
        ]
        for done in as_completed(jobs):
            verdict = done.result()
            verdicts.append(verdict)
            print(line(verdict), flush=True)
    return sorted(verdicts, key=lambda each: each.seed)


if __name__ == "__main__":
    sys.exit(main())
