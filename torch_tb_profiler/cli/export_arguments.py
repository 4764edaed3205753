"""Commands that write a run in another form: ``scalars``, ``merge`` and ``scrub``."""

from __future__ import annotations

import argparse

from torch_tb_profiler.cli.reading_arguments import (
    add_cache,
    add_links,
    add_reading,
    add_workers,
)
from torch_tb_profiler.views.parameters import SELECTION

TRACKERS = ("tensorboard", "mlflow", "wandb")


def add_scalars(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """The command ``scalars``, without what all commands share about reading."""
    scalars = commands.add_parser(
        "scalars",
        help="write step metrics as scalars of TensorBoard, MLflow or Weights & Biases",
        description="Write step time, GPU utilization, Tensor Core share, exposed communication, "
        "reader ratio and throughput of every trace as scalars, next to the loss. Running it again "
        "replaces only the event files that this command wrote; MLflow and Weights & Biases get "
        "new runs.",
    )
    scalars.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    scalars.add_argument(
        "--to",
        action="append",
        choices=TRACKERS,
        help="where; can be repeated (default: tensorboard). MLflow and Weights & Biases (wandb) "
        "follow their own environment variables, and also get the verdict",
    )
    scalars.add_argument(
        "--output",
        metavar="DIR",
        help="TensorBoard logdir; every worker gets a folder in it",
    )
    scalars.add_argument(
        "--experiment", metavar="NAME", help="experiment of MLflow, project of Weights & Biases"
    )
    scalars.add_argument(
        "--run-name",
        metavar="NAME",
        help="there each worker is a run NAME/WORKER (default: RUN/WORKER)",
    )
    scalars.add_argument("--run", metavar="NAME", help="only this run (default: all)")
    add_cache(scalars)
    add_reading(scalars)
    add_links(scalars)


def add_merge(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``merge``."""
    merge = commands.add_parser(
        "merge",
        help="write chosen ranks as one Chrome JSON, on one clock",
        description="Write chosen ranks of a run as one Chrome JSON: a process per rank, clocks "
        "aligned on the ends of their collectives. It opens here, in Perfetto and in "
        "chrome://tracing.",
    )
    merge.add_argument("path", metavar="PATH", help="a folder or a URL")
    merge.add_argument(
        "--ranks",
        default="all",
        metavar="LIST",
        help="ranks and ranges of them (0-7,12), names of workers, or all (default: all)",
    )
    merge.add_argument("--run", metavar="NAME", help="run (default: the first)")
    merge.add_argument("--span", metavar="NAME", help="span (default: the first)")
    for each in SELECTION:
        if each.key in ("steps", "start_us", "end_us", "iterations_by"):
            text = each.help.replace("%", "%%")
            merge.add_argument(f"--{each.option}", metavar=each.metavar, help=text)
    merge.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="the file; packed if its name ends in .gz; - for stdout",
    )
    merge.add_argument("--force", action="store_true", help="overwrite the file (default: refuse)")
    add_cache(merge)
    add_reading(merge)
    add_links(merge)
    add_workers(merge)


def add_scrub(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command ``scrub``."""
    scrub = commands.add_parser(
        "scrub",
        help="write a copy of a recording that can be given to others",
        description="Write a copy of a recording, or of a folder of some, without host names, "
        "users, paths, command lines, addresses, keys and the like, and list what was removed and "
        "what is left. Every view shows the same figures.",
    )
    scrub.add_argument("source", metavar="IN", help="a recording, or a folder of some")
    scrub.add_argument(
        "target", metavar="OUT", help="the copy; it must not exist, or be an empty folder"
    )
    scrub.add_argument(
        "--hash-names",
        action="store_true",
        help="also hash names of your functions, modules and ranges",
    )
    scrub.add_argument(
        "--salt",
        metavar="TEXT",
        help="key of the hashes, so that several copies have the same ones (default: random)",
    )
    scrub.add_argument(
        "--no-shapes", action="store_true", help="also remove shapes and values of inputs"
    )
    scrub.add_argument(
        "--format", choices=("table", "json"), default="table", help="of the list (default: table)"
    )
