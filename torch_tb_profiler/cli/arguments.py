"""What can be said on the command line."""

from __future__ import annotations

import argparse
import math
import re

from torch_tb_profiler._version import __version__
from torch_tb_profiler.cli.dlprof_arguments import add_dlprof_arguments
from torch_tb_profiler.cli.record_arguments import add_record
from torch_tb_profiler.cli.scalars_arguments import add_scalars
from torch_tb_profiler.cli.summary_arguments import add_summary_options
from torch_tb_profiler.views.parameters import SELECTION
from torch_tb_profiler.views.registry import DEFAULT_VIEW, all_parameters

FORMATS = ("table", "json", "csv", "md")
NAMES = ("short", "demangled", "recorded")
SHELLS = ("bash", "zsh", "tcsh", "fish")
DEFAULT_PORT = 6007
"""Next to TensorBoard's 6006."""

LOOPBACK = "127.0.0.1"
ALL_ROWS = "all"
HOST_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
MOST_WORKERS = 1024
MOST_GB = 1e15
"""More than any place holds, and bytes that a whole number can tell."""

_EPILOG = """\
exit codes: 0 done, 1 a gate failed, 2 bad usage, 3 input could not be read

examples:
  torch-tb-profiler report logs/worker0.pt.trace.json.gz
  torch-tb-profiler report logs --view operators --sort -device_self_us --limit 10
  torch-tb-profiler report logs --view overview,kernels --format json > report.json
  torch-tb-profiler open logs
  torch-tb-profiler ingest s3://bucket/run --scheduler tcp://10.0.0.1:8786
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser; ``command`` of what it returns names the module that runs it."""
    parser = argparse.ArgumentParser(
        prog="torch-tb-profiler",
        description="Where the time, the memory and the GPUs went in a PyTorch profiler trace.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_report(commands)
    _add_compare(commands)
    _add_open(commands)
    _add_serve(commands)
    _add_ingest(commands)
    _add_cache_command(commands)
    _add_views(commands)
    _add_completion(commands)
    add_record(commands)
    scalars = add_scalars(commands)
    _add_cache(scalars)
    _add_reading(scalars)
    _add_links(scalars)
    return parser


def _add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="print views of traces",
        description="Print views of every trace found, as a table, JSON, CSV or Markdown.",
    )
    report.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    report.add_argument(
        "--view",
        default=DEFAULT_VIEW,
        metavar="NAME[,NAME]",
        help=f"views to print, or 'all' (default: {DEFAULT_VIEW}; see 'torch-tb-profiler views')",
    )
    _add_format(report)
    _add_subject(report, "")
    _add_rows(report)
    add_summary_options(report)
    add_dlprof_arguments(report)
    _add_cache(report)
    _add_reading(report)
    _add_links(report)
    _add_workers(report)


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare a candidate with a baseline, as a gate for CI too",
        description="What differs between two traces, and whether it matters.",
    )
    compare.add_argument("baseline", metavar="BASELINE", help="a trace, a folder or a URL")
    compare.add_argument("candidate", metavar="CANDIDATE", help="a trace, a folder or a URL")
    compare.add_argument(
        "--view",
        default="surroundings,average_step,throughput,phases,explained,steps,operators,kernels,modules",
        metavar="NAME[,NAME]",
        help="what to print: surroundings, average_step, throughput (where steps were timed), "
        "phases, explained, drill_down, steps, operators, kernels, modules (default: all but "
        "drill_down)",
    )
    compare.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="EXPR",
        help="gate: exit code 1 when it holds, like 'average_step.total_us>+5%%'; may be repeated",
    )
    compare.add_argument(
        "--allow-different",
        action="append",
        default=[],
        metavar="KIND",
        help="check gates although the recordings differ in KIND (device, batch, world_size …), "
        "which makes a gate an error otherwise; may be repeated",
    )
    _add_format(compare)
    _add_subject(compare, "")
    _add_subject(compare, "baseline-")
    _add_rows(compare)
    _add_cache(compare)
    _add_reading(compare)
    _add_links(compare)
    _add_workers(compare)


def _add_open(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    opened = commands.add_parser(
        "open",
        help="show the pages, and open the browser",
        description="Serve the pages of the traces found under PATH, as serve does on a free port, "
        "and open them in the browser.",
    )
    _add_serving(opened, default_port=0)


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="show the pages in a browser, without TensorBoard",
        description="Serve the pages of the traces found under PATH.",
    )
    _add_serving(serve, default_port=DEFAULT_PORT)


