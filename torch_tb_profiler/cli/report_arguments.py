"""Options that only ``report`` has: DLProf's reports, and the tables of a summary."""

from __future__ import annotations

import argparse

TIME_UNITS = ("s", "ms", "us", "ns")
THREADS = ("merged", "apart")
DEFAULT_BASE_NAME = "dlprof"


def base_name(text: str) -> str:
    """The start of the names of reports."""
    if not text or text != text.strip() or any(c in '/\\:*?"<>|' or ord(c) < 32 for c in text):
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a file name")
    return text


def add_dlprof_arguments(report: argparse.ArgumentParser) -> None:
    """Add the options for DLProf's reports, under DLProf's names (``docs/dlprof.md``)."""
    group = report.add_argument_group("reports of DLProf (files in --output, default: here)")
    group.add_argument(
        "--reports",
        metavar="NAME[,NAME]",
        help="summary, detail, iteration, kernel, tensor, op_type, group_node, expert_systems, "
        "or 'all': write these reports instead of printing views",
    )
    group.add_argument(
        "--formats", default="csv", metavar="csv,json", help="formats of the files (default: csv)"
    )
    group.add_argument(
        "--base-name",
        type=base_name,
        default=DEFAULT_BASE_NAME,
        metavar="NAME",
        help=f"files are NAME_REPORT.csv, and NAME is the profile name in summary (default: "
        f"{DEFAULT_BASE_NAME} and the name of the recording)",
    )
    group.add_argument(
        "--domains",
        metavar="NAME[,NAME]",
        help="range domains for which a separate group_node is written",
    )
    group.add_argument(
        "--key-node",
        metavar="NAME",
        help="same as --iterations-by name:NAME; also an Op ID or Op Name of the report detail",
    )
    group.add_argument(
        "--dump-model-data",
        action="store_true",
        help="write iterations, operators and all their calls and kernels as NAME_model_data.json",
    )
    group.add_argument("--iter-start", metavar="N", help="first iteration: --steps N:")
    group.add_argument("--iter-stop", metavar="N", help="last iteration, included")


def add_summary_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report --view summary``, and of all tables."""
    group = parser.add_argument_group("tables; threads and parts of operators in view summary")
    group.add_argument(
        "--tables", metavar="NAME[,NAME]", help="only these tables (default: all of a view)"
    )
    group.add_argument(
        "--time-unit",
        choices=TIME_UNITS,
        help="unit of all times with --format table and md (default: by magnitude)",
    )
    group.add_argument(
        "--threads", choices=THREADS, help="operators and ranges of all threads or per thread"
    )
    group.add_argument(
        "--operator-parts",
        action="store_true",
        help="list the parts of each operator: inner operators, kernels, copies",
    )
