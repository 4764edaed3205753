"""Damaged files of every format through the real command line, and what came of it as figures.

    python bench/fuzz_formats.py --seconds 900 --seed 1

What is done is told in ``format_damages.py``; one input of each failure is kept in ``--keep``.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

from figures import Figure, add_options, tell
from format_damages import Options, fuzz_formats, seed_files
from fuzz import ROOT, alarm, mutated, seeds, small_trace


def main() -> int:
    """Read the arguments, run, and tell the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=900.0, help="take no more inputs then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alarm-s", type=float, default=10.0)
    parser.add_argument("--memory-mb", type=int, default=4096, help="address space of the process")
    parser.add_argument("--keep", type=Path, default=ROOT / "bench" / "out" / "fuzz")
    add_options(parser)
    given = parser.parse_args()
    limit = given.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    options = Options(given.inputs, given.seconds, given.seed, given.alarm_s, given.keep)
    tally = fuzz_formats(seed_files(seeds(), small_trace), options, mutated, alarm)
    figures = [
        Figure("damaged files", tally.inputs, ""),
        Figure("commands that ended with 0", tally.codes[0], ""),
        Figure("commands that ended with 3 and the reason", tally.codes[3], ""),
        Figure("commands that ended otherwise, or badly", tally.failures.total(), "", 0),
        Figure("slowest command", tally.slowest_s, "s", 10),
        Figure("memory of the process", tally.peak_mb, "MiB", 1024),
    ]
    tell("formats", f"seed {given.seed}", figures, given)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