def _add_serving(serve: argparse.ArgumentParser, *, default_port: int) -> None:
    serve.add_argument("path", metavar="PATH", help="a trace, a folder or a URL")
    serve.add_argument(
        "--port",
        type=_port,
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
        help="let in only who knows TEXT, 'auto' (or nothing) makes one "
        "(default: $TORCH_TB_PROFILER_TOKEN)",
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        type=_host_name,
        metavar="NAME",
        help="answer to this name too, as of a reverse proxy before it; may be repeated",
    )
    _add_cache(serve)
    _add_reading(serve)
    _add_links(serve)
    _add_workers(serve)


def _add_ingest(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ingest = commands.add_parser(
        "ingest",
        help="parse traces into the cache, on this machine or a Dask cluster",
        description="Parse every trace found into the cache, with a summary of each rank beside "
        "it, so that viewers have nothing left to parse.",
    )
    ingest.add_argument("paths", nargs="+", metavar="PATH", help="a trace, a folder or a URL")
    ingest.add_argument("--run", metavar="NAME", help="only this run (default: every one found)")
    ingest.add_argument(
        "--scheduler",
        metavar="URL",
        help="a Dask scheduler, tcp://HOST:PORT, whose workers parse; they must see the files "
        "and the cache",
    )
    ingest.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    _add_reading(ingest)
    _add_links(ingest)
    _add_workers(ingest)


def _add_cache_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cache = commands.add_parser(
        "cache",
        help="say what the cache holds, and clean it",
        description="Say what the cache holds, and what of it is too old or too much. With "
        "--clean, remove that.",
    )
    cache.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    cache.add_argument(
        "--clean",
        action="store_true",
        help="remove entries; of a folder without other options, down to its limit",
    )
    cache.add_argument(
        "--older-than",
        type=_positive,
        metavar="DAYS",
        help="those that nobody used (in a bucket: wrote) for so long",
    )
    cache.add_argument(
        "--max-gb", type=_size_gb, metavar="GB", help="the oldest, until so many 10⁹ bytes stay"
    )


def _add_views(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    views = commands.add_parser(
        "views", help="list the views", description="List the views, their tables and groupings."
    )
    views.add_argument("--format", choices=("table", "json"), default="table")


def _add_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = commands.add_parser(
        "completion",
        help="print what lets a shell complete commands and options",
        description="Print a script for SHELL; bash reads it with "
        "'eval \"$(torch-tb-profiler completion bash)\"'.",
    )
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="how to print (default: table)"
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        help="write files into DIR instead of printing (needed for CSV of several tables)",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace files that are in DIR (default: refuse)"
    )
    parser.add_argument(
        "--names",
        choices=NAMES,
        default="short",
        help="names of kernels in table and md (default: short)",
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours of table on stdout (default: auto: on a terminal, unless NO_COLOR is set)",
    )


def _add_subject(parser: argparse.ArgumentParser, prefix: str) -> None:
    whose = "baseline: " if prefix else ""
    group = parser.add_argument_group(f"{whose}what to look at")
    every = "" if prefix else " (default: every one found)"
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
    group.add_argument("--group-by", metavar="HOW", help="how rows are grouped: name+input_shape")
    group.add_argument(
        "--table", metavar="NAME", help="table that --sort, --filter, --offset, --limit are for"
    )
    group.add_argument("--sort", metavar="KEYS", help="like -device_self_us,name (- descends)")
    group.add_argument("--filter", metavar="EXPR", help="like 'name~gemm;calls>=10'")
    group.add_argument("--offset", metavar="N", help="rows to skip")
    group.add_argument(
        "--limit",
        metavar="N",
        help="rows at most, or 'all' (default: 20 in table and md, all in json and csv)",
    )
    group.add_argument(
        "--columns", metavar="KEY[,KEY]", help="columns to print in table and md, in this order"
    )


def _add_cache(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cache")
    group.add_argument("--cache-dir", metavar="DIR", help="folder or bucket of parsed traces")
    group.add_argument("--no-cache", action="store_true", help="neither read nor keep any")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-python-frames",
        dest="python_frames",
        action="store_false",
        help="leave python frames and modules out while reading: less time and memory, no modules "
        "and no stacks of frames",
    )


def _add_links(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="read what links lead to that leave the folder (default: only named as left out)",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=_workers,
        metavar="N",
        help="cores that parse (default: all this process may use, at most 16)",
    )


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_WORKERS}")
    return int(text)


def _host_name(text: str) -> str:
    if not HOST_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a host (without port or http://)")
    return text.lower()


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return number


def _size_gb(text: str) -> float:
    return min(_positive(text), MOST_GB)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port (0 to 65535)")
    return number
