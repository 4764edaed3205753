"""What can be said on the command line about the tables of a summary."""

from __future__ import annotations

import argparse

TIME_UNITS = ("s", "ms", "us", "ns")
THREADS = ("merged", "apart")


def add_summary_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``report --view summary``."""
    group = parser.add_argument_group("tables; threads and parts of operators in view summary")
    group.add_argument(
        "--tables", metavar="NAME[,NAME]", help="only these tables (default: all of a view)"
    )
    group.add_argument(
        "--time-unit",
        choices=TIME_UNITS,
        help="unit of all times in the tables of table and md (default: by their size)",
    )
    group.add_argument(
        "--threads", choices=THREADS, help="operators and ranges of all threads, or of each"
    )
    group.add_argument(
        "--operator-parts",
        action="store_true",
        help="below each operator what it is made of: inner operators, kernels, copies",
    )
