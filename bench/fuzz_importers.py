"""Feeds damaged recordings of every format that is no Chrome JSON to its importer, and tells what
breaks.

What is done is told in ``importer_damages.py``; one input of each failure is kept in ``--keep``.

    python bench/fuzz_importers.py --inputs 20000 --seconds 120
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

from figures import Figure, add_options, tell
from fuzz import ROOT, alarm, mutated
from importer_damages import Options, Recording, fuzz_importer
from importer_seeds import recordings

from torch_tb_profiler.importers.registry import FORMATS


def main() -> int:
    """Read the arguments, run, and tell the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000, help="of each format")
    parser.add_argument("--seconds", type=float, default=600.0, help="of each format, at most")
    parser.add_argument("--formats", default="", help="some, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show-each", type=int, default=50)
    parser.add_argument("--alarm-s", type=float, default=10.0)
    parser.add_argument("--memory-mb", type=int, default=4096, help="address space of the process")
    parser.add_argument("--keep", type=Path, default=ROOT / "bench" / "out" / "fuzz_importers")
    add_options(parser)
    given = parser.parse_args()
    limit = given.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    known = {each.name for each in FORMATS}
    wanted = set(given.formats.split(",")) if given.formats else known
    pools: dict[str, list[Recording]] = {}
    for each in recordings():
        if each.format in wanted & known:
            pools.setdefault(each.format, []).append(each)
    figures, failed = [], 0
    options = Options(
        given.inputs, given.seconds, given.seed, given.show_each, given.alarm_s, given.keep
    )
    for name, pool in pools.items():
        tally = fuzz_importer(pool, options, mutated, alarm)
        failed += tally.failures.total()
        figures += [
            Figure(f"{name}: damaged recordings", tally.inputs, ""),
            Figure(f"{name}: refused with a reason", tally.refused, ""),
            Figure(f"{name}: different outcomes", len(tally.outcomes), ""),
            Figure(f"{name}: failures", tally.failures.total(), "", 0),
            Figure(f"{name}: slowest", tally.slowest_s, "s", 10),
        ]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.append(Figure("memory of the process", peak_mb, "MiB", 1024))
    tell("importers", f"seed {given.seed}", figures, given)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
