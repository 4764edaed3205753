"""The command line arguments of all commands."""

from __future__ import annotations

import argparse

from torch_tb_profiler._version import __version__
from torch_tb_profiler.cli.advice_arguments import add_doctor, add_skill
from torch_tb_profiler.cli.argument_types import (
    host_name,
    port_number,
    positive_number,
    size_gb,
)
from torch_tb_profiler.cli.dlprof_arguments import add_dlprof
from torch_tb_profiler.cli.export_arguments import add_merge, add_scalars, add_scrub
from torch_tb_profiler.cli.mcp_arguments import add_mcp
from torch_tb_profiler.cli.reading_arguments import (
    add_cache,
    add_links,
    add_reading,
    add_workers,
)
from torch_tb_profiler.cli.record_arguments import add_record
from torch_tb_profiler.cli.report_arguments import add_dlprof_arguments, add_summary_options
from torch_tb_profiler.cli.sql_arguments import add_sql
from torch_tb_profiler.views.parameters import SELECTION
from torch_tb_profiler.views.registry import DEFAULT_VIEW, all_parameters

FORMATS = ("table", "json", "csv", "md", "html", "xlsx")
NAMES = ("short", "demangled", "recorded")
SHELLS = ("bash", "zsh", "tcsh", "fish")
DEFAULT_PORT = 6007
"""Next to TensorBoard's 6006."""

LOOPBACK = "127.0.0.1"
ALL_ROWS = "all"

_EPILOG = """\
exit codes: 0 done, 1 a gate failed, 2 bad usage, 3 input could not be read

examples:
  torch-tb-profiler report logs/worker0.pt.trace.json.gz
  torch-tb-profiler report logs --view operators --sort -device_self_us --limit 10
  torch-tb-profiler report logs --view overview,kernels --format json > report.json
  torch-tb-profiler open logs
  torch-tb-profiler ingest s3://bucket/run --scheduler tcp://10.0.0.1:8786
"""


class _Version(argparse.Action):
    """Prints the version; the decoder is looked for only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from torch_tb_profiler.importers.kineto.native import (  # noqa: PLC0415 - start-up
            native_status,
        )

        print(f"{parser.prog} {__version__}")
        print(native_status().description)
        parser.exit()


def make_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Create the parser; ``command`` in its result names the module that runs the command.

    Args:
        command: The command that it will parse, so that it need not know the others; anything else
            for all.
    """
    parser = argparse.ArgumentParser(
        prog="torch-tb-profiler",
        description="Where the time, the memory and the GPUs went in a PyTorch profiler trace.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version and the decoder, and exit"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    adders = {
        "report": _add_report,
        "compare": _add_compare,
        "open": _add_open,
        "serve": _add_serve,
        "ingest": _add_ingest,
        "cache": _add_cache_command,
        "views": _add_views,
        "completion": _add_completion,
        "record": add_record,
        "dlprof": add_dlprof,
        "scalars": add_scalars,
        "merge": add_merge,
        "doctor": add_doctor,
        "skill": add_skill,
        "scrub": add_scrub,
        "sql": add_sql,
        "mcp": add_mcp,
    }
    for add in [adders[command]] if command in adders else adders.values():
        add(commands)
    return parser


def _add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="print views of traces",
        description="Print views of every trace as tables, JSON, CSV or Markdown.",
    )
    report.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    report.add_argument(
        "--view",
        metavar="NAME[,NAME]",
        help=f"views to print, or 'all' (default: {DEFAULT_VIEW}; see 'torch-tb-profiler views')",
    )
    report.add_argument(
        "--all",
        action="store_true",
        help="the whole overview with all its figures and tables (default with table and md: one "
        "screen)",
    )
    _add_format(report)
    _add_subject(report, "")
    _add_rows(report)
    add_summary_options(report)
    add_dlprof_arguments(report)
    add_cache(report)
    add_reading(report)
    add_links(report)
    add_workers(report)


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare a candidate with a baseline; can be a gate in CI",
        description="Show what differs between two traces and whether it is significant.",
    )
    compare.add_argument(
        "baseline",
        metavar="BASELINE",
        help="a trace, a folder, a URL or a JSON report; left out, the marked one",
    )
    compare.add_argument(
        "candidate", metavar="CANDIDATE", nargs="?", help="a trace, a folder, a URL or a report"
    )
    compare.add_argument(
        "third", metavar="THIRD", nargs="?", help="compared with the same baseline, beside it"
    )
    compare.add_argument(
        "--mark-baseline",
        action="store_true",
        help="remember BASELINE for its folder: later, 'compare CANDIDATE' there takes it",
    )
    compare.add_argument(
        "--view",
        default="surroundings,average_step,throughput,phases,explained,steps,operators,kernels,modules",
        metavar="NAME[,NAME]",
        help="tables to print: surroundings, average_step, throughput (if steps were timed), "
        "phases, explained, drill_down, steps, operators, kernels, modules (default: all but "
        "drill_down)",
    )
    compare.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="EXPR",
        help="gate: exit code 1 if EXPR holds, e.g. 'average_step.total_us>+5%%'; may be repeated",
    )
    compare.add_argument(
        "--allow-different",
        action="append",
        default=[],
        metavar="KIND",
        help="check gates even if the recordings differ in KIND (device, batch, world_size …), "
        "which is an error otherwise; may be repeated",
    )
    compare.add_argument(
        "--repeats",
        action="store_true",
        help="every trace of a side is a recording of the same program: gates compare the means, "
        "and hold only beyond the noise between recordings",
    )
    compare.add_argument(
        "--summary",
        metavar="FILE",
        help="append gates, verdict and what changed most to FILE, as Markdown, besides the output",
    )
    _add_format(compare)
    _add_subject(compare, "")
    _add_subject(compare, "baseline-")
    _add_rows(compare)
    add_cache(compare)
    add_reading(compare)
    add_links(compare)
    add_workers(compare)


