"""Writes what the pages and the docs know of the Python declarations.

* ``fe/src/generated/schema.ts``: the types of every JSON answer, the views with their tables,
  and a row type per table;
* ``docs/columns.md``: every table and column with unit and meaning.

Run it after a change of a view's declaration; ``--check`` (in ``make test``) fails when a file
on disk differs from what it would write.
"""

from __future__ import annotations

import argparse
import json
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

import msgspec

from torch_tb_profiler.analysis.operators.call_stacks import Frame
from torch_tb_profiler.detectors import evidence_tables
from torch_tb_profiler.knowledge.documentation import EVIDENCE, column_anchor, table_anchor
from torch_tb_profiler.requests import (
    argument_names,
    errors,
    general,
    runs,
    slices,
    sql,
    timeline,
)
from torch_tb_profiler.requests import views as view_answers
from torch_tb_profiler.requests.encoding import SCHEMA_VERSION, Answer
from torch_tb_profiler.views import schema, spec
from torch_tb_profiler.views.parameters import SELECTION, Parameter
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.slice import arguments, details
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.timeline import (
    categories,
    clocks,
    flows,
    follow,
    idle_gaps,
    lane_sums,
    namesakes,
    placed_slices,
    range_names,
    range_summary,
    search,
    tracks,
)

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = ROOT / "fe" / "src" / "generated" / "schema.ts"
REFERENCE = ROOT / "docs" / "columns.md"

_ALIASES = {
    "ColumnType": schema.ColumnType,
    "Unit": schema.Unit,
    "Severity": schema.Severity,
    "NoteKind": schema.NoteKind,
    "SeriesKind": schema.SeriesKind,
    "Scalar": schema.Scalar,
    "SpanState": runs.SpanState,
    "Face": general.Face,
    "Scope": spec.Scope,
    "TimelineTrackKind": tracks.TrackKind,
    "TimelineGroupKind": tracks.GroupKind,
    "TimelineUnit": tracks.Unit,
    "TimelineArrayType": timeline.ArrayType,
    "TimelineFlowKind": flows.FlowKind,
    "TimelineStepKind": follow.StepKind,
    "ArgumentsState": slices.ArgumentsState,
}
"""The named types of the declarations, kept as named types in TypeScript."""

_ANSWER_MODULES = (general, runs, view_answers, slices, argument_names, timeline, sql)
"""Where answers are declared; what they hold is found from them."""

_NAMES: dict[type, str] = {
    errors.Problem: "ErrorPayload",
    runs.SpanStatus: "SpanPayload",
    schema.Line: "LinePayload",
    schema.Series: "SeriesPayload",
    schema.Fact: "FactPayload",
    schema.Note: "NotePayload",
    Frame: "FramePayload",
    details.LinkedSlice: "LinkedSlicePayload",
    details.LinkedSlices: "LinkedPayload",
    details.SliceLinks: "SliceLinksPayload",
    details.SliceTrack: "SliceTrackPayload",
    details.SliceDetails: "SlicePayload",
    categories.TimelineCategory: "TimelineCategoryPayload",
    tracks.Group: "TimelineGroupPayload",
    tracks.TimelineTrack: "TimelineTrackPayload",
    range_names.CategoryTime: "TimelineTimePayload",
    lane_sums.NameTime: "TimelineTopPayload",
    range_summary.GpuTime: "TimelineGpuPayload",
    idle_gaps.Gap: "TimelineGapPayload",
    idle_gaps.CauseTime: "TimelineCauseTimePayload",
    idle_gaps.IdleGap: "TimelineIdleGapPayload",
    namesakes.Namesakes: "TimelineNamesakesPayload",
    arguments.RecordedArgument: "RecordedArgumentPayload",
    placed_slices.PlacedSlice: "TimelineSlicePayload",
    search.MatchingName: "TimelineFoundNamePayload",
    clocks.WorkerClock: "TimelineClockPayload",
    clocks.WorkerGroup: "TimelineWorkerGroupPayload",
}
"""What is declared below the answers, under the names that the pages know it by."""

_PRIMITIVES = {
    str: "string",
    int: "number",
    float: "number",
    Decimal: "number",
    bool: "boolean",
    type(None): "null",
    object: "unknown",
}
_COLUMN_TYPES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
}


