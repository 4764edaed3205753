"""The inputs that ``run.py`` makes: a name, a file name, and the function that writes it."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Maker = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class Attack:
    """One input written to cost time or memory.

    Attributes:
        name: What it is called on the command line.
        file_name: The name of what is written; its ending decides how it is opened.
        make: Writes it to a path that does not exist yet.
    """

    name: str
    file_name: str
    make: Maker


_ATTACKS: dict[str, Attack] = {}


def attack(name: str, file_name: str) -> Callable[[Maker], Maker]:
    """Add the decorated function as the maker of the input ``name``."""

    def add(make: Maker) -> Maker:
        _ATTACKS[name] = Attack(name, file_name, make)
        return make

    return add


def all_attacks() -> list[Attack]:
    """Those of all files ``*_inputs.py`` of this folder, which adds them by importing the files."""
    for file in sorted(Path(__file__).parent.glob("*_inputs.py")):
        importlib.import_module(file.stem)
    return list(_ATTACKS.values())
