"""The arguments of ``torch-tb-profiler dlprof``: DLProf's own spelling (``docs/dlprof.md``)."""

from __future__ import annotations

import argparse
import os

from torch_tb_profiler._version import __version__
from torch_tb_profiler.cli.record_arguments import Count, folder_name, run_folder, seconds
from torch_tb_profiler.cli.report_arguments import DEFAULT_BASE_NAME, base_name

MODES = ("pytorch", "simple")
OTHER_MODES = ("tensorflow1", "tensorflow2", "tensorrt")
ERRORS_ONLY = ("quiet", "minimal")
VERBOSITIES = (*ERRORS_ONLY, "normal", "detailed", "diagnostic")
DEFAULT_RECORDING = "nsys_profile"
"""DLProf's default name of what Nsight Systems recorded: scripts pass ``nsys_profile.sqlite``."""

_EPILOG = """\
An old DLProf command line with one word changed. Values may follow "=" or a space.

examples:
  torch-tb-profiler dlprof --mode=pytorch --reports=summary,detail python train.py
  torch-tb-profiler dlprof -f true --iter_start 20 --iter_stop 80 --reports=all python train.py
  torch-tb-profiler dlprof --nsys_database=nsys_profile.sqlite --key_node=aten::conv2d --reports=all
"""


def add_dlprof(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``dlprof``."""
    dlprof = commands.add_parser(
        "dlprof",
        help="DLProf's command line: run a program, record it and write DLProf's reports",
        description="Run a program, record it, and write the reports of NVIDIA's DLProf: "
        "'record' and 'report --reports' with the options of DLProf.",
        epilog=_EPILOG,
        usage="%(prog)s [options] COMMAND [ARGUMENT…]\n"
        "       %(prog)s --nsys_database=PATH [options]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    dlprof.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    _add_recording(dlprof)
    _add_iterations(dlprof)
    _add_reports(dlprof)
    dlprof.add_argument("program", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program")


def _add_recording(dlprof: argparse.ArgumentParser) -> None:
    group = dlprof.add_argument_group("recording")
    group.add_argument(
        "-m",
        "--mode",
        choices=(*MODES, *OTHER_MODES),
        default=MODES[0],
        help="simple: without shapes of inputs and modules (default: pytorch)",
    )
    group.add_argument(
        "-v",
        "--verbosity",
        choices=VERBOSITIES,
        default="normal",
        help="quiet and minimal print errors and warnings only (default: normal)",
    )
    group.add_argument(
        "-y", "--delay", type=seconds, default=0.0, metavar="S", help="start after S"
    )
    group.add_argument(
        "-d",
        "--duration",
        type=seconds,
        default=0.0,
        metavar="S",
        help="record for S seconds; the program runs on (default: by steps)",
    )
    group.add_argument(
        "--nsys_base_name",
        type=_recording,
        default=DEFAULT_RECORDING,
        metavar="NAME",
        help=f"folder of the recording in --output_path (default: {DEFAULT_RECORDING})",
    )
    group.add_argument(
        "--nsys_database",
        metavar="PATH",
        help="run nothing: write reports of this recording, a database of Nsight Systems or any "
        "trace or folder",
    )
    group.add_argument("--nsys_opts", metavar="OPTIONS", help="accepted, without effect")
    _add_flag(
        group,
        "--nsys_profile_range",
        help_text="record from torch.cuda.profiler.start() to stop(), which the program calls",
    )


def _add_iterations(dlprof: argparse.ArgumentParser) -> None:
    group = dlprof.add_argument_group("aggregation")
    group.add_argument(
        "--key_node",
        "--key_op",
        type=_key_node,
        metavar="NAME",
        help="operator or range whose ends are iteration boundaries: a name, or an Op ID or Op "
        "Name of the report detail (default: steps of the program)",
    )
    for name, which in (("--iter_start", "first"), ("--iter_stop", "last")):
        group.add_argument(
            name, type=Count(0), metavar="N", help=f"{which} iteration, included, from 0"
        )


def _add_reports(dlprof: argparse.ArgumentParser) -> None:
    group = dlprof.add_argument_group("reports")
    group.add_argument(
        "--output_path", type=run_folder, default=".", metavar="DIR", help="default: ."
    )
    group.add_argument(
        "--profile_name",
        type=base_name,
        default=DEFAULT_BASE_NAME,
        metavar="NAME",
        help=f"start of the names of all reports (default: {DEFAULT_BASE_NAME})",
    )
    group.add_argument("--reports", metavar="NAME[,NAME]", help="'all', or names (default: none)")
    group.add_argument("--formats", default="csv", metavar="csv,json", help="default: csv")
    group.add_argument("--domains", metavar="NAME[,NAME]", help="domains of ranges")
    _add_flag(group, "-f", "--force", help_text="overwrite reports that exist")
    _add_flag(group, "--dump_model_data", help_text="write the raw tables as JSON")
    group.add_argument(
        "--tb_dir",
        type=run_folder,
        default="event_files",
        metavar="DIR",
        help="folder for TensorBoard scalars of the steps (default: event_files)",
    )
    _add_flag(group, "-b", "--suppress_tb_files", help_text="write no TensorBoard scalars")


def _recording(text: str) -> str:
    """A path whose last part names the folder of a recording; that may be missing."""
    name = os.path.basename(text)
    if name:
        folder_name(name)
    return run_folder(text)


def _key_node(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _add_flag(group: argparse._ArgumentGroup, *names: str, help_text: str) -> None:
    group.add_argument(*names, choices=("true", "false"), default="false", help=help_text)
