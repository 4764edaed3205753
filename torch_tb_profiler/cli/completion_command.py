"""``torch-tb-profiler completion``: what lets a shell complete commands and options."""

from __future__ import annotations

from argparse import Namespace

import shtab

from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.exits import DONE


def run(arguments: Namespace) -> int:
    """Print the script for a shell."""
    print(shtab.complete(make_parser(), arguments.shell))
    return DONE
