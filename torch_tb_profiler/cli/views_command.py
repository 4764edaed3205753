"""``torch-tb-profiler views``: lists the views with tables and groupings."""

from __future__ import annotations

import sys
from argparse import Namespace

import msgspec

from torch_tb_profiler.cli.exits import DONE
from torch_tb_profiler.requests.encoding import Answer, encode
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.spec import Scope, ViewSpec


class _View(msgspec.Struct, frozen=True):
    """A view; ``tables`` maps the name of each table to its columns."""

    name: str
    title: str
    help: str
    scope: Scope
    group_bys: tuple[str, ...]
    tables: dict[str, list[str]]


class _Views(Answer, kw_only=True):
    """The answer of ``--format json``."""

    views: list[_View]


def run(arguments: Namespace) -> int:
    """Print all views."""
    views = all_views().values()
    if arguments.format == "json":
        sys.stdout.buffer.write(encode(_Views(views=list(map(_describe, views)))) + b"\n")
    else:
        print("\n\n".join(map(_as_text, views)))
    return DONE


def _as_text(spec: ViewSpec) -> str:
    lines = [f"{spec.name}: {spec.help}"]
    lines.append(f"  tables    {', '.join(table.name for table in spec.tables)}")
    if spec.group_bys:
        lines.append(f"  group by  {', '.join(spec.group_bys)}")
    return "\n".join(lines)


def _describe(spec: ViewSpec) -> _View:
    tables = {table.name: [column.key for column in table.columns] for table in spec.tables}
    return _View(spec.name, spec.title, spec.help, spec.scope, spec.group_bys, tables)