def _add_open(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    opened = commands.add_parser(
        "open",
        help="show the pages and open the browser",
        description="Serve the pages for the traces in PATH on a free port, and open them in the "
        "browser.",
    )
    _add_serving(opened, default_port=0)


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve the pages without TensorBoard",
        description="Serve the pages for the traces in PATH.",
    )
    _add_serving(serve, default_port=DEFAULT_PORT)


def _add_serving(serve: argparse.ArgumentParser, *, default_port: int) -> None:
    serve.add_argument("path", metavar="PATH", help="a trace, a folder or a URL")
    serve.add_argument(
        "--port",
        type=port_number,
        default=default_port,
        help=f"port, 0 for a free one (default: {default_port})",
    )
    serve.add_argument(
        "--host",
        default=LOOPBACK,
        help=f"address to listen on (default: {LOOPBACK}, this machine only)",
    )
    serve.add_argument(
        "--token",
        nargs="?",
        const="auto",
        metavar="TEXT",
        help="require the token TEXT from clients; 'auto' (or no TEXT) generates one "
        "(default: $TORCH_TB_PROFILER_TOKEN)",
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        type=host_name,
        metavar="NAME",
        help="additional host name to answer to, e.g. of a reverse proxy; may be repeated",
    )
    add_cache(serve)
    add_reading(serve)
    add_links(serve)
    add_workers(serve)


def _add_ingest(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ingest = commands.add_parser(
        "ingest",
        help="parse traces into the cache, on this machine or a Dask cluster",
        description="Parse every trace into the cache, with a summary of each rank, so that later "
        "commands need not parse it.",
    )
    ingest.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    ingest.add_argument("--run", metavar="NAME", help="only this run (default: all)")
    ingest.add_argument(
        "--scheduler",
        metavar="URL",
        help="scheduler whose workers parse: Dask's tcp://HOST:PORT, Ray's ray://HOST:PORT, or ray "
        "for the Ray cluster of this machine; they need access to the files and the cache",
    )
    ingest.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    add_reading(ingest, parts=False)
    add_links(ingest)
    add_workers(ingest)


def _add_cache_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cache = commands.add_parser(
        "cache",
        help="show the size of the cache, and clean it",
        description="Show the size of the cache and what exceeds the given limits; with --clean, "
        "remove that.",
    )
    cache.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    cache.add_argument(
        "--clean",
        action="store_true",
        help="remove entries; without other options, shrink a folder to its limit",
    )
    cache.add_argument(
        "--older-than",
        type=positive_number,
        metavar="DAYS",
        help="entries not used (in a bucket: not written) for DAYS",
    )
    cache.add_argument(
        "--max-gb",
        type=size_gb,
        metavar="GB",
        help="the oldest entries, until at most GB · 10⁹ bytes remain",
    )


def _add_views(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    views = commands.add_parser(
        "views",
        help="list the views",
        description="List the views with their tables and groupings.",
    )
    views.add_argument("--format", choices=("table", "json"), default="table")


def _add_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = commands.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a completion script for SHELL; use it in bash with "
        "'eval \"$(torch-tb-profiler completion bash)\"'.",
    )
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="output format (default: table)"
    )
    parser.add_argument(
        "--output",
        metavar="PATH",
        help="write one file, if PATH ends as files of the format do (.md, .html, ...), else files "
        "into the folder PATH (needed for CSV of several tables)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite files (default: refuse)")
    parser.add_argument(
        "--names",
        choices=NAMES,
        default="short",
        help="kernel names in table and md (default: short)",
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colors of table on stdout (default: auto: on a terminal, unless NO_COLOR is set)",
    )


def _add_subject(parser: argparse.ArgumentParser, prefix: str) -> None:
    whose = "baseline: " if prefix else ""
    group = parser.add_argument_group(f"{whose}selection")
    every = "" if prefix else " (default: all)"
    group.add_argument(f"--{prefix}run", metavar="NAME", help=f"run{every}")
    group.add_argument(f"--{prefix}worker", metavar="NAME", help=f"worker{every}")
    group.add_argument(f"--{prefix}span", metavar="NAME", help=f"span{every}")
    for each in (*SELECTION, *all_parameters().values()):
        if prefix and not each.has_baseline_option:
            continue
        default = " (default: as the candidate)" if prefix and each.inherited else ""
        text = f"{each.help}{default}".replace("%", "%%")
        group.add_argument(f"--{prefix}{each.option}", metavar=each.metavar, help=text)


def _add_rows(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("rows")
    group.add_argument("--group-by", metavar="HOW", help="grouping of rows: name+input_shape")
    group.add_argument(
        "--table", metavar="NAME", help="table that --sort, --filter, --offset, --limit apply to"
    )
    group.add_argument("--sort", metavar="KEYS", help="columns: -device_self_us,name (- descends)")
    group.add_argument("--filter", metavar="EXPR", help="condition: 'name~gemm;calls>=10'")
    group.add_argument("--offset", metavar="N", help="rows to skip")
    group.add_argument(
        "--limit",
        metavar="N",
        help="maximum number of rows, or 'all' (default: 20 in table and md, all in json and csv)",
    )
    group.add_argument(
        "--columns", metavar="KEY[,KEY]", help="columns to print in table and md, in this order"
    )
