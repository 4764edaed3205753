"""``torch-tb-profiler views``: what can be asked for."""

from __future__ import annotations

import sys
from argparse import Namespace

from torch_tb_profiler.cli.exits import DONE
from torch_tb_profiler.requests.encoding import SCHEMA_VERSION, encode
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.spec import ViewSpec


def run(arguments: Namespace) -> int:
    """Print every view."""
    views = all_views().values()
    if arguments.format == "json":
        answer = {"schema_version": SCHEMA_VERSION, "views": [_as_json(spec) for spec in views]}
        sys.stdout.buffer.write(encode(answer) + b"\n")
    else:
        print("\n\n".join(map(_as_text, views)))
    return DONE


def _as_text(spec: ViewSpec) -> str:
    lines = [f"{spec.name}: {spec.help}"]
    lines.append(f"  tables    {', '.join(table.name for table in spec.tables)}")
    if spec.group_bys:
        lines.append(f"  group by  {', '.join(spec.group_bys)}")
    return "\n".join(lines)


def _as_json(spec: ViewSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "title": spec.title,
        "help": spec.help,
        "scope": spec.scope,
        "group_bys": list(spec.group_bys),
        "tables": {table.name: [c.key for c in table.columns] for table in spec.tables},
    }
