"""``torch-tb-profiler completion``: shell completion of commands, options and paths."""

from __future__ import annotations

import argparse

import shtab

from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.exits import DONE

_PATHS = {
    "PATH": shtab.FILE,
    "BASELINE": shtab.FILE,
    "THIRD": shtab.FILE,
    "CANDIDATE": shtab.FILE,
    "DIR": shtab.DIRECTORY,
    "FILE": shtab.FILE,
}
"""Metavar of a file or folder → how it is completed. A shell with a script for a command completes
nothing else for it."""


def run(arguments: argparse.Namespace) -> int:
    """Print the completion script for a shell."""
    parser = make_parser()
    _complete_paths(parser)
    print(shtab.complete(parser, arguments.shell))
    return DONE


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command)
        elif isinstance(action.metavar, str) and action.metavar in _PATHS:
            # The attribute that shtab reads, see its documentation.
            action.complete = _PATHS[action.metavar]  # type: ignore[attr-defined]
