"""Reading the TOML files of this package into typed structs.

Python keeps what it compiled of a module in ``__pycache__``; it keeps the values of these files
there too, by the same rules (change time and size of the file, read-only folders, settings of
Python). Parsing them would take a tenth of the time of a small report.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import msgspec

from torch_tb_profiler.knowledge import patterns
from torch_tb_profiler.knowledge.patterns import Needs, RulePattern
from torch_tb_profiler.once import set_up

T = TypeVar("T")

_Contents = tuple[dict[str, Any], dict[str, Needs | None]]
"""The values of a file, and what the patterns of its rules need."""

_CONTENTS: msgspec.msgpack.Decoder[_Contents] = msgspec.msgpack.Decoder(_Contents)


class KnowledgeError(ValueError):
    """A knowledge file that does not fit its schema; the message names file and position."""


def load(file_name: str, schema: type[T]) -> T:
    """The contents of one TOML file of this package as ``schema``.

    Callers cache the result with :func:`torch_tb_profiler.once.once`: files do not change while the
    program runs.

    Raises:
        KnowledgeError: the file is no TOML or does not fit ``schema``.
    """
    return load_file(Path(__file__).with_name(file_name), schema)


def load_file(path: Path, schema: type[T]) -> T:
    """As :func:`load`, of any TOML file."""
    try:
        return msgspec.convert(_compiled(path)[0], set_up(schema), str_keys=True)
    except msgspec.DecodeError as error:
        raise KnowledgeError(f"{path.name}: {error}") from error


def load_patterns(file_name: str) -> dict[str, RulePattern]:
    """The regular expressions of the ``rules`` of one file of this package."""
    _, needed = _compiled(Path(__file__).with_name(file_name))
    return {text: RulePattern(text, needs) for text, needs in needed.items()}


def _compiled(path: Path) -> _Contents:
    """The values of a file, and the texts that the patterns of its rules need."""
    code = _TomlLoader(path.stem, str(path)).get_code(path.stem)
    assert code is not None
    return _CONTENTS.decode(code.co_consts[0])


class _TomlLoader(SourceFileLoader):
    """Compiles a TOML file to the code of a constant, in MessagePack."""

    def get_filename(self, name: str | None = None) -> str:
        """A name from which that of the compiled file follows: not that of the module beside."""
        return f"{super().get_filename(name)}.toml"

    def get_data(self, path: str) -> bytes:
        """The bytes of the TOML file, or of the compiled one."""
        return super().get_data(self._real(path))

    def path_stats(self, path: str) -> Any:
        """The size of the TOML file, and a change time that changes with what compiles it, too."""
        times = [os.stat(source).st_mtime for source in (__file__, patterns.__file__)]
        stats = super().path_stats(self._real(path))
        return {**stats, "mtime": stats["mtime"] + sum(times)}

    def source_to_code(self, data: Any, path: Any, **_options: Any) -> CodeType:  # type: ignore[override]
        """The constant."""
        values = msgspec.toml.decode(data)
        rules = (rule for rule in values.get("rules", ()) if isinstance(rule, dict))
        texts = (rule["pattern"] for rule in rules if "pattern" in rule)
        needed = {text: patterns.needed_texts(text) for text in texts}
        return compile(
            repr(msgspec.msgpack.encode((values, needed))), path, "eval", dont_inherit=True
        )

    def _real(self, path: str) -> str:
        return self.path if path == self.get_filename() else path
