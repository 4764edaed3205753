"""What can be said on the command line about the reports of DLProf."""

from __future__ import annotations

import argparse


def add_dlprof_arguments(report: argparse.ArgumentParser) -> None:
    """The options of ``report`` that DLProf had under these names (``docs/dlprof.md``)."""
    group = report.add_argument_group("reports of DLProf (files in --output, default: here)")
    group.add_argument(
        "--reports",
        metavar="NAME[,NAME]",
        help="summary, detail, iteration, kernel, tensor, op_type, group_node, expert_systems, "
        "or 'all': write these instead of printing views",
    )
    group.add_argument(
        "--formats", default="csv", metavar="csv,json", help="what is written (default: csv)"
    )
    group.add_argument(
        "--base-name",
        default="dlprof",
        metavar="NAME",
        help="files are NAME_REPORT.csv (default: dlprof)",
    )
    group.add_argument(
        "--domains",
        metavar="NAME[,NAME]",
        help="domains of ranges that get a group_node of their own",
    )
    group.add_argument("--key-node", metavar="NAME", help="as --iterations-by name:NAME")
    group.add_argument("--iter-start", metavar="N", help="first iteration: --steps N:")
    group.add_argument("--iter-stop", metavar="N", help="last iteration, included")
