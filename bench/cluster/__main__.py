"""Simulated jobs of many ranks, with a known cause.

python -m bench.cluster make OUT --seed 7 --ranks 64 --cause slow_link
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.cluster.causes import CAUSES
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
    make.add_argument("--cause", choices=[*CAUSES, NONE, "random"], default="random")
    given = parser.parse_args(words)
    case = make_case(given.seed, given.ranks, given.cause)
    write_case(case, given.out)
    print(describe_case(case.seed, case.cause, case.cost_pct))
    return 0


def describe_case(seed: int, cause: str, cost_pct: float) -> str:
    """A line about a job."""
    return f"seed {seed}: {cause}, {cost_pct:.1f} % of the step"


if __name__ == "__main__":
    sys.exit(main())