def main() -> int:
    """Write the files, or compare with ``--check``; the exit code is 1 when one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail on a difference")
    check = parser.parse_args().check
    views = tuple(all_views().values())
    stale = False
    texts = {TYPESCRIPT: typescript(views), REFERENCE: reference(views, evidence_tables())}
    for path, text in texts.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{path.relative_to(ROOT)} is stale; run python tools/generate_schema.py")
            stale = True
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    return 1 if stale else 0


def typescript(views: Iterable[ViewSpec]) -> str:
    """The whole of ``schema.ts``."""
    views = tuple(views)
    parts = [
        "// Generated by tools/generate_schema.py from the Python declarations. Do not edit.\n"
        "// prettier-ignore-start\n/* eslint-disable */",
        f"export const SCHEMA_VERSION = {SCHEMA_VERSION};",
        *(f"export type {name} = {_union(hint)};" for name, hint in _ALIASES.items()),
        *map(_interface, _shapes()),
        _selection_interface(views),
        _parameter_constants(views),
        _view_constants(views),
        *(_row_interface(view, table) for view in views for table in view.tables),
        _row_index(views),
        "// prettier-ignore-end",
    ]
    return "\n\n".join(parts) + "\n"


def _shapes() -> list[type]:
    """Every shape of an answer, each behind those that it holds."""
    shapes: dict[type, None] = {}

    def add(hint: object) -> None:
        if not _is_shape(hint):
            for argument in typing.get_args(hint):
                add(argument)
        elif hint not in shapes:
            for part in typing.get_type_hints(hint).values():
                add(part)
            shapes[hint] = None

    for module in _ANSWER_MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Answer) and kind is not Answer:
                add(kind)
    return list(shapes)


def _is_shape(hint: object) -> typing.TypeGuard[type]:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _interface(shape: type) -> str:
    lines = [f"  {_member(key, hint)};" for key, hint in typing.get_type_hints(shape).items()]
    summary = (shape.__doc__ or "").partition("\n")[0].replace("``", "`")
    return "\n".join([f"/** {summary} */", f"export interface {_name(shape)} {{", *lines, "}"])


def _member(key: str, hint: object) -> str:
    """What may be left out is declared as ``T | UnsetType``."""
    parts = typing.get_args(hint)
    if msgspec.UnsetType not in parts:
        return f"{key}: {_type(hint)}"
    (declared,) = (part for part in parts if part is not msgspec.UnsetType)
    return f"{key}?: {_type(declared)}"


def _name(shape: type) -> str:
    return _NAMES.get(shape, shape.__name__)


def _type(hint: object) -> str:
    if hint == view_answers.SelectionPayload:
        return "SelectionPayload"
    for name, alias in _ALIASES.items():
        if hint == alias:
            return name
    return _union(hint)


def _union(hint: object) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(map(_text, arguments))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, arguments)))
    if origin in (list, tuple):
        return f"{_array_item(arguments[0])}[]"
    if origin is dict:
        return f"Record<string, {_type(arguments[1])}>"
    if _is_shape(hint):
        return _name(hint)
    if isinstance(hint, type) and hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    raise TypeError(f"no TypeScript type for {hint!r}")


def _array_item(hint: object) -> str:
    text = _type(hint)
    return f"({text})" if " | " in text else text


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parameters(views: Iterable[ViewSpec]) -> dict[str, Parameter]:
    """Those of every view, then those of some."""
    return {each.key: each for each in SELECTION} | {
        each.key: each for view in views for each in view.parameters
    }


def _selection_interface(views: Iterable[ViewSpec]) -> str:
    """Times of the selection are numbers; what views ask is repeated as it was typed."""
    times = {each.key for each in SELECTION if each.type == "time_us"}
    keys = [*_parameters(views), "group_by"]
    lines = [f"  {key}: {'number' if key in times else 'string'} | null;" for key in keys]
    summary = "/** What part of the trace was looked at, and what else was asked. */"
    return "\n".join([summary, "export interface SelectionPayload {", *lines, "}"])


def _parameter_constants(views: Iterable[ViewSpec]) -> str:
    lines = [
        "/** What can be asked of every view, and of the views that list it. */",
        "export const PARAMETERS = {",
        *(
            f"  {each.key}: {{ type: {_text(each.type)}, persistent: {_text(each.persistent)} }},"
            for each in _parameters(views).values()
        ),
        "} as const;",
    ]
    return "\n".join(lines)


def _view_constants(views: tuple[ViewSpec, ...]) -> str:
    lines = [
        "/** Every view, with its ways of grouping (the default first), what else it can be asked, "
        "and its tables. */"
    ]
    lines.append("export const VIEWS = {")
    for view in views:
        lines += [
            f"  {_text(view.name)}: {{",
            f"    title: {_text(view.title)},",
            f"    scope: {_text(view.scope)},",
            f"    groupBys: {_text(list(view.group_bys))},",
            f"    parameters: {_text([each.key for each in view.parameters])},",
            "    tables: {",
            *(
                f"      {_text(table.name)}: {_text([column.key for column in table.columns])},"
                for table in view.tables
            ),
            "    },",
            "  },",
        ]
    lines += ["} as const;", "", "export type ViewName = keyof typeof VIEWS;"]
    return "\n".join(lines)


def _row_name(view: ViewSpec, table: TableSpec) -> str:
    words = f"{view.name}_{table.name}".replace("-", "_").split("_")
    return "".join(word.capitalize() for word in words) + "Row"


def _row_interface(view: ViewSpec, table: TableSpec) -> str:
    lines = [f"  {column.key}: {_COLUMN_TYPES[column.type]} | null;" for column in table.columns]
    return "\n".join([f"export interface {_row_name(view, table)} {{", *lines, "}"])


def _row_index(views: tuple[ViewSpec, ...]) -> str:
    lines = ["/** The rows of every table of every view, as objects by column key. */"]
    lines.append("export interface Rows {")
    for view in views:
        lines.append(f"  {_text(view.name)}: {{")
        lines += [f"    {_text(table.name)}: {_row_name(view, table)};" for table in view.tables]
        lines.append("  };")
    return "\n".join([*lines, "}"])


def reference(views: Iterable[ViewSpec], evidence: Mapping[str, TableSpec]) -> str:
    """The whole of ``columns.md``; ``evidence`` is the declared table of each advice by code."""
    parts = [
        "# Tables and columns\n",
        "<!-- Generated by tools/generate_schema.py. Do not edit. -->\n",
        "Every table of every view, as `--format json`, `--format csv` and the Python API give\n"
        "it. Keys are stable; every value may be null, which means: it cannot be measured or\n"
        "does not apply. [metrics.md](metrics.md) says at length how the numbers are counted.\n"
        "Each table and column has an address of its own, `columns.md#VIEW.TABLE.KEY`: the\n"
        "`help_url` of a table, a dot and the key.\n",
    ]
    for view in views:
        parts.append(f"## {view.title} (`{view.name}`)\n\n{view.help}\n")
        if view.group_bys:
            choices = ", ".join(f"`{choice}`" for choice in view.group_bys)
            parts.append(f"Grouped by {choices} (`--group-by`; the first is the default).\n")
        if view.parameters:
            listed = ", ".join(f"`{each.key}` ({each.help})" for each in view.parameters)
            parts.append(f"Parameters: {listed}.\n")
        parts += [_table_reference(view.name, table.name, table) for table in view.tables]
    parts.append(
        "## Evidence of the advice\n\nThe `rows` of each [advice](advice.md), by its code.\n"
    )
    parts += [_table_reference(EVIDENCE, code, table) for code, table in evidence.items()]
    return "\n".join(parts)


def _table_reference(view: str, name: str, table: TableSpec) -> str:
    order = f" Ordered by `{table.sort}`." if table.sort else ""
    lines = [
        f"{_anchor(table_anchor(view, name))}\n",
        f"### `{name}`: {table.title}\n",
        f"{table.help}{order}\n",
        "| key | title | type | unit | meaning |",
        "|---|---|---|---|---|",
        *(_column_reference(column_anchor(view, name, it.key), it) for it in table.columns),
    ]
    return "\n".join(lines) + "\n"


def _anchor(name: str) -> str:
    """An address within the page, for the site and for GitHub."""
    return f'<a id="{name}"></a>'


def _column_reference(anchor: str, column: Column) -> str:
    title = f"{column.title} (est.)" if column.estimated else column.title
    key = f"{_anchor(anchor)}`{column.key}`"
    cells = (key, title, column.type, column.unit or "", column.help)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
