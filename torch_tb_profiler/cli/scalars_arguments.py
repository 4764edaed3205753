"""What can be said to ``torch-tb-profiler scalars``."""

from __future__ import annotations

import argparse


def add_scalars(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """The command ``scalars``, without what all commands share about reading."""
    scalars = commands.add_parser(
        "scalars",
        help="write measures of steps as scalars of TensorBoard",
        description="Write step time, GPU utilization, Tensor Core share, exposed communication, "
        "reader ratio and throughput of every trace found as scalars of TensorBoard, so that they "
        "stand beside the loss. Written again, they replace what this command wrote, nothing else.",
    )
    scalars.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    scalars.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="folder of TensorBoard; each worker gets one in it",
    )
    scalars.add_argument("--run", metavar="NAME", help="only this run (default: every one found)")
    return scalars
