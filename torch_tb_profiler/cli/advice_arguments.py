"""Commands that say how to go on: ``doctor`` of a recording, ``skill`` for an agent."""

from __future__ import annotations

import argparse

from torch_tb_profiler.cli.reading_arguments import (
    add_cache,
    add_links,
    add_reading,
    add_workers,
)


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``doctor``."""
    doctor = commands.add_parser(
        "doctor",
        help="show what a recording answers, and how to record the rest",
        description="Show which questions a recording answers and which it does not, why, and the "
        "code that records what is missing; and what is wrong with the recording itself.",
    )
    doctor.add_argument("path", metavar="PATH", help="a trace, a folder of ranks or a URL")
    doctor.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="output format (default: table)",
    )
    for name in ("run", "worker", "span"):
        doctor.add_argument(f"--{name}", metavar="NAME", help=f"{name} (default: the first)")
    doctor.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colors of table (default: auto: on a terminal, unless NO_COLOR is set)",
    )
    add_cache(doctor)
    add_reading(doctor)
    add_links(doctor)
    add_workers(doctor)


def add_skill(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``skill``."""
    skill = commands.add_parser(
        "skill",
        help="print or install instructions for agents that use this tool",
        description="Print instructions for an agent that is to find out why a run is slow with "
        "this tool; with --install, write them with their references into a folder.",
    )
    skill.add_argument(
        "--install",
        metavar="DIR",
        help="write DIR/torch-tb-profiler/SKILL.md and its references instead of printing",
    )
    skill.add_argument(
        "--force",
        action="store_true",
        help="overwrite files that were changed since (default: refuse)",
    )
