"""``torch-tb-profiler skill``: instructions for agents, printed or installed."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, print_error, print_message
from torch_tb_profiler.cli.output import Output, writing_errors
from torch_tb_profiler.cli.skill.contents import SKILL, skill_files

FOLDER = "torch-tb-profiler"


def run(arguments: Namespace) -> int:
    """Print the skill, or write it into a folder.

    Returns:
        0 if that is done, 2 if a file in the folder was changed or cannot be written; then nothing
        is written.
    """
    files = skill_files(make_parser())
    if arguments.install is None:
        sys.stdout.buffer.write(files[SKILL].encode())
        return DONE
    folder = Path(arguments.install) / FOLDER
    changed = [path for path, text in files.items() if _differs(folder / path, text)]
    if changed and not arguments.force:
        print_error(
            f"{folder / changed[0]} exists with other content and is not overwritten.",
            "Choose another folder with --install, or overwrite it with --force.",
        )
        return BAD_USAGE
    with writing_errors(str(folder)) as written:
        for path, text in files.items():
            target = folder / path
            output = Output(str(target.parent), may_replace=True, names_files=False)
            output.write(target.name, text.encode())
    if written.code == DONE:
        print_message(f"{len(files)} files are in {folder}.")
    return written.code


def _differs(path: Path, text: str) -> bool:
    """Whether something else is at ``path``; nothing there is no difference."""
    try:
        return path.read_bytes() != text.encode()
    except FileNotFoundError:
        return False
    except OSError:
        return True
