"""The arguments of all commands that read traces: what of them, from where, and with how many
processes."""

from __future__ import annotations

import argparse

from torch_tb_profiler.cli.argument_types import (
    argument_names,
    part_by_steps,
    part_by_time,
    worker_count,
)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Where parsed traces are stored."""
    group = parser.add_argument_group("cache")
    group.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def add_reading(parser: argparse.ArgumentParser, *, parts: bool = True) -> None:
    """What is read of a trace; with ``parts`` also which part of it."""
    if parts:
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            "--only-us",
            dest="part",
            type=part_by_time,
            metavar="START:END",
            help="read only this part of each recording: microseconds since its first event",
        )
        group.add_argument(
            "--only-steps",
            dest="part",
            type=part_by_steps,
            metavar="N[:M]",
            help="read only these steps of each recording (numbers of ProfilerStep#N)",
        )
    parser.add_argument(
        "--no-python-frames",
        dest="python_frames",
        action="store_false",
        help="skip Python frames and modules while reading: less time and memory, but no modules "
        "and call stacks",
    )
    parser.add_argument(
        "--arguments",
        type=argument_names,
        default=(),
        metavar="NAMES",
        help="also read these arguments of events, separated by commas, as columns of operators "
        "and kernels",
    )
    parser.add_argument(
        "--rules",
        metavar="FILE",
        help="TOML file that says what your own kernels are (default: $TORCH_TB_PROFILER_RULES, "
        "else rules.toml in your configuration folder)",
    )


def add_links(parser: argparse.ArgumentParser) -> None:
    """Whether links are followed."""
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="follow links that lead out of the folder (default: they are listed as skipped)",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """How many processes parse."""
    parser.add_argument(
        "--workers",
        type=worker_count,
        metavar="N",
        help="worker processes for parsing (default: all usable cores, at most 16)",
    )
