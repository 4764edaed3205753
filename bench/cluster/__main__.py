"""Simulated jobs of many ranks, with a known cause.

python -m bench.cluster make OUT --seed 7 --ranks 64 --cause slow_link
python -m bench.cluster make OUT --seed 7 --ranks 64 --dumps    # of a job that hangs
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.cluster.causes import CAUSES
from bench.cluster.dumps import write_dumps
from bench.cluster.hangs import HANGS, make_hanging_job
from bench.cluster.jobs import NONE, make_case, write_case


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
    make.add_argument("--seed", type=int, default=1)
    make.add_argument("--ranks", type=int, default=64, help="a power of two from 8 on")
    make.add_argument("--cause", choices=[*CAUSES, NONE, *HANGS, "random"], default="random")
    make.add_argument("--dumps", action="store_true", help="dumps of a job that hangs")
    given = parser.parse_args(words)
    if given.dumps or given.cause in HANGS:
        hang = make_hanging_job(given.seed, given.ranks, given.cause)
        write_dumps(hang, given.out, given.seed)
        print(f"seed {given.seed}: {hang.kind}, rank {hang.rank}")
        return 0
    case = make_case(given.seed, given.ranks, given.cause)
    write_case(case, given.out)
    print(describe_case(case.seed, case.cause, case.cost_pct))
    return 0


def describe_case(seed: int, cause: str, cost_pct: float) -> str:
    """A line about a job."""
    return f"seed {seed}: {cause}, {cost_pct:.1f} % of the step"


if __name__ == "__main__":
    sys.exit(main())
