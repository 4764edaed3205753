"""The files of the skill: templates of this folder, filled from declarations and the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from torch_tb_profiler.cli.skill.commands import command_parsers, commands_markdown
from torch_tb_profiler.knowledge.questions import AnswerSource, question_file
from torch_tb_profiler.knowledge.recorders import Recorder, recorders
from torch_tb_profiler.knowledge.recording_code import options_for, recording_code
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.spec import ViewSpec

SKILL = "SKILL.md"
REFERENCES = "references"
SQL_LINE = "For your own questions: `torch-tb-profiler sql PATH 'select …'` queries the tables.\n\n"
VIEWS_HEADING = """# Views and tables

`torch-tb-profiler report PATH --view NAME --table TABLE` prints one table, `--format json`
for programs, `--format csv` for exact values. Below each view: its tables, and what a row is.
"""
COLUMNS_HEADING = """# Columns

Keys of the columns of each table, with the unit in the key. `help` in `--format json` says
what each means and how it is counted.
"""
MOST_BYTES = 18_000
"""Of a file of columns: agents read whole files."""


def skill_files(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Path in the folder of the skill → content.

    Args:
        parser: The parser of the command line, with all commands.
    """
    has_sql = "sql" in command_parsers(parser)
    references = {
        "reading.md": _template("reading.md"),
        "recording.md": _template("recording.md").replace("{recipes}", _recipes()),
        "commands.md": commands_markdown(parser),
        **_packed("views", VIEWS_HEADING, _view),
        **_packed("columns", COLUMNS_HEADING, _columns),
    }
    skill = _template(SKILL).replace("{questions}", _questions())
    skill = skill.replace("{sql}", SQL_LINE if has_sql else "")
    skill = skill.replace("{references}", ", ".join(map(_link, references)))
    files = {SKILL: skill, **{f"{REFERENCES}/{name}": text for name, text in references.items()}}
    return {path: text.rstrip("\n") + "\n" for path, text in files.items()}


def _link(name: str) -> str:
    return f"[{name.removesuffix('.md')}]({REFERENCES}/{name})"


def _template(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _questions() -> str:
    """A table of questions and the options of ``report`` that answer them."""
    rows = ["   | question | `torch-tb-profiler report PATH …` |", "   |---|---|"]
    for question in question_file().questions:
        source = question.parts[0].parsed_sources()[0]
        rows.append(f"   | {question.text} | `{_report_options(source)}` |")
    return "\n".join(rows)


def _report_options(source: AnswerSource) -> str:
    table = f" --table {source.table}" if source.table else ""
    grouping = f" --group-by {source.group_by}" if source.group_by else ""
    return f"--view {source.view}{table}{grouping}"


def _packed(name: str, heading: str, describe: Callable[[ViewSpec], str]) -> dict[str, str]:
    """Files ``name-1.md`` … with a chapter per view, none too large to be read whole."""
    files = [[heading]]
    for chapter in map(describe, all_views().values()):
        size = sum(len(each.encode()) for each in files[-1])
        if size + len(chapter.encode()) > MOST_BYTES:
            files.append([heading])
        files[-1].append(chapter)
    return {f"{name}-{number}.md": "\n".join(each) for number, each in enumerate(files, 1)}


def _view(spec: ViewSpec) -> str:
    lines = [f"## `{spec.name}`: {spec.help}", ""]
    if spec.group_bys:
        lines += [f"`--group-by` {', '.join(f'`{each}`' for each in spec.group_bys)}", ""]
    lines += [f"* `{table.name}`: {_first_sentence(table.help)}" for table in spec.tables]
    return "\n".join([*lines, ""])


def _first_sentence(text: str) -> str:
    first, stop, _ = text.partition(". ")
    return first + stop.rstrip()


def _columns(spec: ViewSpec) -> str:
    lines = [
        f"* `{table.name}`: {', '.join(column.key for column in table.columns)}"
        for table in spec.tables
    ]
    return "\n".join([f"## `{spec.name}`", "", *lines, ""])


def _recipes() -> str:
    return "\n\n".join(_recipe(each) for each in recorders().values() if each.recipe is not None)


def _recipe(recorder: Recorder) -> str:
    recipe = recorder.recipe
    assert recipe is not None, "only recorders with a recipe are listed"
    every = {name for option in recipe.options for name in option.records}
    code = recording_code(recipe, options_for(recipe, every, None))
    return f"## {recorder.name}\n\n```{recipe.language}\n{code}\n```"
